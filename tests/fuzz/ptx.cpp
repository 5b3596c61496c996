// PTX, parsed and rewritten. What is written parses, has the same kernels and variables, and is not changed
// again.
#include "fuzz.hpp"

#include "vgpu/src/ptx/parser.hpp"
#include "vgpu/src/ptx/rewrite.hpp"

using namespace dcgn;
using namespace dcgn::virtual_gpu;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  ptx::Options options;  // one way for each input, so that the fuzzer sees it again
  switch (size % 4) {
    case 0: break;
    case 1: options.mode = ptx::Mode::early_exit; break;
    case 2: options.count_touches = true; break;
    default: options.whole = true; break;
  }
  ptx::Rewritten rewritten;
  std::size_t functions = 0;
  if (!fuzz::is_taken([&] {
        const ptx::Module module = ptx::parse("in.ptx", text);
        functions = module.functions.size();
        rewritten = ptx::rewrite(module, options);
      }))
    return 0;
  ptx::Module again;
  if (!fuzz::is_taken([&] { again = ptx::parse("out.ptx", rewritten.text); })) {
    std::fputs(rewritten.text.c_str(), stderr);
    fuzz::require(false, "what is written parses");
  }
  fuzz::require(again.functions.size() >= functions, "all functions are there");
  for (const ptx::KernelReport& kernel : rewritten.kernels) {
    const ptx::Function* const found = again.find_function(kernel.name);
    fuzz::require(found && found->entry, "all kernels are there");
    if (kernel.split() && !options.whole)
      fuzz::require(found->parameters.size() == kernel.parameters.size() + kernel.added.size(),
                    "a split kernel has the parameters that it is said to have");
  }
  // What only has wider atomics shows no sign of it, and stays as it is.
  ptx::Rewritten twice;
  if (fuzz::is_taken([&] { twice = ptx::rewrite(again, options); }))
    fuzz::require(twice.text == rewritten.text, "what is rewritten is not rewritten again");
  return 0;
}
