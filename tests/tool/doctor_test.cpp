// dcgn doctor: what works is said to, and what does not is named with what to do.
#include "command.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

using dcgn::test::Result, dcgn::test::run_dcgn;
using nlohmann::json;

namespace {

json checks_of(const Result& r) { return json::parse(r.out).at("checks"); }

int count(const json& checks, const char* what, const char* state) {
  return static_cast<int>(std::count_if(checks.begin(), checks.end(),
                                        [&](const json& c) { return c.at("what") == what && c.at("state") == state; }));
}

TEST(Doctor, FindsThatThisMachineWorks) {
  const Result r = run_dcgn("doctor --json", "DCGN_EMULATED_GPUS=2");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_EQ(json::parse(r.out).at("problems"), 0);
  const json checks = checks_of(r);
  EXPECT_EQ(count(checks, "job", "ok"), 3) << "CPU ranks, a CPU rank and a slot, slots";
  for (const char* what : {"settings", "processors", "driver", "MPI", "shared memory", "limits", "headers", "plots"})
    EXPECT_TRUE(std::any_of(checks.begin(), checks.end(), [&](const json& c) { return c.at("what") == what; })) << what;
  for (const json& check : checks) EXPECT_EQ(check.at("state") == "ok", check.at("advice") == "") << check;
}

TEST(Doctor, NamesWhatIsWrongAndGoesOn) {
  const Result r = run_dcgn("doctor --json", "DCGN_DEADLINE=never");
  EXPECT_EQ(r.code, 1) << r.err;
  const json checks = checks_of(r);
  ASSERT_EQ(count(checks, "settings", "problem"), 1);
  EXPECT_NE(r.out.find("DCGN_DEADLINE"), std::string::npos);
  EXPECT_EQ(count(checks, "headers", "problem"), 0);
}

TEST(Doctor, TableForPeople) {
  const Result r = run_dcgn("doctor", "DCGN_EMULATED_GPUS=1");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  for (const char* part : {"ok       settings", "GPU 0", "messages between two CPU ranks: right", "\nWorks"})
    EXPECT_NE(r.out.find(part), std::string::npos) << part << "\n" << r.out;
}

}  // namespace
