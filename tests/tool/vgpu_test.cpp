// dcgn vgpu rewrite: its report, its files, its mistakes.
#include "command.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <fstream>
#include <sstream>
#include <string>

using dcgn::test::is_one_line, dcgn::test::Result, dcgn::test::run_dcgn, dcgn::test::scratch_folder;

namespace {

constexpr const char* text = R"(.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 hits = 3;
.visible .entry good(.param .u64 out, .param .u32 n) {
  .reg .b32 %r<3>;
  .reg .b64 %rd<3>;
  mov.u32 %r1, %ctaid.x;
  atom.global.add.u32 %r2, [hits], %r1;
  ret;
}
.visible .entry bad() {
  .reg .b32 %r<3>;
  mov.u32 %r1, %envreg2;
  ret;
}
)";

// Writes the PTX as `name` into the folder in which the command runs.
void write_ptx(const std::string& name, const std::string& content = text) {
  std::ofstream(scratch_folder() + "/" + name) << content;
}

std::string read(const std::string& name) {
  std::ostringstream content;
  content << std::ifstream(scratch_folder() + "/" + name).rdbuf();
  return content.str();
}

}  // namespace

TEST(VgpuRewrite, reports_kernels_and_variables) {
  write_ptx("a.ptx");
  const Result result = run_dcgn("vgpu rewrite a.ptx");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_NE(result.out.find("good       5  split     12 + 24      1     0        1"), std::string::npos) << result.out;
  EXPECT_NE(
      result.out.find("bad cannot be split: grid synchronisation: %envreg2 is the grid's workspace (line 14, in bad: "
                      "mov.u32 %r1, %envreg2;)"),
      std::string::npos)
      << result.out;
  EXPECT_NE(result.out.find("by dcgn_at_hits"), std::string::npos);
}

TEST(VgpuRewrite, writes_the_text_and_a_document) {
  write_ptx("a.ptx");
  const Result result = run_dcgn("vgpu rewrite a.ptx -o b.ptx --mode early-exit --json");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto document = nlohmann::json::parse(result.out);
  EXPECT_EQ(document["mode"], "early-exit");
  EXPECT_EQ(document["kernels"][0]["split"], true);
  EXPECT_EQ(document["kernels"][0]["added_parameters"][0]["offset"], 16);
  EXPECT_EQ(document["kernels"][1]["reasons"][0]["line"], 14);
  EXPECT_EQ(document["variables"][0]["pointer"], "dcgn_at_hits");
  EXPECT_NE(read("b.ptx").find("atom.sys.global.add.u32"), std::string::npos);
  EXPECT_NE(read("b.ptx").find("[dcgn_end_block]"), std::string::npos);
  // What was rewritten is not rewritten again.
  EXPECT_EQ(run_dcgn("vgpu rewrite b.ptx").code, 2);
}

TEST(VgpuRewrite, a_kernel_that_was_asked_for_and_cannot_be_split_fails) {
  write_ptx("a.ptx");
  EXPECT_EQ(run_dcgn("vgpu rewrite a.ptx --kernel bad").code, 1);
  const Result result = run_dcgn("vgpu rewrite a.ptx --kernel good -o good.ptx");
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.out.find("not asked"), std::string::npos);
  EXPECT_NE(result.out.find("n                  8      4          4\ndcgn_first_x      12"), std::string::npos)
      << result.out;
  EXPECT_EQ(result.out.find("cannot be split"), std::string::npos);
}

TEST(VgpuRewrite, mistakes_are_one_line) {
  write_ptx("a.ptx");
  write_ptx("old.ptx", ".version 4.3\n.target sm_50\n");
  write_ptx("broken.ptx", ".version 8.0\n.target sm_80\n.entry k( {\n");
  const auto expect_mistake = [](const std::string& arguments, int code, const std::string& named) {
    const Result result = run_dcgn(arguments);
    EXPECT_EQ(result.code, code) << arguments;
    EXPECT_EQ(result.out, "") << arguments;
    EXPECT_TRUE(is_one_line(result.err)) << result.err;
    EXPECT_NE(result.err.find(named), std::string::npos) << result.err;
  };
  expect_mistake("vgpu", 2, "rewrite");
  expect_mistake("vgpu rewrite", 2, "FILE");
  expect_mistake("vgpu rewrite none.ptx", 3, "none.ptx: No such file");
  expect_mistake("vgpu rewrite .", 3, ".:");
  expect_mistake("vgpu rewrite old.ptx", 2, "old.ptx:1:10: found .version 4.3, expected one from 6.0");
  expect_mistake("vgpu rewrite broken.ptx", 2, "broken.ptx:3:11: found '{', expected .param, .reg or )");
  expect_mistake("vgpu rewrite a.ptx --mode half", 2, "'half'");
  expect_mistake("vgpu rewrite a.ptx --kernel c", 2, "no kernel c, expected one of good, bad");
  expect_mistake("vgpu rewrite a.ptx -o /nonexistent/b.ptx", 3, "/nonexistent/b.ptx");
  expect_mistake("vgpu rewrite a.ptx -o c.txt --json c.txt", 2,
                 "--json c.txt: expected another file than --output c.txt");
}
