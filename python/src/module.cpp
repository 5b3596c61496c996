// The module dcgn._dcgn: what the package dcgn has of the library.
#include "comm.hpp"

#include <dcgn/version.hpp>

#include <string>

NB_MODULE(_dcgn, m) {
  using namespace dcgn::python;
  m.doc() = "What the package dcgn has of the library.";
  m.attr("__version__") = std::string(dcgn::version).c_str();
  bind_errors(m);
  bind_datatype(m);
  bind_requests(m);
  nanobind::class_<Comm> comm(m, "Comm");
  comm.def(nanobind::init<const Comm&>(), nanobind::arg("comm"));
  bind_messages(comm);
  bind_collectives(m, comm);
  bind_job(m);
  bind_stencil(m);
  bind_virtual_gpu(m);
}
