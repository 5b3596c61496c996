// PTX in the programs and libraries that nvcc makes: an ELF file has fat binaries in a section of its own, and these
// have machine code and PTX for several architectures, compressed or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::virtual_gpu {

// One entry of a fat binary.
struct FatEntry {
  enum class Kind { ptx, machine_code, other };

  Kind kind = Kind::other;
  unsigned architecture = 0;  // 90: of compute_90, sm_90a
  std::size_t offset = 0;     // in the fat binaries that were looked at
  std::string text;           // of PTX, whole
  std::string options;        // for the assembler of that PTX, as ptxas takes them; mostly none
};

// A module of the program: what one source file, or one device link, became.
using FatBinary = std::vector<FatEntry>;

// Whether these are such bytes rather than PTX: an ELF file, or a fat binary by itself.
bool has_fat_binaries(std::span<const std::byte> file);

// All of an ELF file for 64-bit little-endian machines, or those that `file` is, in their order. None where a program
// has none. zstd and LZ4, by which PTX is compressed, are loaded at run time. Throws Error(configuration) that names
// `name`, the offset and what was expected, for what is damaged; Error(unsupported) where there is no library to
// decompress.
std::vector<FatBinary> read_fat_binaries(const std::string& name, std::span<const std::byte> file);

// Whether machine code in there that a device of this architecture may run names this function. Machine code by itself
// is an ELF file, too. Throws as read_fat_binaries() does.
bool machine_code_names(const std::string& name, std::span<const std::byte> file, unsigned architecture,
                        std::string_view function);

// The PTX for the newest architecture up to `most`, which a device of that architecture can run; null where there is
// none.
const FatEntry* newest_ptx(const FatBinary& binary, unsigned most = ~0u);

}  // namespace dcgn::virtual_gpu
