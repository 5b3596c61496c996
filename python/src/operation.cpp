#include "operation.hpp"

#include <dcgn/operation.hpp>

#include <complex>
#include <string>
#include <type_traits>

namespace dcgn::python {

namespace {

using namespace nb::literals;

enum class Op { sum, product, min, max, logical_and, logical_or, logical_xor, bit_and, bit_or, bit_xor };

template <class T>
struct Type {
  using Element = T;
};

// act(Type<T>) of the T that the kind is. Bytes are no numbers.
template <class Act>
void with_element(ElementKind kind, const Act& act) {
  switch (kind) {
    case ElementKind::byte: break;
    case ElementKind::boolean: return act(Type<bool>());
    case ElementKind::int8: return act(Type<std::int8_t>());
    case ElementKind::int16: return act(Type<std::int16_t>());
    case ElementKind::int32: return act(Type<std::int32_t>());
    case ElementKind::int64: return act(Type<std::int64_t>());
    case ElementKind::uint8: return act(Type<std::uint8_t>());
    case ElementKind::uint16: return act(Type<std::uint16_t>());
    case ElementKind::uint32: return act(Type<std::uint32_t>());
    case ElementKind::uint64: return act(Type<std::uint64_t>());
    case ElementKind::float16: return act(Type<half>());
    case ElementKind::bf16: return act(Type<bfloat16>());
    case ElementKind::float32: return act(Type<float>());
    case ElementKind::float64: return act(Type<double>());
    case ElementKind::complex64: return act(Type<complex<float>>());
    case ElementKind::complex128: return act(Type<complex<double>>());
  }
  throw Error(Code::invalid_type, "reduce", "elements that are bytes of no type, expected numbers");
}

template <class Act>
void with_operation(Op op, const Act& act) {
  switch (op) {
    case Op::sum: return act(Sum{});
    case Op::product: return act(Product{});
    case Op::min: return act(Min{});
    case Op::max: return act(Max{});
    case Op::logical_and: return act(LogicalAnd{});
    case Op::logical_or: return act(LogicalOr{});
    case Op::logical_xor: return act(LogicalXor{});
    case Op::bit_and: return act(BitAnd{});
    case Op::bit_or: return act(BitOr{});
    case Op::bit_xor: return act(BitXor{});
  }
}

template <class T>
inline constexpr bool is_complex = std::is_same_v<T, complex<float>> || std::is_same_v<T, complex<double>>;
template <class Op, class T>
inline constexpr bool has_operation =
    std::is_same_v<Op, Min> || std::is_same_v<Op, Max>                                      ? !is_complex<T>
    : std::is_same_v<Op, BitAnd> || std::is_same_v<Op, BitOr> || std::is_same_v<Op, BitXor> ? std::is_integral_v<T>
                                                                                            : true;

// act(Type<T>, operation) of what the two are at run time.
template <class Act>
void with_both(ElementKind kind, Op op, const Act& act) {
  with_operation(op, [&](const auto& operation) {
    with_element(kind, [&]<class T>(Type<T> type) {
      if constexpr (has_operation<std::remove_cvref_t<decltype(operation)>, T>)
        act(type, operation);
      else
        throw Error(Code::invalid_type, "reduce",
                    "an operation that " + to_string(kind) + " does not have, expected Op.SUM or Op.PROD");
    });
  });
}

template <class T>
Span<T> elements(const Buffer& buffer) {
  return {static_cast<T*>(buffer.memory()), static_cast<std::size_t>(buffer.bytes()) / sizeof(T)};
}

// The kind of the elements of both, of a datatype's by what the array has.
ElementKind kind_of_both(const Buffer& in, const Buffer& out) {
  if (in.kind() == out.kind()) return in.kind();
  throw Error(Code::mismatch, "reduce",
              "sendbuf has " + to_string(in.kind()) + " and recvbuf " + to_string(out.kind()) + ", expected the same");
}
// With gaps, or in a GPU's memory: the library computes in a buffer of its own, which it has none of for bool.
template <class T, class Act>
void with_types(const Act& act) {
  if constexpr (std::is_same_v<T, bool>)
    throw Error(Code::unsupported, "reduce", "boolean elements with gaps or in a GPU's memory, expected uint8");
  else
    act(Type<T>());
}

// What a reduction is given; where `in` is None the input lies in `out`, where `out` is None there is no result.
struct Given {
  Given(nb::handle send, nb::handle receive) : buffers(std::make_shared<Pending>()) {
    if (!send.is_none()) buffers->out.emplace(send, Access::read);
    if (!receive.is_none()) buffers->in.emplace(receive, Access::write);
    if (!buffers->out && !buffers->in)
      throw nb::type_error("a reduction needs a sendbuf, or a recvbuf that holds the input");
  }
  const Buffer& in() const { return buffers->out ? *buffers->out : *buffers->in; }
  const Buffer& out() const { return buffers->in ? *buffers->in : *buffers->out; }
  bool is_plain_on_host() const {
    return in().is_plain() && !in().is_on_gpu() && out().is_plain() && !out().is_on_gpu();
  }
  template <class T>
  Span<const T> input() const {
    return elements<T>(in());
  }
  template <class T>
  Span<T> output() const {
    return buffers->in ? elements<T>(out()) : Span<T>();
  }

  std::shared_ptr<Pending> buffers;
};

void all_reduce(const Comm& comm, nb::handle send, nb::handle receive, Op op) {
  const Given given(send, receive);
  with_both(kind_of_both(given.in(), given.out()), op, [&]<class T>(Type<T>, const auto& operation) {
    const auto act = [&](dcgn::Comm& c) {
      if (given.is_plain_on_host()) return c.all_reduce(given.input<T>(), given.output<T>(), operation);
      with_types<T>(
          [&]<class Known>(Type<Known>) { c.all_reduce<Known>(given.in().typed(), given.out().typed(), operation); });
    };
    without_gil(comm, act, given.in(), given.out());
  });
}

void reduce(const Comm& comm, nb::handle send, nb::handle receive, Op op, int root) {
  const Given given(send, receive);
  with_both(kind_of_both(given.in(), given.out()), op, [&]<class T>(Type<T>, const auto& operation) {
    const auto act = [&](dcgn::Comm& c) {
      if (given.is_plain_on_host()) return c.reduce(given.input<T>(), given.output<T>(), operation, root);
      const TypedBuffer to = given.buffers->in ? given.out().typed() : TypedBuffer(nullptr, Datatype(), 0);
      with_types<T>([&]<class Known>(Type<Known>) { c.reduce<Known>(given.in().typed(), to, operation, root); });
    };
    without_gil(comm, act, given.in(), given.out());
  });
}

// The calls that take arrays without gaps in memory of the host alone.
template <class Act>
void with_plain(const Given& given, Op op, const char* call, const Act& act) {
  if (!given.is_plain_on_host())
    throw Error(Code::unsupported, call, "an array with gaps or in a GPU's memory, expected one without in the host's");
  with_both(kind_of_both(given.in(), given.out()), op, act);
}

template <bool Exclusive>
void scan(const Comm& comm, nb::handle send, nb::handle receive, Op op) {
  const Given given(send, receive);
  with_plain(given, op, Exclusive ? "exscan" : "scan", [&]<class T>(Type<T>, const auto& operation) {
    without_gil(comm, [&](dcgn::Comm& c) {
      if constexpr (Exclusive)
        c.exclusive_scan(given.input<T>(), given.output<T>(), operation);
      else
        c.scan(given.input<T>(), given.output<T>(), operation);
    });
  });
}

PendingCall ireduce(const Comm& comm, nb::handle send, nb::handle receive, Op op, int root) {
  const Given given(send, receive);
  std::optional<PendingCall> begun;
  with_plain(given, op, "ireduce", [&]<class T>(Type<T>, const auto& operation) {
    begun = begin(comm, given.buffers,
                  [&](dcgn::Comm& c) { return c.ireduce(given.input<T>(), given.output<T>(), operation, root); });
  });
  return std::move(*begun);
}

PendingCall iall_reduce(const Comm& comm, nb::handle send, nb::handle receive, Op op) {
  const Given given(send, receive);
  std::optional<PendingCall> begun;
  with_plain(given, op, "iall_reduce", [&]<class T>(Type<T>, const auto& operation) {
    begun = begin(comm, given.buffers,
                  [&](dcgn::Comm& c) { return c.iall_reduce(given.input<T>(), given.output<T>(), operation); });
  });
  return std::move(*begun);
}

}  // namespace

void bind_operations(nb::module_& m, nb::class_<Comm>& comm) {
  nb::enum_<Op>(m, "Op", "An operation of a reduction. The left operand comes from lower ranks.")
      .value("SUM", Op::sum, "Sum.")
      .value("PROD", Op::product, "Product.")
      .value("MIN", Op::min, "The lesser, the left one where neither is.")
      .value("MAX", Op::max, "The greater, likewise.")
      .value("LAND", Op::logical_and, "Whether both differ from zero.")
      .value("LOR", Op::logical_or, "Whether one does.")
      .value("LXOR", Op::logical_xor, "Whether just one does.")
      .value("BAND", Op::bit_and, "Bits that both have.")
      .value("BOR", Op::bit_or, "Bits that one has.")
      .value("BXOR", Op::bit_xor, "Bits that just one has.")
      .export_values();  // as mpi4py has them
  comm.def("Reduce", &reduce, "sendbuf"_a.none(), "recvbuf"_a.none(), "op"_a = Op::sum, "root"_a = 0,
           "The root's recvbuf becomes the reduction of the arrays of all ranks, element by element. recvbuf is None "
           "elsewhere; at the root sendbuf may be IN_PLACE.")
      .def("Allreduce", &all_reduce, "sendbuf"_a.none(), "recvbuf"_a, "op"_a = Op::sum,
           "The same to every rank; sendbuf may be IN_PLACE.")
      .def("Ireduce", &ireduce, "sendbuf"_a.none(), "recvbuf"_a.none(), "op"_a = Op::sum, "root"_a = 0,
           "Begins a Reduce of arrays without gaps.")
      .def("Iallreduce", &iall_reduce, "sendbuf"_a.none(), "recvbuf"_a, "op"_a = Op::sum,
           "Begins an Allreduce of arrays without gaps.")
      .def("Scan", &scan<false>, "sendbuf"_a.none(), "recvbuf"_a, "op"_a = Op::sum,
           "recvbuf becomes the reduction of the arrays of the ranks up to this one; sendbuf may be IN_PLACE.")
      .def("Exscan", &scan<true>, "sendbuf"_a.none(), "recvbuf"_a, "op"_a = Op::sum,
           "The same without this rank's own; rank 0 gets nothing.");
}

}  // namespace dcgn::python
