// dcgn trace: what it tells, the page, mistakes.
#include "command.hpp"
#include "tests/expect.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <tuple>

using dcgn::test::contains, dcgn::test::content_of, dcgn::test::is_one_line, dcgn::test::Result, dcgn::test::run_dcgn,
    dcgn::test::scratch_folder;

namespace {

// Rank 1 posts its receive at 10 us; rank 0 computes until 70 us, sends 4 KiB, and both meet in a barrier.
constexpr const char* trace_text = R"json({"traceEvents":[
{"ph":"M","name":"thread_name","pid":0,"tid":0,"args":{"rank":0,"process":0,"node":0,"device":-1,"slot":-1,"cpu":0,"dropped":0}},
{"ph":"M","name":"thread_name","pid":0,"tid":1,"args":{"rank":1,"process":0,"node":0,"device":0,"slot":2,"cpu":-1,"dropped":5}},
{"ph":"X","name":"probe","cat":"call","pid":0,"tid":0,"ts":0.000,"dur":1.000,"args":{"peer":-1,"tag":-1}},
{"ph":"X","name":"send","cat":"call","pid":0,"tid":0,"ts":70.000,"dur":5.000,"args":{"peer":1,"tag":7,"bytes":4096}},
{"ph":"X","name":"barrier","cat":"call","pid":0,"tid":0,"ts":80.000,"dur":20.000,"args":{"peer":-1,"tag":-1}},
{"ph":"X","name":"recv","cat":"call","pid":0,"tid":1,"ts":10.000,"dur":70.000,"args":{"peer":0,"tag":7,"bytes":4096}},
{"ph":"X","name":"barrier","cat":"call","pid":0,"tid":1,"ts":90.000,"dur":10.000,"args":{"peer":-1,"tag":-1}}
],"otherData":{"dcgn":1,"program":"two","clock_error_ns":40}}
)json";

void write(const std::string& name, const std::string& content = trace_text) {
  std::ofstream(scratch_folder() + "/" + name) << content;
}

}  // namespace

TEST(Trace, tells_what_happened) {
  write("two.json");
  const Result r = run_dcgn("trace two.json");
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.err, "");
  EXPECT_TRUE(contains(r.out, "two: 2 ranks, 5 calls in 100 us.\n")) << r.out;
  EXPECT_TRUE(contains(r.out, "35 % of the ranks' time was spent waiting: longest in recv on rank 1 (60 us)")) << r.out;
  EXPECT_TRUE(contains(r.out, "5 calls found no room")) << r.out;
  EXPECT_TRUE(contains(r.out, "   1  GPU 0 slot 2      2        5       20 %          20 %     60 %")) << r.out;
  EXPECT_TRUE(contains(r.out, "rank  0      1\n   0  .  4 KiB\n   1  .      .\n")) << r.out;
  EXPECT_TRUE(contains(r.out, "recv        1     0    7  4 KiB  70 us           86 %         0  10 us")) << r.out;
  EXPECT_TRUE(contains(r.out, "computing         0")) << r.out;
}

TEST(Trace, as_a_document) {
  write("two.json");
  const Result r = run_dcgn("trace two.json --json");
  ASSERT_EQ(r.code, 0) << r.err;
  const auto document = nlohmann::json::parse(r.out);
  EXPECT_EQ(document["program"], "two");
  EXPECT_EQ(document["duration_ns"], 100000);
  EXPECT_EQ(document["matched_messages"], 1);
  EXPECT_EQ(document["ranks"][1]["waiting_ns"], 60000);
  EXPECT_EQ(document["ranks"][0]["waiting_ns"], 10000);  // in the barrier
  EXPECT_EQ(document["ranks"][1]["dropped"], 5);
  EXPECT_EQ(document["flows"], nlohmann::json::parse(R"([{"from":0,"to":1,"messages":1,"bytes":4096}])"));
  EXPECT_EQ(document["collectives"][0]["call"], "barrier");
  EXPECT_EQ(document["slowest_calls"][0]["for_rank"], 0);
  std::uint64_t path = 0;
  for (const auto& part : document["critical_path"]) path += part["ns"].get<std::uint64_t>();
  EXPECT_EQ(path, 100000U);
}

TEST(Trace, as_a_page) {
  write("two.json");
  const Result r = run_dcgn("trace two.json -o two.html --json two_told.json");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(contains(r.out, "two.html: a page")) << r.out;
  const std::string page = content_of("two.html");
  EXPECT_TRUE(contains(page, "<!DOCTYPE html>") && contains(page, "GPU 0 slot 2") && contains(page, "</html>"));
  EXPECT_EQ(nlohmann::json::parse(content_of("two_told.json"))["file"], "two.json");
}

TEST(Trace, mistakes_name_what_was_expected) {
  write("two.json");
  write("half.json", std::string(trace_text).substr(0, 450));
  write("other.json", "{\"traceEvents\":[]}");
  for (const auto& [words, said, code] :
       {std::tuple{"", "FILE is required", 2},
        {"nowhere.json", "nowhere.json: No such file or directory: expected a trace", 3},
        {".", ".: Is a directory", 3},
        {"half.json", "half.json:5: the file ends: expected", 2},
        {"other.json", "other.json:1: expected a trace of Decagon's", 2},
        {"two.json -o two.png", "'two.png': expected a name that ends in .html", 2},
        {"two.json -o /nonexistent/x.html", "/nonexistent/x.html", 3},
        {"two.json --json two.json", "--json two.json: expected another file than FILE two.json", 2},
        {"two.json -o a.html --json ./a.html", "--json ./a.html: expected another file than --output a.html", 2},
        {"two.json --nonsense", "--nonsense", 2}}) {
    const Result result = run_dcgn(std::string("trace ") + words);
    EXPECT_EQ(result.code, code) << words;
    EXPECT_TRUE(is_one_line(result.err)) << result.err;
    EXPECT_TRUE(contains(result.err, said)) << result.err;
    EXPECT_EQ(result.out, "");
  }
}
