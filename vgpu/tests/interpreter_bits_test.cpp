// Logic, shifts and fields of bits, each bit by bit as the PTX manual has it.
#include "interpreter_harness.hpp"

#include <string>

using dcgn::test::edges, dcgn::test::expect_all, dcgn::test::expect_binary, dcgn::test::expect_unary;
using U = std::uint32_t;
using U64 = std::uint64_t;

namespace {

const std::vector<U> amounts{0, 1, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 0x80000000, 0xffffffff};

template <class T>
bool bit(T value, unsigned number) {
  return (static_cast<std::make_unsigned_t<T>>(value) >> number & 1) != 0;
}

template <class T>
void check_shifts(const std::string& bits) {
  using Signed = std::make_signed_t<T>;
  constexpr U width = 8 * sizeof(T);
  const auto all = edges<T>();
  expect_binary<T>("shl.b" + bits + " %d, %a, %b;", all, amounts,
                   [](T a, U by) { return by < width ? static_cast<T>(a << by) : T{0}; });
  expect_binary<T>("shr.u" + bits + " %d, %a, %b;", all, amounts,
                   [](T a, U by) { return by < width ? static_cast<T>(a >> by) : T{0}; });
  expect_binary<T>("shr.s" + bits + " %d, %a, %b;", all, amounts,
                   [](T a, U by) { return static_cast<T>(static_cast<Signed>(a) >> std::min(by, width - 1)); });
}

template <class T>
void check_logic(const std::string& bits) {
  const auto all = edges<T>();
  expect_binary<T>("and.b" + bits + " %d, %a, %b;", all, all, [](T a, T b) { return static_cast<T>(a & b); });
  expect_binary<T>("or.b" + bits + " %d, %a, %b;", all, all, [](T a, T b) { return static_cast<T>(a | b); });
  expect_binary<T>("xor.b" + bits + " %d, %a, %b;", all, all, [](T a, T b) { return static_cast<T>(a ^ b); });
  expect_unary<T>("not.b" + bits + " %d, %a;", all, [](T a) { return static_cast<T>(~a); });
  expect_unary<T>("cnot.b" + bits + " %d, %a;", all, [](T a) { return a == 0 ? T{1} : T{0}; });
}

template <class T>
void check_counts(const std::string& bits) {
  constexpr unsigned width = 8 * sizeof(T);
  const auto all = edges<T>();
  expect_unary<U>("popc.b" + bits + " %d, %a;", all, [](T a) {
    U count = 0;
    for (unsigned i = 0; i < width; ++i) count += bit(a, i);
    return count;
  });
  expect_unary<U>("clz.b" + bits + " %d, %a;", all, [](T a) {
    U count = 0;
    while (count < width && !bit(a, width - 1 - count)) ++count;
    return count;
  });
  expect_unary<T>("brev.b" + bits + " %d, %a;", all, [](T a) {
    T result = 0;
    for (unsigned i = 0; i < width; ++i) result |= static_cast<T>(T{bit(a, i)} << (width - 1 - i));
    return result;
  });
  for (const bool is_signed : {false, true})
    for (const bool shift : {false, true})
      expect_unary<U>(std::string("bfind") + (shift ? ".shiftamt" : "") + (is_signed ? ".s" : ".u") + bits + " %d, %a;",
                      all, [&](T a) {
                        if (is_signed && bit(a, width - 1)) a = static_cast<T>(~a);
                        for (U i = width; i-- > 0;)
                          if (bit(a, i)) return shift ? width - 1 - i : i;
                        return ~U{0};
                      });
}

template <class T>
void check_fields(const std::string& bits) {
  constexpr U last = 8 * sizeof(T) - 1;
  const auto all = edges<T>();
  for (const bool is_signed : {false, true})
    expect_all<T>(std::string("bfe") + (is_signed ? ".s" : ".u") + bits + " %d, %a, %b, %c;", all, amounts, amounts,
                  [&](T a, U b, U c) {
                    const U at = b & 0xff, length = c & 0xff;
                    const bool sign = is_signed && length != 0 && bit(a, std::min(at + length - 1, last));
                    T result = 0;
                    for (U i = 0; i <= last; ++i)
                      result |= static_cast<T>(T{i < length && at + i <= last ? bit(a, at + i) : sign} << i);
                    return result;
                  });
  // b is constant: the four operands of bfi are one more than there are.
  expect_all<T>("bfi.b" + bits + " %d, %a, 0x5a5a5a5a, %b, %c;", all, amounts, amounts, [](T a, U b, U c) {
    const U at = b & 0xff, length = c & 0xff;
    T result = static_cast<T>(0x5a5a5a5a);
    for (U i = 0; i < length && at + i <= last; ++i)
      result = static_cast<T>((result & ~(T{1} << (at + i))) | (T{bit(a, i)} << (at + i)));
    return result;
  });
}

}  // namespace

TEST(InterpreterBits, logic) {
  check_logic<std::uint16_t>("16");
  check_logic<U>("32");
  check_logic<U64>("64");
  expect_binary<U>(
      "setp.ne.u32 %p, %a, 0; setp.ne.u32 %q, %b, 0; xor.pred %p, %p, %q; not.pred %q, %p;"
      "and.pred %p, %p, %q; or.pred %p, %p, %q; selp.u32 %d, 1, 0, %p;",
      edges<U>(), edges<U>(), [](U a, U b) { return (a != 0) == (b != 0) ? 1U : 0U; });
}

TEST(InterpreterBits, all_functions_of_three_bits) {
  for (unsigned table = 0; table < 256; ++table)
    expect_all<U>("lop3.b32 %d, %a, %b, %c, " + std::to_string(table) + ";", std::vector<U>{0xff00ff00, 0x12345678},
                  std::vector<U>{0xf0f0f0f0, 0x9abcdef0}, std::vector<U>{0xcccccccc, 0x0f1e2d3c}, [&](U a, U b, U c) {
                    U result = 0;
                    for (unsigned i = 0; i < 32; ++i)
                      result |= U{bit(table, 4U * bit(a, i) + 2U * bit(b, i) + bit(c, i))} << i;
                    return result;
                  });
}

TEST(InterpreterBits, shifts_by_more_than_there_are_bits) {
  check_shifts<std::uint16_t>("16");
  check_shifts<U>("32");
  check_shifts<U64>("64");
}

TEST(InterpreterBits, funnel_shifts) {
  const auto all = edges<U>();
  for (const bool wraps : {false, true}) {
    const std::string mode = wraps ? ".wrap" : ".clamp";
    const auto amount = [&](U c) { return wraps ? c & 31 : std::min(c, U{32}); };
    expect_all<U>("shf.l" + mode + ".b32 %d, %a, %b, %c;", all, all, amounts, [&](U a, U b, U c) {
      const U n = amount(c);
      return n == 0 ? b : n == 32 ? a : b << n | a >> (32 - n);
    });
    expect_all<U>("shf.r" + mode + ".b32 %d, %a, %b, %c;", all, all, amounts, [&](U a, U b, U c) {
      const U n = amount(c);
      return n == 0 ? a : n == 32 ? b : a >> n | b << (32 - n);
    });
  }
}

TEST(InterpreterBits, counts) {
  check_counts<U>("32");
  check_counts<U64>("64");
}

TEST(InterpreterBits, fields) {
  check_fields<U>("32");
  check_fields<U64>("64");
  for (const bool wraps : {false, true})
    expect_binary<U>(std::string("bmsk") + (wraps ? ".wrap" : ".clamp") + ".b32 %d, %a, %b;", amounts, amounts,
                     [&](U a, U b) {
                       U result = 0;
                       const U at = wraps ? a & 31 : a, length = wraps ? b & 31 : std::min(b, U{32});
                       for (U i = 0; i < 32; ++i) result |= U{i >= at && i - at < length} << i;
                       return result;
                     });
}

TEST(InterpreterBits, the_nth_bit_that_is_set) {
  const std::vector<std::int32_t> counts{0, 1, 2, 5, 32, 33, -1, -2, -5, -32, -33};
  expect_all<U>("fns.b32 %d, %a, %b, %c;", edges<U>(), std::vector<U>{0, 1, 5, 16, 30, 31}, counts,
                [](U bits, U base, std::int32_t count) {
                  if (count == 0) return bit(bits, base) ? base : ~U{0};
                  int left = count > 0 ? count : -count;
                  for (int i = static_cast<int>(base); i >= 0 && i<32; i += count> 0 ? 1 : -1)
                    if (bit(bits, static_cast<unsigned>(i)) && --left == 0) return static_cast<U>(i);
                  return ~U{0};
                });
}

// The bytes of a are 0 to 3, those of b 4 to 7.
TEST(InterpreterBits, bytes_are_permuted) {
  const std::vector<U> as{0x83828100, 0x03020180}, bs{0x07860584, 0x87068504};
  const auto byte = [](U a, U b, unsigned which) {
    return (which < 4 ? a >> (8 * which) : b >> (8 * (which - 4))) & 0xff;
  };
  std::vector<U> selectors = edges<U>();
  for (const U more : {0x3210U, 0x7654U, 0xba98U, 0x0f8cU}) selectors.push_back(more);
  expect_all<U>("prmt.b32 %d, %a, %b, %c;", as, bs, selectors, [&](U a, U b, U c) {
    U result = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const U value = byte(a, b, c >> (4 * i) & 7), all_sign = (value & 0x80) != 0 ? 0xffU : 0U;
      result |= ((c >> (4 * i) & 8) != 0 ? all_sign : value) << (8 * i);
    }
    return result;
  });
  struct Mode {
    const char* name;
    std::array<std::array<unsigned, 4>, 4> chosen;  // by the selector's value: of the lowest byte first
  };
  for (const Mode& mode : std::vector<Mode>{
           {"f4e", {{{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}}}},
           {"b4e", {{{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}}}},
           {"rc8", {{{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}}},
           {"ecl", {{{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}}}},
           {"ecr", {{{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}}}},
           {"rc16", {{{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}}}},
       })
    expect_all<U>(std::string("prmt.b32.") + mode.name + " %d, %a, %b, %c;", as, bs, std::vector<U>{0, 1, 2, 3, 7},
                  [&](U a, U b, U c) {
                    U result = 0;
                    for (unsigned i = 0; i < 4; ++i) result |= byte(a, b, mode.chosen[c & 3][i]) << (8 * i);
                    return result;
                  });
}

TEST(InterpreterBits, dot_products_of_bytes) {
  const auto all = edges<U>();
  const auto part = [](U word, unsigned bits, unsigned number, bool is_signed) {
    const U raw = word >> (bits * number) & ((1U << bits) - 1);
    return static_cast<std::int64_t>(raw) - (is_signed && bit(raw, bits - 1) ? std::int64_t{1} << bits : 0);
  };
  for (const bool a_signed : {false, true})
    for (const bool b_signed : {false, true}) {
      const std::string types = std::string(a_signed ? ".s32" : ".u32") + (b_signed ? ".s32" : ".u32");
      expect_all<U>("dp4a" + types + " %d, %a, %b, %c;", all, all, all, [&](U a, U b, U c) {
        auto sum = static_cast<std::int64_t>(c);
        for (unsigned i = 0; i < 4; ++i) sum += part(a, 8, i, a_signed) * part(b, 8, i, b_signed);
        return static_cast<U>(sum);
      });
      for (const bool upper : {false, true})
        expect_all<U>(std::string("dp2a") + (upper ? ".hi" : ".lo") + types + " %d, %a, %b, %c;", all, all, all,
                      [&](U a, U b, U c) {
                        auto sum = static_cast<std::int64_t>(c);
                        for (unsigned i = 0; i < 2; ++i)
                          sum += part(a, 16, i, a_signed) * part(b, 8, i + (upper ? 2 : 0), b_signed);
                        return static_cast<U>(sum);
                      });
    }
}

TEST(InterpreterBits, differences_of_bytes) {
  const auto all = edges<U>();
  const auto apart = [](U a, U b, unsigned byte, bool is_signed) {
    const auto part = [&](U word) {
      const int raw = static_cast<int>(word >> (8 * byte) & 0xff);
      return is_signed && raw > 127 ? raw - 256 : raw;
    };
    return static_cast<U>(part(a) > part(b) ? part(a) - part(b) : part(b) - part(a));
  };
  for (const bool is_signed : {false, true}) {
    const std::string op = is_signed ? "vabsdiff4.u32.s32.s32" : "vabsdiff4.u32.u32.u32";
    expect_binary<U>(op + " %d, %a, %b, 0;", all, all, [&](U a, U b) {
      U result = 0;
      for (unsigned byte = 0; byte < 4; ++byte) result |= apart(a, b, byte, is_signed) << (8 * byte);
      return result;
    });
    expect_all<U>(op + ".add %d, %a, %b, %c;", all, all, all, [&](U a, U b, U c) {
      for (unsigned byte = 0; byte < 4; ++byte) c += apart(a, b, byte, is_signed);
      return c;
    });
  }
}
