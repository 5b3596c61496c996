// A trace as a page.
#pragma once

#include "trace/document.hpp"

#include <iosfwd>

namespace dcgn::trace {

// One HTML file that opens offline: a timeline to zoom into, who waits for whom, the critical path, who sends to whom.
// What it is made of is in page/.
void write_html(const Document& document, std::ostream& out);

}  // namespace dcgn::trace
