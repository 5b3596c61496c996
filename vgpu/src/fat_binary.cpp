#include "vgpu/src/fat_binary.hpp"

#include <dcgn/error.hpp>

#include <dlfcn.h>
#include <elf.h>

#include <cstring>
#include <string_view>

namespace dcgn::virtual_gpu {

namespace {

// As the driver's loader and cuobjdump read them; numbers are little-endian.
struct FatHeader {
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t bytes;  // behind the header
};
struct EntryHeader {
  std::uint16_t kind, version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;             // behind the header, padding included
  std::uint32_t compressed_bytes;  // of these the compressed content
  std::uint32_t options;           // where, in the head, OptionsHeader is; 0: none
  std::uint16_t minor, major;
  std::uint32_t architecture, name, name_bytes;
  std::uint64_t flags, unknown, uncompressed_bytes;
};
struct OptionsHeader {
  std::uint32_t offset, bytes;  // of the text, in the entry's head
};
static_assert(sizeof(FatHeader) == 16 && sizeof(EntryHeader) == 64 && sizeof(OptionsHeader) == 8);

constexpr std::uint32_t fat_magic = 0xba55ed50;
constexpr std::uint16_t kind_ptx = 1, kind_machine_code = 2;
constexpr std::uint64_t flag_lz4 = 0x2000, flag_zstd = 0x8000;
constexpr std::uint64_t most_gain = 1 << 14;  // more is no size of what was compressed
constexpr std::string_view section_name = ".nv_fatbin";

using Bytes = std::span<const std::byte>;

[[noreturn]] void refuse_file(const std::string& name, std::size_t offset, const std::string& what) {
  throw Error(Code::configuration, "load", name + ": byte " + std::to_string(offset) + ": " + what);
}

// `bytes` of `file` from `offset` on.
Bytes part_of(const std::string& name, Bytes file, std::uint64_t offset, std::uint64_t bytes, const char* what) {
  if (offset > file.size() || bytes > file.size() - offset)
    refuse_file(name, offset,
                std::string(what) + " of " + std::to_string(bytes) + " bytes, expected it within the " +
                    std::to_string(file.size()) + " that there are");
  return file.subspan(offset, bytes);
}

template <class T>
T read_at(const std::string& name, Bytes file, std::uint64_t offset, const char* what) {
  T value;
  std::memcpy(&value, part_of(name, file, offset, sizeof value, what).data(), sizeof value);
  return value;
}

// A function of a library of the system, which programs rarely lack.
template <class Function>
Function* find_in_library(const std::string& name, const char* library, const char* function) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void* const found = handle ? dlsym(handle, function) : nullptr;
  if (!found)
    throw Error(Code::unsupported, "load",
                name + ": its PTX is compressed, expected " + library + " with " + function +
                    " to be there: scripts/install-packages vgpu");
  return reinterpret_cast<Function*>(found);
}

std::string decompress(const std::string& name, std::size_t offset, Bytes packed, std::uint64_t bytes, bool zstd) {
  if (bytes > packed.size() * most_gain)
    refuse_file(name, offset,
                "PTX of " + std::to_string(bytes) + " bytes in " + std::to_string(packed.size()) + ", expected fewer");
  std::string text(bytes, '\0');
  std::uint64_t found = 0;
  if (zstd) {
    static auto* const run = find_in_library<std::size_t(void*, std::size_t, const void*, std::size_t)>(
        name, "libzstd.so.1", "ZSTD_decompress");
    found =
        run(text.data(), text.size(), packed.data(), packed.size());  // no size, but an error, where it is too large
  } else {
    static auto* const run =
        find_in_library<int(const char*, char*, int, int)>(name, "liblz4.so.1", "LZ4_decompress_safe");
    if (bytes <= 0x7fffffff && packed.size() <= 0x7fffffff)
      found = static_cast<std::uint64_t>(run(reinterpret_cast<const char*>(packed.data()), text.data(),
                                             static_cast<int>(packed.size()), static_cast<int>(bytes)));
  }
  if (found != bytes)
    refuse_file(name, offset,
                std::string("PTX that is no ") + (zstd ? "zstd" : "LZ4") + " of " + std::to_string(bytes) + " bytes");
  return text;
}

// It ends with zeros.
std::string text_of(const std::string& name, std::size_t offset, Bytes content, const EntryHeader& header) {
  std::string text;
  if ((header.flags & (flag_lz4 | flag_zstd)) != 0) {
    const Bytes packed = part_of(name, content, 0, header.compressed_bytes, "compressed PTX");
    text = decompress(name, offset, packed, header.uncompressed_bytes, (header.flags & flag_zstd) != 0);
  } else {
    text.assign(reinterpret_cast<const char*>(content.data()), content.size());
  }
  const std::size_t last = text.find_last_not_of('\0');
  text.resize(last == std::string::npos ? 0 : last + 1);
  return text;
}

// Of the entry at `at`, whose head `all` ends with.
std::string options_of(const std::string& name, std::uint64_t at, Bytes all, const EntryHeader& header) {
  if (header.options == 0) return {};
  const auto options = read_at<OptionsHeader>(name, all, at + header.options, "where an entry's options are");
  const Bytes text = part_of(name, all, at + options.offset, options.bytes, "an entry's options");
  return std::string(reinterpret_cast<const char*>(text.data()), text.size());
}

FatBinary read_one(const std::string& name, Bytes all, std::uint64_t begin, std::uint64_t end) {
  FatBinary entries;
  for (std::uint64_t at = begin; at < end;) {
    const auto header = read_at<EntryHeader>(name, all.first(end), at, "an entry's head");
    if (header.header_bytes < sizeof header)
      refuse_file(name, at,
                  "an entry's head of " + std::to_string(header.header_bytes) + " bytes, expected 64 or more");
    FatEntry& entry = entries.emplace_back();
    entry.offset = at;
    entry.architecture = header.architecture;
    part_of(name, all.first(end), at, header.header_bytes, "an entry's head");
    const Bytes content = part_of(name, all.first(end), at + header.header_bytes, header.bytes, "an entry");
    if (header.kind == kind_ptx) {
      entry.kind = FatEntry::Kind::ptx;
      entry.text = text_of(name, at, content, header);
      entry.options = options_of(name, at, all.first(at + header.header_bytes), header);
    } else if (header.kind == kind_machine_code) {
      entry.kind = FatEntry::Kind::machine_code;
    }
    at += header.header_bytes + header.bytes;
  }
  return entries;
}

// One behind the other, with zeros between.
std::vector<FatBinary> read_all(const std::string& name, Bytes all) {
  std::vector<FatBinary> binaries;
  for (std::uint64_t at = 0; at < all.size();) {
    if (all[at] == std::byte{0}) {
      ++at;
      continue;
    }
    const auto header = read_at<FatHeader>(name, all, at, "a fat binary's head");
    if (header.magic != fat_magic) refuse_file(name, at, "no fat binary, expected one there");
    if (header.version != 1 || header.header_bytes < sizeof header)
      refuse_file(name, at, "a fat binary of version " + std::to_string(header.version) + ", expected 1");
    const std::uint64_t begin = at + header.header_bytes;
    part_of(name, all, at, header.header_bytes, "a fat binary's head");
    part_of(name, all, begin, header.bytes, "a fat binary");
    binaries.push_back(read_one(name, all, begin, begin + header.bytes));
    at = begin + header.bytes;
  }
  return binaries;
}

// The section of an ELF file that has them; nothing where there is none.
Bytes section_in(const std::string& name, Bytes file) {
  const auto elf = read_at<Elf64_Ehdr>(name, file, 0, "an ELF file's head");
  if (elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_ident[EI_DATA] != ELFDATA2LSB)
    refuse_file(name, 0, "an ELF file for another kind of machine, expected one of 64 bits, little-endian");
  if (elf.e_shentsize != sizeof(Elf64_Shdr)) return {};
  const auto section = [&](std::uint64_t number) {
    return read_at<Elf64_Shdr>(name, file, elf.e_shoff + number * sizeof(Elf64_Shdr), "a section's head");
  };
  const Elf64_Shdr names = section(elf.e_shstrndx);
  const Bytes text = part_of(name, file, names.sh_offset, names.sh_size, "the names of sections");
  for (std::uint64_t n = 0; n < elf.e_shnum; ++n) {
    const Elf64_Shdr one = section(n);
    if (one.sh_name >= text.size() || text.size() - one.sh_name <= section_name.size()) continue;
    const char* const its_name = reinterpret_cast<const char*>(text.data()) + one.sh_name;
    if (std::string_view(its_name, section_name.size()) == section_name && its_name[section_name.size()] == '\0')
      return part_of(name, file, one.sh_offset, one.sh_size, "the section .nv_fatbin");
  }
  return {};
}

bool begins_with(Bytes file, std::uint32_t magic) {
  std::uint32_t found = 0;
  if (file.size() < sizeof found) return false;
  std::memcpy(&found, file.data(), sizeof found);
  return found == magic;
}

constexpr std::uint32_t elf_magic = 0x464c457f;

}  // namespace

bool has_fat_binaries(Bytes file) { return begins_with(file, fat_magic) || begins_with(file, elf_magic); }

std::vector<FatBinary> read_fat_binaries(const std::string& name, Bytes file) {
  if (begins_with(file, fat_magic)) return read_all(name, file);
  if (begins_with(file, elf_magic)) return read_all(name, section_in(name, file));
  refuse_file(name, 0, "expected an ELF file or a fat binary");
}

bool machine_code_names(const std::string& name, Bytes file, unsigned architecture, std::string_view function) {
  const auto names = [&](std::string_view content) { return content.find(function) != std::string_view::npos; };
  const std::vector<FatBinary> binaries = read_fat_binaries(name, file);
  if (binaries.empty()) return names({reinterpret_cast<const char*>(file.data()), file.size()});
  const Bytes all = begins_with(file, fat_magic) ? file : section_in(name, file);
  for (const FatBinary& binary : binaries)
    for (const FatEntry& entry : binary) {
      if (entry.kind != FatEntry::Kind::machine_code || entry.architecture / 10 != architecture / 10) continue;
      const auto header = read_at<EntryHeader>(name, all, entry.offset, "an entry's head");
      const Bytes content = part_of(name, all, entry.offset + header.header_bytes, header.bytes, "an entry");
      if (names(text_of(name, entry.offset, content, header))) return true;
    }
  return false;
}

const FatEntry* newest_ptx(const FatBinary& binary, unsigned most) {
  const FatEntry* newest = nullptr;
  for (const FatEntry& entry : binary)
    if (entry.kind == FatEntry::Kind::ptx && entry.architecture <= most &&
        (!newest || entry.architecture > newest->architecture))
      newest = &entry;
  return newest;
}

}  // namespace dcgn::virtual_gpu
