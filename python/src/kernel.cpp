#include "kernel.hpp"

#include "dcgn_kernel_entry.hpp"

#include <dlfcn.h>

namespace dcgn::python {

namespace {

Argument memory_argument(nb::handle given, const Device& device, std::vector<std::unique_ptr<Buffer>>& kept) {
  try {
    kept.push_back(std::make_unique<Buffer>(given, Access::write));
  } catch (const std::exception&) {  // one that is only read
    kept.push_back(std::make_unique<Buffer>(given, Access::read));
  }
  const Buffer& buffer = *kept.back();
  if (!buffer.is_plain())
    throw Error(Code::invalid_type, "gpu", "an array with gaps, expected one that a kernel can take by its address");
  if (device.kind() == DeviceKind::cuda && !buffer.is_on_gpu())
    throw Error(Code::device, "gpu", "an array in memory of the host, expected one in the GPU's");
  Argument a{.kind = Argument::Kind::memory, .memory = buffer.memory(), .bytes = buffer.bytes()};
  a.element = buffer.kind();
  return a;
}

Argument argument(nb::handle given, const Device& device, std::vector<std::unique_ptr<Buffer>>& kept) {
  PyObject* const o = given.ptr();
  if (PyFloat_Check(o)) return {.kind = Argument::Kind::real, .real = nb::cast<double>(given)};
  if (PyLong_Check(o)) return {.kind = Argument::Kind::integer, .integer = nb::cast<std::int64_t>(given)};
  // NumPy's numbers have memory, too.
  const bool is_number =
      nb::hasattr(given, "ndim") && nb::hasattr(given, "item") && nb::cast<int>(given.attr("ndim")) == 0;
  if (is_number) return argument(given.attr("item")(), device, kept);
  return memory_argument(given, device, kept);
}

}  // namespace

void add_kernel(dcgn::Job& job, int gpu, const std::string& library, const Launch& launch, const nb::tuple& arguments,
                std::vector<std::unique_ptr<Buffer>>& kept) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays loaded: the job holds what is in it
  auto* const add = reinterpret_cast<AddKernel*>(handle ? dlsym(handle, entry_name) : nullptr);
  if (!add) {
    const char* const why = dlerror();
    throw Error(Code::io, "gpu", library + " cannot be loaded: " + (why ? why : "it has no kernel"));
  }
  const Device device = job.world().device(gpu);
  std::vector<Argument> all;
  for (const nb::handle given : arguments) all.push_back(argument(given, device, kept));
  add(job, gpu, launch, all);
}

}  // namespace dcgn::python
