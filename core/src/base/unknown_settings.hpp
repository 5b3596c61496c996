// Variables of the environment that look like settings and are none: a misspelt one would be ignored without a word.
#pragma once

#include <string>
#include <vector>

namespace dcgn::detail {

// What is to be said of each such variable, with the setting that was meant where one is close.
std::vector<std::string> unknown_settings();

}  // namespace dcgn::detail
