// Reductions: each operation on each kind of element.
#pragma once

#include "comm.hpp"

namespace dcgn::python {

// Op, and the calls that reduce.
void bind_operations(nb::module_& m, nb::class_<Comm>& comm);

}  // namespace dcgn::python
