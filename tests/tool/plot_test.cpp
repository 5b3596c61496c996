// `dcgn bench plot`, as far as it goes with and without matplotlib: a picture, or one line and nothing left behind.
#include "command.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

using dcgn::test::is_one_line, dcgn::test::Result, dcgn::test::run_dcgn, dcgn::test::scratch_folder;

namespace {

// `name` in the scratch folder, with one row of `wrong` bytes that are not right.
void write_result(const std::string& name, int wrong) {
  std::ofstream(scratch_folder() + "/" + name)
      << R"({"machine": "a machine", "commit": "abc1234", "rows": [{"whose": "dcgn", "path": "cpu-cpu", "scope": "-",)"
      << R"("bytes": 8, "p50": 0.5, "GBps": 0.016, "wrong": )" << wrong << "}]}";
}

class Plot : public ::testing::Test {
 protected:
  void SetUp() override {
    if (run_dcgn("bench --help").code == 2) GTEST_SKIP() << "built without measurements";
    if (std::system("python3 -c '' 2>/dev/null") != 0) GTEST_SKIP() << "no python3";
  }
};

TEST_F(Plot, DrawsOrSaysThatMatplotlibIsMissing) {
  write_result("p2p.json", 0);
  const Result r = run_dcgn("bench plot p2p.json -o drawn.png --fit");
  if (std::system("python3 -c 'import matplotlib' 2>/dev/null") == 0) {
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_NE(r.out.find("worst deviation"), std::string::npos) << r.out;
    char signature[4] = {};
    std::ifstream(scratch_folder() + "/drawn.png", std::ios::binary).read(signature, 4);
    EXPECT_EQ(std::string(signature, 4), "\x89PNG");
  } else {
    EXPECT_EQ(r.code, 3);
    EXPECT_TRUE(is_one_line(r.err)) << r.err;
    EXPECT_NE(r.err.find("scripts/install-packages plot"), std::string::npos) << r.err;
    EXPECT_FALSE(std::filesystem::exists(scratch_folder() + "/drawn.png"));
  }
}

TEST_F(Plot, MistakesNameTheValue) {
  write_result("right.json", 0);
  write_result("wrong.json", 3);
  std::ofstream(scratch_folder() + "/other.json") << R"({"ranks": 3})";
  const struct {
    const char* arguments;
    int code;
    const char* named;
    const char* environment = "";
  } mistakes[] = {
      {"", 2, "FILE"},
      {"none.json", 3, "none.json: No such file"},
      {"right.json other.json", 3, "other.json: expected a result of dcgn bench"},
      {"wrong.json", 1, "wrong.json: row 0 has 3 wrong bytes"},
      {"right.json --measure speed", 2, "--measure speed: expected what the files have: latency"},
      {"-- --help", 3, "--help: No such file"},
      {"right.json", 3, "python3 cannot be run", "PATH=/nonexistent"},
  };
  for (const auto& m : mistakes) {
    SCOPED_TRACE(m.arguments);
    const Result r = run_dcgn(std::string("bench plot ") + m.arguments, m.environment);
    EXPECT_EQ(r.code, m.code) << r.err;
    EXPECT_EQ(r.out, "");
    EXPECT_TRUE(is_one_line(r.err)) << r.err;
    EXPECT_NE(r.err.find(m.named), std::string::npos) << r.err;
    EXPECT_FALSE(std::filesystem::exists(scratch_folder() + "/right.png"));
  }
}

}  // namespace
