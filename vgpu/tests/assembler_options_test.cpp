// Options of the assembler as nvcc stores them.
#include "vgpu/src/assembler_options.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace dcgn::virtual_gpu;

namespace {

AssemblerOptions kept(const char* text) { return read_assembler_options(text).kept; }
std::vector<std::string> lost(const char* text) { return read_assembler_options(text).lost; }

}  // namespace

TEST(AssemblerOptions, are_kept_where_the_driver_has_an_equal) {
  EXPECT_EQ(kept(""), AssemblerOptions());
  EXPECT_EQ(kept(" -maxrregcount=64 "), AssemblerOptions{.max_registers = 64});
  EXPECT_EQ(kept("--maxrregcount 32"), AssemblerOptions{.max_registers = 32});
  EXPECT_EQ(kept("-O1  "), AssemblerOptions{.optimization_level = 1});
  EXPECT_EQ(kept("-dlcm=cg -v  "), AssemblerOptions{.cache_mode = 1});
  EXPECT_EQ(kept("--def-load-cache ca"), AssemblerOptions{.cache_mode = 2});
  // The last one holds, as with ptxas.
  const char* const several = "-O1 --warn-on-spills --opt-level=2  -maxrregcount=64 ";
  EXPECT_EQ(kept(several), (AssemblerOptions{.max_registers = 64, .optimization_level = 2}));
  // Of nvcc -G, -lineinfo, -fmad=false and -rdc=true.
  EXPECT_EQ(kept(" -g --dont-merge-basicblocks --return-at-end "), AssemblerOptions{.optimization_level = 0});
  for (const char* text : {several, " -g --dont-merge-basicblocks --return-at-end ", " --generate-line-info ",
                           " --fmad false ", "--compile-only  ", "-v -Werror --suppress-stack-size-warning -m 64"})
    EXPECT_EQ(lost(text), std::vector<std::string>()) << text;
}

TEST(AssemblerOptions, others_are_named) {
  EXPECT_EQ(lost("-dscm=wt -O1 -fmad=false --fmad true -x"),
            (std::vector<std::string>{"-dscm=wt", "-fmad=false", "--fmad true", "-x"}));
  EXPECT_EQ(lost("-maxrregcount=archmax -O9 --maxrregcount -dlcm=cs word"),
            (std::vector<std::string>{"-maxrregcount=archmax", "-O9", "--maxrregcount", "-dlcm=cs", "word"}));
  EXPECT_EQ(lost("word - -- =1"), (std::vector<std::string>{"word", "-", "-- =1"}));
}
