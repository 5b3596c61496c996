// Traces in Chrome's Trace Event Format (JSON), which ui.perfetto.dev and chrome://tracing open: a process group a
// node, a thread a rank and a thread a device. Decagon's own data are in "args" and "otherData", whole, so that
// read_chrome() of the file gives the same document.
#pragma once

#include "trace/document.hpp"

#include <ostream>

namespace dcgn::trace {

void write_chrome(const Document& document, std::ostream& out);

}  // namespace dcgn::trace
