// A document on its way from one process to another of the same program.
#pragma once

#include "trace/document.hpp"

#include <vector>

namespace dcgn::trace {

std::vector<unsigned char> to_bytes(const Document& document);
// Adds the ranks and devices, and takes the larger bound on clocks.
void add_bytes(const std::vector<unsigned char>& bytes, Document& document);

}  // namespace dcgn::trace
