// How an update that dcgn.Update compiles from source is given to a stepper: included before that source.
#pragma once

#include <dcgn_argument.hpp>

#include <dcgn/span.hpp>
#include <dcgn/stencil.hpp>

namespace dcgn::python {

// What the shared library of an update has, under this name.
using MakeUpdate = void(Span<const Argument> arguments, stencil::UpdateCode& code);
inline constexpr const char* update_entry = "dcgn_python_update";

}  // namespace dcgn::python
