#include "arguments.hpp"

#include <dlfcn.h>

#include <algorithm>

namespace dcgn::python {

namespace {

Argument memory_argument(nb::handle given, bool for_cuda, Kept& kept, const CopiesTo* to) {
  bool writable = true;
  try {
    kept.push_back(std::make_unique<Buffer>(given, Access::write));
  } catch (const std::exception&) {
    writable = false;
    kept.push_back(std::make_unique<Buffer>(given, Access::read));
  }
  const Buffer& buffer = *kept.back();
  if (!buffer.is_plain())
    throw Error(Code::invalid_type, "compiled", "an array with gaps, expected one that can be taken by its address");
  if (for_cuda && !buffer.is_on_gpu() && !to)
    throw Error(Code::device, "compiled", "an array in memory of the host, expected one in the GPU's");
  Argument a;
  if (for_cuda && !buffer.is_on_gpu() && buffer.bytes() > 0) {
    auto copy = std::find_if(to->copies.begin(), to->copies.end(),
                             [&](const auto& one) { return one->is_of(to->device, buffer); });
    if (copy == to->copies.end()) copy = to->copies.insert(copy, std::make_unique<DeviceCopy>(to->device, buffer));
    if (writable) (*copy)->allow_writing();
    a.on_device = (*copy)->memory();
  }
  a.kind = Argument::Kind::memory;
  a.memory = buffer.memory();
  a.bytes = buffer.bytes();
  a.writable = writable;
  a.element = buffer.kind();
  return a;
}

Argument argument_of(nb::handle given, bool for_cuda, Kept& kept, const CopiesTo* to) {
  Argument a;
  if (PyFloat_Check(given.ptr())) {
    a.kind = Argument::Kind::real;
    a.real = nb::cast<double>(given);
    return a;
  }
  if (PyLong_Check(given.ptr())) {
    a.integer = nb::cast<std::int64_t>(given);
    return a;
  }
  // NumPy's numbers have memory, too.
  const bool is_number =
      nb::hasattr(given, "ndim") && nb::hasattr(given, "item") && nb::cast<int>(given.attr("ndim")) == 0;
  if (!is_number) return memory_argument(given, for_cuda, kept, to);
  const nb::object number = given.attr("item")();
  if (PyFloat_Check(number.ptr()) || PyLong_Check(number.ptr())) return argument_of(number, for_cuda, kept, to);
  return memory_argument(given, for_cuda, kept, to);
}

}  // namespace

void DeviceCopy::fill() {
  before_.assign(host_.begin(), host_.end());
  memory_.upload(before_.data());
}

void DeviceCopy::bring_back() const {
  if (!writable_ || before_.empty()) return;
  std::vector<std::byte> now(before_.size());
  memory_.download(now.data());
  for (std::size_t i = 0; i < now.size(); ++i)
    if (now[i] != before_[i]) host_[i] = now[i];
}

std::vector<Argument> arguments_of(const nb::tuple& given, bool for_cuda, Kept& kept, const CopiesTo* copies) {
  std::vector<Argument> all;
  for (const nb::handle one : given) all.push_back(argument_of(one, for_cuda, kept, copies));
  return all;
}

void* function_of(const std::string& library, const char* name) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const function = handle ? dlsym(handle, name) : nullptr;
  if (function) return function;
  const char* const why = dlerror();
  throw Error(Code::io, "compiled", library + " cannot be loaded: " + (why ? why : "it does not have what it should"));
}

std::string architecture_of(const Device& device) {
  const DeviceProperties& p = device.properties();
  if (device.kind() == DeviceKind::emulated) return "";
  return "sm_" + std::to_string(p.compute_major) + std::to_string(p.compute_minor);
}

}  // namespace dcgn::python
