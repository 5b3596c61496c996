#include "buffer.hpp"

#include "gpu_stream.hpp"
#include "torch_tensor.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <bit>
#include <string>
#include <string_view>

namespace dcgn::python {

namespace {

// Of the letters of the module struct, with the sizes of this machine. What is in another byte order has none.
ElementKind kind_of_format(std::string_view format, std::int64_t bytes) {
  constexpr char own = std::endian::native == std::endian::little ? '<' : '>';
  if (!format.empty() && (format[0] == '@' || format[0] == '=' || format[0] == own)) format.remove_prefix(1);
  if (format == "?") return element_kind('b', bytes);
  if (format == "Zf" || format == "Zd") return element_kind('c', bytes);
  if (format.size() != 1) return ElementKind::byte;
  if (std::string_view("bhilqn").find(format[0]) != std::string_view::npos) return element_kind('i', bytes);
  if (std::string_view("BHILQN").find(format[0]) != std::string_view::npos) return element_kind('u', bytes);
  if (std::string_view("efd").find(format[0]) != std::string_view::npos) return element_kind('f', bytes);
  return ElementKind::byte;
}

ElementKind kind_of_dlpack(const nb::dlpack::dtype& type) {
  const std::int64_t bytes = type.bits / 8;
  switch (static_cast<nb::dlpack::dtype_code>(type.code)) {
    case nb::dlpack::dtype_code::Int: return element_kind('i', bytes);
    case nb::dlpack::dtype_code::UInt: return element_kind('u', bytes);
    case nb::dlpack::dtype_code::Float: return element_kind('f', bytes);
    case nb::dlpack::dtype_code::Bfloat: return ElementKind::bf16;
    case nb::dlpack::dtype_code::Complex: return element_kind('c', bytes);
    case nb::dlpack::dtype_code::Bool: return element_kind('b', bytes);
    default: return ElementKind::byte;  // kinds of numbers that are only moved
  }
}

std::vector<std::int64_t> without_gaps(const std::vector<std::int64_t>& shape, std::int64_t item_bytes) {
  std::vector<std::int64_t> strides(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; item_bytes *= shape[d]) strides[d] = item_bytes;
  return strides;
}

}  // namespace

ElementKind element_kind(char letter, std::int64_t bytes) {
  const auto one_of = [bytes](ElementKind of1, ElementKind of2, ElementKind of4, ElementKind of8) {
    return bytes == 1 ? of1 : bytes == 2 ? of2 : bytes == 4 ? of4 : bytes == 8 ? of8 : ElementKind::byte;
  };
  using enum ElementKind;
  if (letter == 'b') return one_of(boolean, byte, byte, byte);
  if (letter == 'i') return one_of(int8, int16, int32, int64);
  if (letter == 'u') return one_of(uint8, uint16, uint32, uint64);
  if (letter == 'f') return one_of(byte, float16, float32, float64);
  if (letter == 'c') return bytes == 8 ? complex64 : bytes == 16 ? complex128 : byte;
  return byte;
}

namespace {

// Whether a format of the buffer protocol has the letter of Python's objects; names of members stand between colons.
bool has_objects(std::string_view format) {
  bool in_name = false;
  for (const char letter : format) {
    if (letter == ':') in_name = !in_name;
    if (letter == 'O' && !in_name) return true;
  }
  return false;
}

std::string text_of(const nb::str& text) { return text.c_str(); }

// None where there is none; what else is thrown by a property is.
nb::object attribute(nb::handle object, const char* name) {
  if (PyObject* const found = PyObject_GetAttrString(object.ptr(), name)) {
    const nb::object result = nb::steal(found);
    return result.is_none() ? nb::object() : result;
  }
  nb::python_error error;
  if (!error.matches(PyExc_AttributeError)) throw error;
  return {};
}

[[noreturn]] void refuse_word(nb::handle word, const char* expected) {
  const nb::str text = nb::repr(word);
  throw nb::type_error((std::string("a buffer as a list: ") + text.c_str() + ", expected " + expected).c_str());
}

}  // namespace

Buffer::Buffer(nb::handle given, Access access) : Buffer() {
  if (!PyList_Check(given.ptr()) && !PyTuple_Check(given.ptr())) {
    take(given, access);
    return;
  }
  const std::size_t size = nb::len(given);
  if (size != 2 && size != 3)
    throw nb::type_error("a buffer as a list is [array, datatype] or [array, count, datatype]");
  take(given[0], access);
  if (!strides_.empty())
    throw nb::type_error("an array with gaps has a layout of its own: expected no datatype beside");
  if (Datatype type; nb::try_cast(given[size - 1], type))
    datatype_ = type;
  else
    refuse_word(given[size - 1], "a dcgn.Datatype");
  if (size == 3 && !nb::try_cast(given[1], count_)) refuse_word(given[1], "a count");
  if (size == 3) return;
  const std::int64_t bytes = elements_ * item_bytes_, extent = datatype_->extent();
  if (extent <= 0) return;
  if (bytes > 0 && bytes < extent)
    throw nb::value_error(("a buffer as a list: an array of " + std::to_string(bytes) +
                           " bytes, expected room for one of the datatype, which reaches over " +
                           std::to_string(extent))
                              .c_str());
  count_ = bytes / extent;
}

Buffer::~Buffer() {
  if (view_.obj) PyBuffer_Release(&view_);
}

void Buffer::take(nb::handle array, Access access) {
  if (PyObject_CheckBuffer(array.ptr())) return take_buffer(array, access);
  if (const std::optional<TorchTensor> tensor = torch_tensor(array)) {
    owner_ = nb::borrow(array);
    memory_ = tensor->memory;
    item_bytes_ = tensor->item_bytes;
    elements_ = tensor->elements;
    kind_ = tensor->kind;
    on_gpu_ = tensor->on_gpu;
    return;
  }
  if (const nb::object interface = attribute(array, "__cuda_array_interface__"); interface.is_valid()) {
    owner_ = nb::borrow(array);
    try {
      return take_cuda_array(interface, access);
    } catch (const nb::python_error&) {
      throw;
    } catch (const nb::builtin_exception&) {
      throw;
    } catch (const std::exception&) {  // of a cast, or a number that is none
      throw nb::type_error(("__cuda_array_interface__: " + text_of(nb::repr(interface)) +
                            ", expected shape, typestr, data and strides as its version 3 has them")
                               .c_str());
    }
  }
  if (attribute(array, "__dlpack__").is_valid()) return take_dlpack(array, access);
  const nb::str type = nb::str(array.type());
  throw nb::type_error(
      (std::string(type.c_str()) +
       " has no memory to send or fill: expected an array, bytes or what else has the buffer protocol, "
       "__cuda_array_interface__ or __dlpack__")
          .c_str());
}

void Buffer::take_buffer(nb::handle array, Access access) {
  if (PyObject_GetBuffer(array.ptr(), &view_, access == Access::write ? PyBUF_RECORDS : PyBUF_RECORDS_RO) != 0) {
    const nb::python_error refused;
    // Elements that the protocol does not know, bfloat16 say. Who refuses to be written may not mind by DLPack, but
    // should.
    if (access == Access::write || !nb::hasattr(array, "__dlpack__")) throw nb::python_error(refused);
    try {
      take_dlpack(array, access);
    } catch (const std::exception&) {  // nor does DLPack know them
      throw nb::python_error(refused);
    }
    return;
  }
  // Addresses of this process, which count what refers to them.
  if (view_.format && has_objects(view_.format))
    throw nb::type_error("an array of Python objects, expected numbers or bytes; send() takes objects");
  memory_ = view_.buf;
  item_bytes_ = view_.itemsize;
  kind_ = kind_of_format(view_.format ? view_.format : "B", item_bytes_);
  elements_ = item_bytes_ ? view_.len / item_bytes_ : 0;
  if (PyBuffer_IsContiguous(&view_, 'C')) return;
  set_shape({view_.shape, view_.shape + view_.ndim}, {view_.strides, view_.strides + view_.ndim});
}

void Buffer::take_cuda_array(nb::handle interface, Access access) {
  const auto letters = nb::cast<std::string>(interface["typestr"]);  // "<f8"
  if (letters.size() < 3 || letters[1] == 'O')
    throw nb::type_error(("an array of typestr \"" + letters + "\", expected numbers or bytes, as in \"<f8\"").c_str());
  const nb::object data = nb::object(interface["data"]);
  if (access == Access::write && nb::cast<bool>(data[1])) throw nb::buffer_error("the array is read-only");
  memory_ = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(data[0]));
  item_bytes_ = std::stoll(letters.substr(2));
  kind_ = element_kind(letters[1], item_bytes_);
  on_gpu_ = true;
  const auto shape = nb::cast<std::vector<std::int64_t>>(interface["shape"]);
  const nb::dict members = nb::cast<nb::dict>(interface);
  const nb::object strides = members.contains("strides") ? nb::object(members["strides"]) : nb::none();
  const nb::object stream = members.contains("stream") ? nb::object(members["stream"]) : nb::none();
  if (!stream.is_none()) stream_ = nb::cast<std::uintptr_t>(stream);
  if (members.contains("mask") && !nb::object(members["mask"]).is_none())
    throw nb::type_error("an array with a mask, expected one without: what is masked is not sent apart");
  std::int64_t bytes = item_bytes_;
  for (const std::int64_t length : shape)
    if (length < 0 || __builtin_mul_overflow(bytes, length, &bytes))
      throw nb::value_error(("an array of shape " + text_of(nb::repr(nb::object(interface["shape"]))) +
                             ", expected one that memory can hold")
                                .c_str());
  const auto steps =
      strides.is_none() ? without_gaps(shape, item_bytes_) : nb::cast<std::vector<std::int64_t>>(strides);
  if (steps.size() != shape.size())
    throw nb::value_error((std::to_string(steps.size()) + " strides, expected one for each of " +
                           std::to_string(shape.size()) + " dimensions")
                              .c_str());
  set_shape(shape, steps);
}

namespace {

// What nanobind cannot have says why, if it is asked once more.
nb::ndarray<nb::ro> view_of(nb::handle array, Access access) {
  try {
    return access == Access::write ? nb::ndarray<nb::ro>(nb::cast<nb::ndarray<>>(array))
                                   : nb::cast<nb::ndarray<nb::ro>>(array);
  } catch (const std::bad_cast&) {
    const nb::object given = array.attr("__dlpack__")();
    throw nb::type_error(("__dlpack__ gave " + text_of(nb::repr(given)) + ", expected a capsule of DLPack" +
                          (access == Access::write ? " of memory that may be written" : ""))
                             .c_str());
  }
}

}  // namespace

void Buffer::take_dlpack(nb::handle array, Access access) {
  const nb::ndarray<nb::ro> view = view_of(array, access);
  owner_ = nb::borrow(array);
  memory_ = const_cast<void*>(view.data());
  item_bytes_ = static_cast<std::int64_t>(view.itemsize());
  kind_ = kind_of_dlpack(view.dtype());
  on_gpu_ = view.device_type() == nb::device::cuda::value;
  if (on_gpu_) stream_ = legacy_stream;  // in whose order DLPack has it where no other one is named
  std::vector<std::int64_t> shape(view.ndim()), strides(view.ndim());
  for (std::size_t d = 0; d < view.ndim(); ++d) {
    shape[d] = static_cast<std::int64_t>(view.shape(d));
    strides[d] = view.stride(d) * item_bytes_;
  }
  set_shape(shape, strides);
}

void Buffer::set_shape(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides) {
  elements_ = 1;
  for (const std::int64_t length : shape) elements_ *= length;
  bool gaps = false;
  const std::vector<std::int64_t> dense = without_gaps(shape, item_bytes_);
  for (std::size_t d = 0; d < shape.size(); ++d) gaps = gaps || (shape[d] > 1 && strides[d] != dense[d]);
  if (!gaps || elements_ == 0) return;
  shape_ = shape;
  strides_ = strides;
}

TypedBuffer Buffer::typed() const {
  const Span<std::byte> all(static_cast<std::byte*>(memory_), static_cast<std::size_t>(elements_ * item_bytes_));
  if (datatype_) return {all, *datatype_, count_};
  Datatype type = kind_ == ElementKind::byte ? Datatype::bytes(item_bytes_) : Datatype::of(kind_);
  if (strides_.empty()) return {memory_, type, elements_};
  for (std::size_t d = shape_.size(); d-- > 0;) type = Datatype::hvector(shape_[d], 1, strides_[d], type);
  return {memory_, type};
}

void Buffer::wait_for_stream() const {
  if (stream_) synchronize_stream(*stream_);
}

}  // namespace dcgn::python
