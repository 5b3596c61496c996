// PTX found in fat binaries and in programs.
#include "vgpu/src/fat_binary.hpp"

#include "corpus.hpp"
#include "vgpu/src/ptx/parser.hpp"

#include <gtest/gtest.h>

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

using dcgn::test::corpus_text, dcgn::test::error_of;
using namespace dcgn::virtual_gpu;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::vector<FatBinary> read(const std::string& file) { return read_fat_binaries("x", bytes_of(file)); }

template <class T>
std::string as_bytes(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

// An ELF file with this section and no other but that of names.
std::string program_with(const std::string& name, const std::string& content) {
  const std::string names = std::string(1, '\0') + ".shstrtab" + '\0' + name + '\0';
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  head.e_shentsize = sizeof(Elf64_Shdr);
  head.e_shnum = 3;
  head.e_shstrndx = 1;
  head.e_shoff = sizeof head + names.size() + content.size();
  Elf64_Shdr nothing{}, of_names{}, of_content{};
  of_names.sh_name = 1;
  of_names.sh_offset = sizeof head;
  of_names.sh_size = names.size();
  of_content.sh_name = 11;
  of_content.sh_offset = sizeof head + names.size();
  of_content.sh_size = content.size();
  return as_bytes(head) + names + content + as_bytes(nothing) + as_bytes(of_names) + as_bytes(of_content);
}

}  // namespace

TEST(FatBinary, has_ptx_for_each_architecture_however_it_is_compressed) {
  for (const char* file : {"histogram.none.fatbin", "histogram.balance.fatbin", "histogram.speed.fatbin"}) {
    SCOPED_TRACE(file);
    const std::vector<FatBinary> found = read(corpus_text(file));
    ASSERT_EQ(found.size(), 1U);
    ASSERT_EQ(found[0].size(), 2U);
    EXPECT_EQ(newest_ptx(found[0])->architecture, 90U);
    EXPECT_EQ(newest_ptx(found[0], 89)->architecture, 80U);
    EXPECT_EQ(newest_ptx(found[0], 75), nullptr);
    // All kernels of the source, to the end.
    for (const FatEntry& entry : found[0]) {
      const ptx::Module module = ptx::parse("x", entry.text);
      EXPECT_EQ(module.targets.front(), "sm_" + std::to_string(entry.architecture));
      for (const char* kernel : {"histogram", "largest", "multiply_all", "work_queue"})
        EXPECT_NE(module.find_function(kernel), nullptr) << kernel;
    }
  }
  EXPECT_EQ(read(corpus_text("histogram.none.fatbin"))[0][0].text,
            read(corpus_text("histogram.balance.fatbin"))[0][0].text);
  EXPECT_EQ(read(corpus_text("histogram.none.fatbin"))[0][1].text,
            read(corpus_text("histogram.speed.fatbin"))[0][1].text);
}

TEST(FatBinary, has_the_assembler_s_options) {
  const std::vector<FatBinary> with = read(corpus_text("vector_add.options.fatbin"));
  for (const FatEntry& entry : with.at(0)) {
    EXPECT_EQ(entry.options, "-O1 -dscm=wt  -maxrregcount=64 ");
    EXPECT_NE(ptx::parse("x", entry.text).find_function("vector_add"), nullptr);
  }
  const std::vector<FatBinary> without = read(corpus_text("histogram.balance.fatbin"));
  for (const FatEntry& entry : without.at(0)) EXPECT_EQ(entry.options, "");
}

TEST(FatBinary, is_found_in_programs) {
  const std::string one = corpus_text("histogram.none.fatbin"), other = corpus_text("histogram.balance.fatbin");
  const std::string program = program_with(".nv_fatbin", one + std::string(24, '\0') + other + std::string(8, '\0'));
  EXPECT_TRUE(has_fat_binaries(bytes_of(program)));
  const std::vector<FatBinary> found = read(program);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1][1].text, found[0][1].text);
  EXPECT_TRUE(read(program_with(".text", one)).empty());
  EXPECT_TRUE(read(program_with(".nv_fatbin2", one)).empty());
  EXPECT_FALSE(has_fat_binaries(bytes_of(corpus_text("histogram.ptx"))));
}

// Here its content is PTX, which is called machine code.
TEST(FatBinary, has_machine_code_that_names_functions) {
  for (const char* file : {"histogram.none.fatbin", "histogram.balance.fatbin", "histogram.speed.fatbin"}) {
    std::string code = corpus_text(file);
    const std::vector<FatBinary> found = read(code);
    for (const FatEntry& entry : found.at(0)) code[entry.offset] = 2;
    const auto names = [&](unsigned architecture, const char* function) {
      return machine_code_names("x", bytes_of(code), architecture, function);
    };
    EXPECT_TRUE(names(90, "work_queue")) << file;
    EXPECT_TRUE(names(86, "work_queue")) << file;
    EXPECT_FALSE(names(75, "work_queue")) << file;
    EXPECT_FALSE(names(90, "malloc")) << file;
    EXPECT_FALSE(machine_code_names("x", bytes_of(corpus_text(file)), 90, "work_queue")) << file;
  }
  EXPECT_TRUE(machine_code_names("x", bytes_of(program_with(".strtab", "one malloc")), 90, "malloc"));
}

TEST(FatBinary, damage_is_named) {
  const std::string good = corpus_text("histogram.balance.fatbin");
  EXPECT_EQ(error_of([&] { read(good.substr(0, good.size() - 1)); }),
            "dcgn: load: x: byte 16: a fat binary of " + std::to_string(good.size() - 16) +
                " bytes, expected it within the " + std::to_string(good.size() - 1) + " that there are");
  EXPECT_EQ(error_of([&] { read(good + "x"); }).find("a fat binary's head of 16 bytes, expected it within"),
            std::string("dcgn: load: x: byte : ").size() + std::to_string(good.size()).size());
  EXPECT_EQ(error_of([&] { read(good + std::string(16, 'x')); }),
            "dcgn: load: x: byte " + std::to_string(good.size()) + ": no fat binary, expected one there");
  std::string other = good;
  other[16 + 80 + 9] ^= 1;  // in what zstd made
  EXPECT_NE(error_of([&] { read(other); }).find("PTX that is no zstd of "), std::string::npos);
  other = corpus_text("vector_add.options.fatbin");
  const std::size_t its_options = 16 + static_cast<unsigned char>(other[16 + 20]);
  other[its_options + 5] = 1;  // 256 bytes more
  EXPECT_NE(error_of([&] { read(other); }).find("an entry's options of 287 bytes"), std::string::npos);
  EXPECT_EQ(error_of([&] { read("text"); }), "dcgn: load: x: byte 0: expected an ELF file or a fat binary");
}

TEST(FatBinary, survives_damage) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string good =
      program_with(".nv_fatbin", corpus_text("histogram.balance.fatbin") + corpus_text("vector_add.options.fatbin") +
                                     corpus_text("histogram.speed.fatbin"));
  for (int round = 0; round < 3000; ++round) {
    std::string bad = good;
    for (int changes = 1 + static_cast<int>(random() % 3); changes-- > 0;)
      bad[random() % bad.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bad.resize(random() % bad.size());
    try {
      read_fat_binaries("x", bytes_of(bad));
    } catch (const dcgn::Error&) {  // what is not noticed is as good
    }
  }
}
