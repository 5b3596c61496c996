#include "comm.hpp"

#include <dcgn/error.hpp>

#include <string>

namespace dcgn::python {

namespace {

PyObject* error_type = nullptr;  // as long as the module, which Python never unloads

// An instance with what the library says of it.
void raise(const Error& e) {
  nb::object error = nb::handle(error_type)(std::string(e.what()).c_str());
  const std::string code(to_string(e.code()));
  error.attr("code") = nb::str(code.c_str());
  error.attr("operation") = nb::str(e.operation().c_str());
  error.attr("rank") = e.rank();
  error.attr("place") = nb::str(e.place().c_str());
  PyErr_SetObject(error_type, error.ptr());
}

}  // namespace

void bind_errors(nb::module_& m) {
  error_type = PyErr_NewExceptionWithDoc("dcgn.Error",
                                         "What the library refused or found out: its text, and as `code` what kind of "
                                         "error it is, `operation` the call, `rank` (-1: none) and `place` where.",
                                         PyExc_RuntimeError, nullptr);
  m.attr("Error") = nb::handle(error_type);
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& e) {
      raise(e);
    }
  });
}

}  // namespace dcgn::python
