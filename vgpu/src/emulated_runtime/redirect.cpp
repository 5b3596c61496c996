// A runtime that is linked into the program: its functions become jumps to those of this library, before anything of
// the program runs. Where they are, the file's symbols say.
#include "vgpu/src/emulated_runtime/runtime.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dcgn::virtual_gpu::emulated_runtime {

namespace {

constexpr int exit_unsupported = 2;  // as `dcgn` itself has it

// jmp *(%rip), and where to behind it.
constexpr unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0};
constexpr std::size_t jump_bytes = sizeof jump + sizeof(std::uintptr_t);

class File {
 public:
  explicit File(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat its {};
    if (file < 0) return;
    if (fstat(file, &its) == 0 && its.st_size > 0) {
      bytes_ = static_cast<std::size_t>(its.st_size);
      void* const memory = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
      if (memory != MAP_FAILED) begin_ = static_cast<const char*>(memory);
    }
    close(file);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (begin_) munmap(const_cast<char*>(begin_), bytes_);
  }

  // Null where the file has not so many.
  template <class T>
  const T* at(std::uint64_t offset, std::uint64_t count = 1) const {
    if (!begin_ || offset > bytes_ || count > (bytes_ - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(begin_ + offset);
  }

 private:
  const char* begin_ = nullptr;
  std::size_t bytes_ = 0;
};

struct Symbol {
  std::string_view name;
  std::uint64_t value, bytes;
  bool defined;
};

// What of an ELF file matters here; empty of any other.
struct Contents {
  std::vector<Symbol> symbols, dynamic;
  bool has_symbols = false, has_kernels = false;
};

void read_symbols(std::vector<Symbol>& all, const File& file, const Elf64_Shdr& table, const Elf64_Shdr& names) {
  const std::uint64_t count = table.sh_size / sizeof(Elf64_Sym);
  const auto* const symbols = file.at<Elf64_Sym>(table.sh_offset, count);
  const char* const text = file.at<char>(names.sh_offset, names.sh_size);
  if (!symbols || !text || names.sh_size == 0 || text[names.sh_size - 1] != '\0') return;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Elf64_Sym& one = symbols[i];
    if (one.st_name >= names.sh_size) continue;
    const std::string_view name(text + one.st_name);
    if (name.substr(0, 4) != "cuda" && name.substr(0, 6) != "__cuda") continue;
    all.push_back(
        {name, one.st_value, one.st_size, one.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(one.st_info) == STT_FUNC});
  }
}

Contents read(const File& file) {
  Contents all;
  const auto* const head = file.at<Elf64_Ehdr>(0);
  if (!head || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64) return all;
  const auto* const sections = file.at<Elf64_Shdr>(head->e_shoff, head->e_shnum);
  if (!sections || head->e_shstrndx >= head->e_shnum) return all;
  for (unsigned i = 0; i < head->e_shnum; ++i) {
    const Elf64_Shdr& section = sections[i];
    const char* const name = file.at<char>(sections[head->e_shstrndx].sh_offset + section.sh_name, 11);
    if (name && std::memcmp(name, ".nv_fatbin", 11) == 0) all.has_kernels = true;
    if ((section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) || section.sh_link >= head->e_shnum) continue;
    const bool whole = section.sh_type == SHT_SYMTAB;
    all.has_symbols = all.has_symbols || whole;
    read_symbols(whole ? all.symbols : all.dynamic, file, section, sections[section.sh_link]);
  }
  return all;
}

const void* own_base() {
  static const void* const base = [] {
    Dl_info own{};
    return dladdr(reinterpret_cast<const void*>(&own_base), &own) ? own.dli_fbase : nullptr;
  }();
  return base;
}

void* own_library() {
  static void* const library = [] {
    Dl_info own{};
    return dladdr(reinterpret_cast<const void*>(&own_base), &own) ? dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                                                                  : nullptr;
  }();
  return library;
}

// This library's function of that name; null where it has none.
void* own_function(std::string_view name) {
  void* const found = own_library() ? dlsym(own_library(), std::string(name).c_str()) : nullptr;
  Dl_info its{};
  return found && dladdr(found, &its) && its.dli_fbase == own_base() ? found : nullptr;
}

[[noreturn]] void refuse(const char* path, const char* what) {
  std::fprintf(stderr, "dcgn: vgpu: %s: %s\n", path, what);
  _exit(exit_unsupported);
}

void write_jumps(const char* path, std::uintptr_t base, const std::vector<Symbol>& symbols) {
  std::vector<std::pair<std::uintptr_t, void*>> jumps;
  for (const Symbol& symbol : symbols)
    if (void* const ours = symbol.defined && symbol.bytes >= jump_bytes ? own_function(symbol.name) : nullptr)
      jumps.emplace_back(base + symbol.value, ours);
  if (jumps.empty()) return;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto [least, most] = std::minmax_element(jumps.begin(), jumps.end());
  const std::uintptr_t begin = least->first / page * page, end = most->first + jump_bytes;
  void* const pages = reinterpret_cast<void*>(begin);
  if (mprotect(pages, end - begin, PROT_READ | PROT_WRITE) != 0)
    refuse(path,
           "its code cannot be written, which stands in the way of another CUDA runtime: link it with -cudart shared");
  for (const auto& [at, ours] : jumps) {
    std::memcpy(reinterpret_cast<void*>(at), jump, sizeof jump);
    std::memcpy(reinterpret_cast<void*>(at + sizeof jump), &ours, sizeof ours);
  }
  if (mprotect(pages, end - begin, PROT_READ | PROT_EXEC) != 0) refuse(path, "its code cannot be run any more");
}

bool has(const std::vector<Symbol>& symbols, bool defined, std::string_view name = "__cudaRegisterFatBinary") {
  return std::any_of(symbols.begin(), symbols.end(),
                     [&](const Symbol& one) { return one.defined == defined && one.name == name; });
}

// What a program of this version needs is this library: see CMakeLists.txt.
bool is_other_runtime(std::string_view path) {
  if (const std::size_t slash = path.rfind('/'); slash != std::string_view::npos) path.remove_prefix(slash + 1);
  return path.substr(0, 13) == "libcudart.so.";
}

int look_at(dl_phdr_info* object, std::size_t, void* first) {
  // The first is the program itself.
  const bool program = std::exchange(*static_cast<bool*>(first), false);
  const char* const path = program ? "/proc/self/exe" : object->dlpi_name;
  if (!path || !*path || reinterpret_cast<const void*>(object->dlpi_addr) == own_base()) return 0;
  if (is_other_runtime(path)) refuse(path, "another version of CUDA's runtime, expected that of CUDA 13");
  const File file(path);
  const Contents contents = read(file);
  if (has(contents.symbols, true)) {
    if (has(contents.symbols, true, "cudaGetDeviceProperties_v2"))  // which versions before have alone
      refuse(path, "it has CUDA 12's runtime linked in, expected that of CUDA 13");
    write_jumps(path, object->dlpi_addr, contents.symbols);
  } else if (program && contents.has_kernels && !contents.has_symbols && !has(contents.dynamic, false)) {
    char name[4096];
    const ssize_t bytes = readlink(path, name, sizeof name - 1);
    name[bytes < 0 ? 0 : bytes] = '\0';
    refuse(name, "it has CUDA's runtime linked in and no symbols: link it with -cudart shared, or do not strip it");
  }
  return 0;
}

__attribute__((constructor)) void redirect() {
  if (!own_base()) return;
  bool first = true;
  dl_iterate_phdr(&look_at, &first);
}

}  // namespace

}  // namespace dcgn::virtual_gpu::emulated_runtime
