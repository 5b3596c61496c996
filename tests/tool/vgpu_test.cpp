// dcgn vgpu rewrite and inspect: their reports, their files, their mistakes.
#include "command.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

using dcgn::test::content_of, dcgn::test::is_one_line, dcgn::test::Result, dcgn::test::run_dcgn,
    dcgn::test::scratch_folder;

namespace {

constexpr const char* ptx_text = R"(.version 8.0
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
void write_ptx(const std::string& name, const std::string& content = ptx_text) {
  std::ofstream(scratch_folder() + "/" + name) << content;
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
  EXPECT_NE(content_of("b.ptx").find("atom.sys.global.add.u32"), std::string::npos);
  EXPECT_NE(content_of("b.ptx").find("[dcgn_end_block]"), std::string::npos);
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

TEST(VgpuRewrite, a_kernel_may_be_named_as_cpp_spells_it) {
  write_ptx("t.ptx",
            ".version 8.0\n.target sm_90\n.address_size 64\n"
            ".visible .entry _Z4fillIfLi2EEvPT_(.param .u64 x)\n{\nret;\n}\n"
            ".visible .entry _Z4fillIsLi3EEvPT_(.param .u64 x)\n{\nret;\n}\n");
  const Result result = run_dcgn("vgpu rewrite t.ptx --kernel 'fill<float, 2>'");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("_Z4fillIfLi2EEvPT_     4  split"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("_Z4fillIsLi3EEvPT_     8  not asked"), std::string::npos) << result.out;
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

namespace {

// A fat binary with one entry: kind 1 is PTX, 2 machine code.
std::string fat_binary(std::uint16_t kind, const std::string& content) {
  struct {
    std::uint32_t magic = 0xba55ed50;
    std::uint16_t version = 1, head = 16;
    std::uint64_t bytes = 0;
  } outer;
  struct {
    std::uint16_t kind = 0, version = 0x101;
    std::uint32_t head = 64;
    std::uint64_t bytes = 0;
    std::uint32_t compressed = 0, options = 0;
    std::uint16_t minor = 0, major = 8;
    std::uint32_t architecture = 80, name = 0, name_bytes = 0;
    std::uint64_t flags = 0x11, unknown = 0, uncompressed = 0;
  } inner;
  inner.kind = kind;
  inner.bytes = content.size();
  outer.bytes = sizeof inner + content.size();
  std::string all(sizeof outer + sizeof inner, '\0');
  std::memcpy(all.data(), &outer, sizeof outer);
  std::memcpy(all.data() + sizeof outer, &inner, sizeof inner);
  return all + content;
}

}  // namespace

TEST(VgpuInspect, says_of_each_kernel_of_a_program_whether_it_could_be_split) {
  write_ptx("two.fatbin", fat_binary(1, ptx_text) + fat_binary(2, "SASS") + fat_binary(1, ".version 99.0"));
  const Result result = run_dcgn("vgpu inspect two.fatbin -o out.ptx --module 0");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("1 of 2 kernels could be split, in 1 modules"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("bad cannot be split: grid synchronisation"), std::string::npos) << result.out;
  EXPECT_EQ(content_of("out.ptx"), ptx_text);
  const Result all = run_dcgn("vgpu inspect two.fatbin --json");
  const auto document = nlohmann::json::parse(all.out);
  ASSERT_EQ(document["modules"].size(), 3U);
  EXPECT_EQ(document["modules"][0]["kernels"][0]["name"], "good");
  EXPECT_EQ(document["modules"][0]["kernels"][0]["split"], true);
  EXPECT_EQ(document["modules"][0]["kernels"][1]["split"], false);
  EXPECT_EQ(document["modules"][1]["why_not"], "no PTX: compiled for machine code alone");
  EXPECT_NE(document["modules"][2]["why_not"].get<std::string>().find("two.fatbin:2:1:"), std::string::npos);
}

TEST(VgpuInspect, mistakes_name_what_was_expected) {
  write_ptx("one.fatbin", fat_binary(2, "SASS"));
  write_ptx("plain.ptx");
  for (const auto& [words, said, code] :
       {std::tuple{"plain.ptx", "plain.ptx: neither an ELF file nor a fat binary, expected a program", 2},
        {"nowhere", "nowhere: No such file or directory: expected a program", 3},
        {"one.fatbin --module 1", "--module 1: one.fatbin has 1 modules", 2},
        {"one.fatbin --module -1", "--module: '-1': expected a whole number from 0", 2},
        {"one.fatbin --module 0 -o x", "-o x: expected --module with the number of one that has PTX", 2},
        {"one.fatbin -o x", "-o x: expected --module with the number of one that has PTX", 2}}) {
    const Result result = run_dcgn(std::string("vgpu inspect ") + words);
    EXPECT_EQ(result.code, code) << words;
    EXPECT_TRUE(is_one_line(result.err)) << result.err;
    EXPECT_NE(result.err.find(said), std::string::npos) << result.err;
  }
}
