// Datatypes from MPI's, for programs that are linked with an MPI: include its mpi.h, whichever that is, before this
// header. The library itself needs none, and dcgn/dcgn.hpp does not have this.
#pragma once

#if !defined(MPI_VERSION)
#error "dcgn/mpi.hpp: include <mpi.h> before it"
#endif

#include <dcgn/datatype.hpp>
#include <dcgn/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace dcgn {

Datatype from_mpi(MPI_Datatype type);  // below

namespace detail {

// Throws what a call of MPI returned.
inline void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  throw Error(Code::invalid_type, "from_mpi",
              std::string(call) + " failed: " + std::string(text, static_cast<std::size_t>(length)));
}

inline ElementKind integer_kind(int bytes, bool is_signed) {
  switch (bytes) {
    case 1: return is_signed ? ElementKind::int8 : ElementKind::uint8;
    case 2: return is_signed ? ElementKind::int16 : ElementKind::uint16;
    case 4: return is_signed ? ElementKind::int32 : ElementKind::uint32;
    case 8: return is_signed ? ElementKind::int64 : ElementKind::uint64;
    default: return ElementKind::byte;  // not an enum
  }
}

// One of a value and an index, as the operations that find places take them.
template <class Value>
Datatype pair_of() {
  struct Pair {
    Value value;
    int index;
  };
  return Datatype::structure({1, 1}, {0, static_cast<std::int64_t>(offsetof(Pair, index))},
                             {Datatype::of<Value>(), Datatype::of<int>()});
}

// One of MPI's own types.
inline Datatype from_named_mpi(MPI_Datatype type) {
  const auto is_one_of = [&](std::initializer_list<MPI_Datatype> types) {
    for (const MPI_Datatype one : types)
      if (one == type && one != MPI_DATATYPE_NULL) return true;
    return false;
  };
  int bytes = 0;
  check_mpi(MPI_Type_size(type, &bytes), "MPI_Type_size");
  if (is_one_of({MPI_CHAR, MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_INT8_T, MPI_INT16_T,
                 MPI_INT32_T, MPI_INT64_T, MPI_AINT, MPI_OFFSET, MPI_COUNT, MPI_INTEGER}))
    return Datatype::of(integer_kind(bytes, true));
  if (is_one_of({MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG,
                 MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T}))
    return Datatype::of(integer_kind(bytes, false));
  if (is_one_of({MPI_FLOAT, MPI_REAL})) return Datatype::of(ElementKind::float32);
  if (is_one_of({MPI_DOUBLE, MPI_DOUBLE_PRECISION})) return Datatype::of(ElementKind::float64);
  if (is_one_of({MPI_C_BOOL, MPI_CXX_BOOL})) return Datatype::of(ElementKind::boolean);
  if (is_one_of({MPI_C_FLOAT_COMPLEX, MPI_CXX_FLOAT_COMPLEX, MPI_COMPLEX})) return Datatype::of(ElementKind::complex64);
  if (is_one_of({MPI_C_DOUBLE_COMPLEX, MPI_CXX_DOUBLE_COMPLEX, MPI_DOUBLE_COMPLEX}))
    return Datatype::of(ElementKind::complex128);
  if (is_one_of({MPI_FLOAT_INT})) return pair_of<float>();
  if (is_one_of({MPI_DOUBLE_INT})) return pair_of<double>();
  if (is_one_of({MPI_LONG_INT})) return pair_of<long>();
  if (is_one_of({MPI_SHORT_INT})) return pair_of<short>();
  if (is_one_of({MPI_2INT})) return Datatype::contiguous(2, Datatype::of<int>());
  if (is_one_of({MPI_LONG_DOUBLE_INT})) {
    struct Pair {
      long double value;
      int index;
    };
    return Datatype::structure(
        {1, 1}, {0, static_cast<std::int64_t>(offsetof(Pair, index))},
        {Datatype::bytes(bytes - static_cast<int>(sizeof(int)), alignof(long double)), Datatype::of<int>()});
  }
  return Datatype::bytes(bytes);  // MPI_BYTE, MPI_PACKED, and numbers that nothing here computes with
}

// What a derived type was made with: the numbers as the constructor took them, and the types.
struct MpiContents {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<std::int64_t> numbers;
  std::vector<Datatype> types;

  explicit MpiContents(MPI_Datatype type) {
    std::vector<MPI_Datatype> inner;
    std::vector<int> integers;
    std::vector<MPI_Aint> addresses;
#if MPI_VERSION >= 4
    MPI_Count num_integers = 0, num_addresses = 0, num_counts = 0, num_types = 0;
    check_mpi(MPI_Type_get_envelope_c(type, &num_integers, &num_addresses, &num_counts, &num_types, &combiner),
              "MPI_Type_get_envelope_c");
    if (combiner == MPI_COMBINER_NAMED) return;
    std::vector<MPI_Count> counts(static_cast<std::size_t>(num_counts));
#else
    int num_integers = 0, num_addresses = 0, num_types = 0;
    check_mpi(MPI_Type_get_envelope(type, &num_integers, &num_addresses, &num_types, &combiner),
              "MPI_Type_get_envelope");
    if (combiner == MPI_COMBINER_NAMED) return;
#endif
    integers.resize(static_cast<std::size_t>(num_integers));
    addresses.resize(static_cast<std::size_t>(num_addresses));
    inner.resize(static_cast<std::size_t>(num_types));
#if MPI_VERSION >= 4
    check_mpi(MPI_Type_get_contents_c(type, num_integers, num_addresses, num_counts, num_types, integers.data(),
                                      addresses.data(), counts.data(), inner.data()),
              "MPI_Type_get_contents_c");
#else
    check_mpi(MPI_Type_get_contents(type, num_integers, num_addresses, num_types, integers.data(), addresses.data(),
                                    inner.data()),
              "MPI_Type_get_contents");
#endif
    numbers.assign(integers.begin(), integers.end());
    numbers.insert(numbers.end(), addresses.begin(), addresses.end());
#if MPI_VERSION >= 4
    // Those of the large constructors stand apart, in the order that the small ones have.
    const std::size_t before = combiner == MPI_COMBINER_SUBARRAY ? 1
                               : combiner == MPI_COMBINER_DARRAY ? 3
                                                                 : numbers.size();
    numbers.insert(numbers.begin() + static_cast<std::ptrdiff_t>(std::min(before, numbers.size())), counts.begin(),
                   counts.end());
#endif
    for (const MPI_Datatype one : inner) types.push_back(from_mpi(one));
    for (MPI_Datatype& one : inner) {
      if (!is_named(one)) check_mpi(MPI_Type_free(&one), "MPI_Type_free");
    }
  }

  static bool is_named(MPI_Datatype type) {
    int i = 0, a = 0, t = 0, what = MPI_COMBINER_NAMED;
#if MPI_VERSION >= 4
    MPI_Count ci = 0, ca = 0, cc = 0, ct = 0;
    check_mpi(MPI_Type_get_envelope_c(type, &ci, &ca, &cc, &ct, &what), "MPI_Type_get_envelope_c");
#else
    check_mpi(MPI_Type_get_envelope(type, &i, &a, &t, &what), "MPI_Type_get_envelope");
#endif
    static_cast<void>(i + a + t);
    return what == MPI_COMBINER_NAMED;
  }

  // `count` numbers from `first` on.
  Datatype::Counts some(std::size_t first, std::int64_t count) const {
    const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(first);
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
  }
};

inline Datatype from_mpi_darray(const MpiContents& c) {
  const std::int64_t n = c.numbers[2];
  const auto at = [&](std::int64_t k) { return c.some(3 + static_cast<std::size_t>(k * n), n); };
  std::vector<Datatype::Distribution> distributions;
  for (const std::int64_t d : at(1))
    distributions.push_back(d == MPI_DISTRIBUTE_BLOCK    ? Datatype::Distribution::block
                            : d == MPI_DISTRIBUTE_CYCLIC ? Datatype::Distribution::cyclic
                                                         : Datatype::Distribution::none);
  Datatype::Counts blocks = at(2);
  for (std::int64_t& block : blocks)
    if (block == MPI_DISTRIBUTE_DFLT_DARG) block = Datatype::default_block;
  const auto order = c.numbers.back() == MPI_ORDER_C ? Datatype::Order::c : Datatype::Order::fortran;
  return Datatype::darray(static_cast<int>(c.numbers[1]), at(0), distributions, blocks, at(3), order, c.types[0]);
}

inline Datatype from_mpi_contents(const MpiContents& c) {
  const auto& n = c.numbers;
  const std::int64_t count = n.empty() ? 0 : n[0];
  switch (c.combiner) {
    case MPI_COMBINER_DUP: return c.types[0];
    case MPI_COMBINER_CONTIGUOUS: return Datatype::contiguous(count, c.types[0]);
    case MPI_COMBINER_VECTOR: return Datatype::vector(count, n[1], n[2], c.types[0]);
    case MPI_COMBINER_HVECTOR: return Datatype::hvector(count, n[1], n[2], c.types[0]);
    case MPI_COMBINER_INDEXED:
      return Datatype::indexed(c.some(1, count), c.some(1 + static_cast<std::size_t>(count), count), c.types[0]);
    case MPI_COMBINER_HINDEXED:
      return Datatype::hindexed(c.some(1, count), c.some(1 + static_cast<std::size_t>(count), count), c.types[0]);
    case MPI_COMBINER_INDEXED_BLOCK: return Datatype::indexed_block(n[1], c.some(2, count), c.types[0]);
    case MPI_COMBINER_HINDEXED_BLOCK: return Datatype::hindexed_block(n[1], c.some(2, count), c.types[0]);
    case MPI_COMBINER_STRUCT:
      return Datatype::structure(c.some(1, count), c.some(1 + static_cast<std::size_t>(count), count), c.types);
    case MPI_COMBINER_SUBARRAY: {
      const auto all = static_cast<std::size_t>(count);
      const auto order = n.back() == MPI_ORDER_C ? Datatype::Order::c : Datatype::Order::fortran;
      return Datatype::subarray(c.some(1, count), c.some(1 + all, count), c.some(1 + 2 * all, count), order,
                                c.types[0]);
    }
    case MPI_COMBINER_DARRAY: return from_mpi_darray(c);
    case MPI_COMBINER_RESIZED: return Datatype::resized(c.types[0], n[0], n[1]);
    default:
      throw Error(Code::unsupported, "from_mpi",
                  "the combiner " + std::to_string(c.combiner) + " of MPI, expected one of a constructor of MPI-3");
  }
}

}  // namespace detail

// The same type, with the bounds that this MPI gives it (implementations pad in different ways). A named type of a kind
// that is not in ElementKind, long double say, is its bytes. MPI must be initialized. Throws Error(unsupported) for
// types that Fortran's parametrized kinds made, invalid_type where MPI refuses a call.
inline Datatype from_mpi(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) throw Error(Code::invalid_type, "from_mpi", "MPI_DATATYPE_NULL, expected a type");
  const detail::MpiContents contents(type);
  Datatype same =
      contents.combiner == MPI_COMBINER_NAMED ? detail::from_named_mpi(type) : detail::from_mpi_contents(contents);
  MPI_Count lower = 0, extent = 0;
  detail::check_mpi(MPI_Type_get_extent_x(type, &lower, &extent), "MPI_Type_get_extent_x");
  if (lower == same.lower_bound() && extent == same.extent()) return same;
  return Datatype::resized(same, lower, extent);
}

}  // namespace dcgn
