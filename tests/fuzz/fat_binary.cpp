// Fat binaries, by themselves or in an ELF file, and the PTX in them.
#include "fuzz.hpp"

#include "vgpu/src/fat_binary.hpp"

#include <span>

using namespace dcgn;
using namespace dcgn::virtual_gpu;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> file(reinterpret_cast<const std::byte*>(data), size);
  std::vector<FatBinary> binaries;
  const bool is_one = has_fat_binaries(file);
  if (!fuzz::is_taken([&] { binaries = read_fat_binaries("in", file); })) return 0;
  fuzz::require(is_one, "what is read is known by its first bytes");
  for (const FatBinary& binary : binaries) {
    for (const FatEntry& entry : binary) fuzz::require(entry.offset < size, "entries are in the file");
    if (const FatEntry* const newest = newest_ptx(binary, 90))
      fuzz::require(newest->kind == FatEntry::Kind::ptx && newest->architecture <= 90,
                    "the newest is one that can run");
  }
  return 0;
}
