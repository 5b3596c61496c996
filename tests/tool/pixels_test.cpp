// dcgn bench pixels: every row of it is checked, and says what it is beside.
#include "command.hpp"
#include "tests/expect.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <string>

using dcgn::test::contains, dcgn::test::Result, dcgn::test::run_dcgn;
using nlohmann::json;

namespace {

TEST(BenchPixels, MeasuresCheckedPixelsBesideTheirLimits) {
  const Result r = run_dcgn(
      "bench pixels --sizes 4K,36K --frame 60x41 --tile 1K --ranks 1,3 --time 0.001 --paths copy,pinned --json");
  if (contains(r.err, "this build has no pixels") || contains(r.err, "EGL has no device")) GTEST_SKIP() << r.err;
  ASSERT_EQ(r.code, 0) << r.err;
  const json d = json::parse(r.out);
  EXPECT_EQ(d.at("what"), "pixels");
  EXPECT_FALSE(d.at("renderer").get<std::string>().empty());
  std::map<std::string, int> rows;
  for (const json& row : d.at("rows")) {
    ++rows[row.at("measure").get<std::string>() +
           (row.at("whose").get<std::string>().starts_with("limit") ? ", limit" : "")];
    EXPECT_EQ(row.at("wrong"), 0);
    EXPECT_GT(row.at("p50"), 0);
    EXPECT_GE(row.at("rounds"), 5);
  }
  const int compressions = rows["compression"];
  EXPECT_TRUE(compressions == 0 || compressions == 2 || compressions == 4 || compressions == 6);
  rows.erase("compression");
  EXPECT_EQ(rows, (std::map<std::string, int>{{"read-back", 4},
                                              {"read-back, limit", 4},
                                              {"upload", 4},
                                              {"upload, limit", 4},
                                              {"frame", 4},
                                              {"frame, limit", 2},
                                              {"stream", 2},
                                              {"output", 2}}));
  EXPECT_FALSE(d.at("fits").empty());
}

TEST(BenchPixels, MistakesGetOneLineThatNamesTheValue) {
  struct Mistake {
    const char* arguments;
    int code;
    const char* said;
  };
  const Mistake mistakes[] = {{"--sizes 6", 2, "--sizes '6': expected whole pixels of 4 bytes"},
                              {"--frame 12", 2, "12"},
                              {"--measure speed", 2, "'speed': expected transfer, frame"},
                              {"--paths fast", 2, "'fast': expected copy, pinned, interop"},
                              {"--ranks 0", 2, "0"},
                              {"--devices 999", 1, "EGL device 999 is not there"}};
  for (const Mistake& m : mistakes) {
    const Result r = run_dcgn(std::string("bench pixels ") + m.arguments);
    if (contains(r.err, "this build has no pixels") || contains(r.err, "EGL has no device")) GTEST_SKIP() << r.err;
    EXPECT_EQ(r.code, m.code) << m.arguments << r.err;
    EXPECT_TRUE(contains(r.err, m.said));
    EXPECT_TRUE(dcgn::test::is_one_line(r.err)) << r.err;
  }
}

}  // namespace
