// setp, set, selp and slct, with what they combine.
#include "interpreter_harness.hpp"

#include <functional>
#include <string>
#include <utility>

using dcgn::test::edges, dcgn::test::expect_all, dcgn::test::expect_binary;
using U = std::uint32_t;

namespace {

template <class T>
using Relation = std::pair<std::string, std::function<bool(T, T)>>;

template <class T>
bool unordered(T a, T b) {
  return a != a || b != b;
}
template <class T>
std::vector<Relation<T>> relations() {
  std::vector<Relation<T>> all{{"eq", [](T a, T b) { return a == b; }}, {"ne", [](T a, T b) { return a < b || a > b; }},
                               {"lt", [](T a, T b) { return a < b; }},  {"le", [](T a, T b) { return a <= b; }},
                               {"gt", [](T a, T b) { return a > b; }},  {"ge", [](T a, T b) { return a >= b; }}};
  if constexpr (std::is_floating_point_v<T>) {
    const auto ordered = all;
    for (const auto& [name, holds] : ordered)
      all.push_back({name + "u", [holds = holds](T a, T b) { return unordered(a, b) || holds(a, b); }});
    all.push_back({"num", [](T a, T b) { return !unordered(a, b); }});
    all.push_back({"nan", [](T a, T b) { return unordered(a, b); }});
  } else if constexpr (std::is_unsigned_v<T>) {
    all.push_back({"lo", [](T a, T b) { return a < b; }});
    all.push_back({"ls", [](T a, T b) { return a <= b; }});
    all.push_back({"hi", [](T a, T b) { return a > b; }});
    all.push_back({"hs", [](T a, T b) { return a >= b; }});
  }
  return all;
}

const std::string both = " selp.u32 %d, 1, 0, %p; selp.u32 %r0, 2, 0, %q; or.b32 %d, %d, %r0;";

template <class T>
void check_type(const std::string& type) {
  const auto all = edges<T>();
  for (const auto& [name, holds] : relations<T>()) {
    expect_binary<U>("setp." + name + type + " %p, %a, %b; selp.u32 %d, 1, 0, %p;", all, all,
                     [&holds = holds](T a, T b) { return U{holds(a, b)}; });
    expect_binary<U>("set." + name + ".u32" + type + " %d, %a, %b;", all, all,
                     [&holds = holds](T a, T b) { return holds(a, b) ? ~U{0} : U{0}; });
    expect_binary<float>("set." + name + ".f32" + type + " %d, %a, %b;", all, all,
                         [&holds = holds](T a, T b) { return holds(a, b) ? 1.0F : 0.0F; });
  }
}

// p is (a < b) op c, q is !(a < b) op c.
void check_combination(const std::string& op, const std::function<bool(bool, bool)>& combine) {
  const std::vector<std::int32_t> some{-1, 0, 1};
  const std::vector<U> bits{0, 1};
  for (const bool negated : {false, true}) {
    const std::string c = negated ? "!%q" : "%q";
    expect_all<U>("setp.ne.u32 %q, %c, 0; setp.lt." + op + ".s32 %p|%q, %a, %b, " + c + ";" + both, some, some, bits,
                  [&](std::int32_t a, std::int32_t b, U with) {
                    const bool other = (with != 0) != negated;
                    return U{combine(a < b, other)} + 2 * U{combine(a >= b, other)};
                  });
    expect_all<U>(
        "setp.ne.u32 %q, %c, 0; set.lt." + op + ".u32.s32 %d, %a, %b, " + c + ";", some, some, bits,
        [&](std::int32_t a, std::int32_t b, U with) { return combine(a < b, (with != 0) != negated) ? ~U{0} : U{0}; });
  }
}

}  // namespace

TEST(InterpreterComparison, all_relations_of_all_types) {
  check_type<std::int16_t>(".s16");
  check_type<std::uint16_t>(".u16");
  check_type<std::int32_t>(".s32");
  check_type<std::uint32_t>(".u32");
  check_type<std::int64_t>(".s64");
  check_type<std::uint64_t>(".u64");
  check_type<float>(".f32");
  check_type<double>(".f64");
}

TEST(InterpreterComparison, results_are_combined_with_a_predicate) {
  check_combination("and", [](bool a, bool b) { return a && b; });
  check_combination("or", [](bool a, bool b) { return a || b; });
  check_combination("xor", [](bool a, bool b) { return a != b; });
  expect_binary<U>("setp.lt.s32 %p|%q, %a, %b;" + both, edges<std::int32_t>(), edges<std::int32_t>(),
                   [](std::int32_t a, std::int32_t b) { return a < b ? 1U : 2U; });
}

TEST(InterpreterComparison, subnormals_are_equal_to_0_where_they_are_flushed) {
  const auto all = edges<float>();
  const auto flush = [](float value) { return std::fpclassify(value) == FP_SUBNORMAL ? 0.0F : value; };
  expect_binary<U>("setp.lt.ftz.f32 %p, %a, %b; selp.u32 %d, 1, 0, %p;", all, all,
                   [&](float a, float b) { return U{flush(a) < flush(b)}; });
  expect_binary<U>("set.neu.ftz.u32.f32 %d, %a, %b;", all, all,
                   [&](float a, float b) { return flush(a) != flush(b) ? ~U{0} : U{0}; });
  expect_all<U>("slct.ftz.u32.f32 %d, %a, %b, %c;", std::vector<U>{1}, std::vector<U>{2}, all,
                [&](U a, U b, float c) { return flush(c) >= 0 ? a : b; });
}

TEST(InterpreterComparison, selections) {
  const auto words = edges<std::uint64_t>();
  expect_all<std::uint64_t>("setp.ne.u32 %p, %c, 0; selp.b64 %d, %a, %b, %p;", words, words, std::vector<U>{0, 1},
                            [](std::uint64_t a, std::uint64_t b, U c) { return c != 0 ? a : b; });
  expect_all<std::uint64_t>("slct.u64.f32 %d, %a, %b, %c;", words, std::vector<std::uint64_t>{5}, edges<float>(),
                            [](std::uint64_t a, std::uint64_t b, float c) { return c >= 0 ? a : b; });
  expect_all<U>("slct.b32.s32 %d, %a, %b, %c;", edges<U>(), std::vector<U>{5}, edges<std::int32_t>(),
                [](U a, U b, std::int32_t c) { return c >= 0 ? a : b; });
}
