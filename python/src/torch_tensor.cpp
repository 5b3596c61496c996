#include "torch_tensor.hpp"

#include "buffer.hpp"

#include <cstring>
#include <map>
#include <string>

namespace dcgn::python {

namespace {

// What of the module torch is asked for with each tensor. Kept to the end, when Python may be gone.
struct Torch {
  explicit Torch(nb::handle module)
      : tensor(reinterpret_cast<PyTypeObject*>(nb::object(module.attr("Tensor")).release().ptr())),
        strided(nb::object(module.attr("strided")).release().ptr()) {}

  struct Type {
    ElementKind kind;
    std::int64_t bytes;
  };

  PyTypeObject* const tensor;
  PyObject* const strided;
  std::map<PyObject*, Type> types;  // of torch.dtype, of which there is one object each
};

// Null where the program has no torch, or the type is none of its tensors.
Torch* torch_of(PyTypeObject* type) {
  static Torch* known = nullptr;
  if (known) return type == known->tensor ? known : nullptr;
  if (std::strcmp(type->tp_name, "Tensor") != 0) return nullptr;
  const nb::dict modules = nb::module_::import_("sys").attr("modules");
  if (!modules.contains("torch")) return nullptr;
  const nb::object module = modules["torch"];
  if (!nb::hasattr(module, "Tensor") || nb::object(module.attr("Tensor")).ptr() != reinterpret_cast<PyObject*>(type) ||
      !nb::hasattr(module, "strided"))
    return nullptr;
  known = new Torch(module);
  return known;
}

// "torch.float32"; none of what the other ways know better.
std::optional<Torch::Type> type_of(Torch& torch, nb::handle dtype, nb::handle tensor) {
  if (const auto found = torch.types.find(dtype.ptr()); found != torch.types.end()) return found->second;
  const std::string name = nb::cast<std::string>(nb::str(dtype));
  const auto bytes = nb::cast<std::int64_t>(tensor.attr("element_size")());
  ElementKind kind = ElementKind::byte;
  if (name == "torch.bfloat16") kind = ElementKind::bf16;
  for (const auto& [prefix, letter] :
       {std::pair{"torch.int", 'i'}, std::pair{"torch.uint", 'u'}, std::pair{"torch.float", 'f'},
        std::pair{"torch.complex", 'c'}, std::pair{"torch.bool", 'b'}})
    if (name.starts_with(prefix)) kind = element_kind(letter, bytes);
  if (kind == ElementKind::byte) return std::nullopt;
  nb::handle(dtype).inc_ref();
  return torch.types.emplace(dtype.ptr(), Torch::Type{kind, bytes}).first->second;
}

nb::object got(nb::handle object, PyObject* name) {
  PyObject* const result = PyObject_GetAttr(object.ptr(), name);
  if (!result) throw nb::python_error();
  return nb::steal(result);
}
nb::object called(nb::handle object, PyObject* name) {
  PyObject* const result = PyObject_CallMethodNoArgs(object.ptr(), name);
  if (!result) throw nb::python_error();
  return nb::steal(result);
}
bool holds(const nb::object& answer) { return answer.ptr() == Py_True; }

}  // namespace

std::optional<TorchTensor> torch_tensor(nb::handle array) {
  Torch* const torch = torch_of(Py_TYPE(array.ptr()));
  if (!torch) return std::nullopt;
  static const struct Names {
    PyObject *is_cuda = of("is_cuda"), *is_cpu = of("is_cpu"), *requires_grad = of("requires_grad"),
             *layout = of("layout"), *is_conj = of("is_conj"), *is_neg = of("is_neg"),
             *is_contiguous = of("is_contiguous"), *dtype = of("dtype"), *data_ptr = of("data_ptr"),
             *numel = of("numel");
    static PyObject* of(const char* name) { return PyUnicode_InternFromString(name); }
  } names;
  const bool on_gpu = holds(got(array, names.is_cuda));
  if (!on_gpu && !holds(got(array, names.is_cpu))) return std::nullopt;
  if (holds(got(array, names.requires_grad)) || got(array, names.layout).ptr() != torch->strided) return std::nullopt;
  if (!holds(called(array, names.is_contiguous))) return std::nullopt;
  if (holds(called(array, names.is_conj)) || holds(called(array, names.is_neg))) return std::nullopt;
  const std::optional<Torch::Type> type = type_of(*torch, got(array, names.dtype), array);
  if (!type) return std::nullopt;
  return TorchTensor{reinterpret_cast<void*>(nb::cast<std::uintptr_t>(called(array, names.data_ptr))),
                     nb::cast<std::int64_t>(called(array, names.numel)), type->bytes, type->kind, on_gpu};
}

}  // namespace dcgn::python
