#include "vgpu/src/driver/code.hpp"

#include "vgpu/src/cuda/jit_options.hpp"
#include "vgpu/src/driver/real.hpp"

#include <dcgn/error.hpp>

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

namespace dcgn::virtual_gpu::driver {

namespace {

// What nvcc wraps a fat binary in for the runtime.
struct Wrapper {
  std::uint32_t magic, version;
  const void* content;
  const void* more;
};
constexpr std::uint32_t wrapper_magic = 0x466243b1;

// The begin of a fat binary, as fat_binary.cpp reads it: bytes stand behind the header.
struct FatHeader {
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t bytes;
};
constexpr std::uint32_t fat_magic = 0xba55ed50, elf_magic = 0x464c457f;

std::uint32_t magic_at(const void* image) {
  std::uint32_t magic = 0;
  // PTX may be shorter than that, and ends with a zero.
  const auto* const text = static_cast<const char*>(image);
  std::memcpy(&magic, text, strnlen(text, sizeof magic));
  return magic;
}

std::size_t bytes_of(const void* image) {
  switch (magic_at(image)) {
    case elf_magic: {  // machine code, in which nothing of interest stands behind its table of sections
      Elf64_Ehdr header;
      std::memcpy(&header, image, sizeof header);
      return header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize;
    }
    case fat_magic: {
      FatHeader header;
      std::memcpy(&header, image, sizeof header);
      return header.header_bytes + header.bytes;
    }
    default: return std::strlen(static_cast<const char*>(image));
  }
}

// The program's own module, on the first GPU.
class OwnBinary final : public Binary {
 public:
  OwnBinary(void* container, bool is_library) : container_(container), is_library_(is_library) {}

  void launch(std::size_t, int, dcgn::Stream&, const Launch&, bool, const std::vector<const void*>&) override {
    throw Error(dcgn::Code::unsupported, "launch", "the program's own module is launched by the program");
  }
  void* variable(int part, const std::string& name, std::size_t& bytes) const override {
    CUdeviceptr address = 0;
    const CUresult result =
        part != 0 ? CUDA_ERROR_NOT_FOUND
        : is_library_
            ? DCGN_REAL(cuLibraryGetGlobal)(&address, &bytes, static_cast<CUlibrary>(container_), name.c_str())
            : DCGN_REAL(cuModuleGetGlobal_v2)(&address, &bytes, static_cast<CUmodule>(container_), name.c_str());
    return result == CUDA_SUCCESS ? reinterpret_cast<void*>(address) : nullptr;
  }
  std::string why_refused(std::size_t, const Launch&) override { return {}; }
  void* native(std::size_t, int) const override { return nullptr; }

 private:
  void* const container_;
  const bool is_library_;
};

int next_number() {
  static int number = 0;
  return number++;
}

bool has_word(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

}  // namespace

Code::Code(const void* image, bool kept, const AssemblerOptions& options, void* container, bool is_library)
    : number_(next_number()), options_(options), container_(container), is_library_(is_library) {
  if (!image) return;
  if (magic_at(image) == wrapper_magic) {
    Wrapper wrapper;
    std::memcpy(&wrapper, image, sizeof wrapper);
    image = wrapper.content;
  }
  bytes_ = bytes_of(image);
  image_ = static_cast<const std::byte*>(image);
  if (!kept && bytes_ != 0) {
    copy_.assign(image_, image_ + bytes_);
    image_ = copy_.data();
  }
}

Code::~Code() {
  for (const void* constant : constants_) Program::get().drop_constant(constant);
}

// Without text where there is none.
FatEntry Code::ptx(unsigned architecture) const {
  FatEntry none;
  if (bytes_ == 0) return none;
  const std::span content(image_, bytes_);
  if (!has_fat_binaries(content)) {
    none.text.assign(reinterpret_cast<const char*>(image_), bytes_);
    return none;
  }
  const std::string name = "module " + std::to_string(number_);
  for (const FatBinary& binary : read_fat_binaries(name, content))
    if (const FatEntry* const found = newest_ptx(binary, architecture)) return *found;
  return none;
}

// Those of the call come first.
AssemblerOptions Code::options_for(const FatEntry& entry, Report& report) const {
  const StoredOptions stored = read_assembler_options(entry.options);
  for (const std::string& one : stored.lost)
    report.note_remark("the option " + one + " of the fat binary, which was not kept");
  AssemblerOptions all = stored.kept;
  for (const JitOption& option : jit_options)
    if (const AssemblerOptions::Value& value = options_.*option.member) all.*option.member = value;
  return all;
}

const Module* Code::take(Program& program) {
  if (decided_) return module_ ? &*module_ : nullptr;
  decided_ = true;
  Gpu* const gpu = program.gpu();
  if (!gpu) {
    why_left_ = "the program runs on one GPU";
    return nullptr;
  }
  const DeviceProperties& first = gpu->device(0).properties();
  const auto architecture = static_cast<unsigned>(10 * first.compute_major + first.compute_minor);
  may_allocate_ = true;
  try {
    const FatEntry entry = ptx(architecture);
    const std::string& text = entry.text;
    may_allocate_ = text.empty() ? bytes_ == 0 || machine_code_names("module", {image_, bytes_}, architecture, "malloc")
                                 : has_word(text, "malloc");
    if (text.empty())
      why_left_ = "no PTX: its module is compiled for machine code alone";
    else if (has_word(text, ".attribute(.managed)"))
      why_left_ = "its module has managed variables";
    else if (has_word(text, ".texref") || has_word(text, ".surfref"))
      why_left_ = "its module has references to textures or surfaces";
    else
      module_ = gpu->load("module " + std::to_string(number_), text, options_for(entry, program.report()),
                          program.measured().on() ? std::make_unique<OwnBinary>(container_, is_library_) : nullptr);
    text_bytes_ = text.size();
  } catch (const Error& error) {
    why_left_ = error.what();
  }
  // What was read is needed no more.
  copy_ = {};
  bytes_ = 0;
  return module_ ? &*module_ : nullptr;
}

void* Code::variable(Program& program, const char* name, std::size_t bytes) {
  const Module* const module = take(program);
  if (!module) return nullptr;
  const auto places = program.gpu()->variable_at(*module, name);
  if (places.empty()) return nullptr;
  void* const first = places.front().address;
  if (places.size() > 1) {
    program.add_constant(first, *module, name, bytes);
    constants_.push_back(first);
  }
  return first;
}

void Code::note_variable(Program& program, const char* name, void* address, std::size_t bytes) {
  const auto [entry, is_new] = variables_.insert({name, {address, bytes}});
  if (is_new && ready_) add_constant(program, name, entry->second);
}

void Code::add_constant(Program& program, const std::string& name, const OwnVariable& variable) {
  if (program.gpu()->variable_at(*module_, name).size() < 2) return;
  program.add_constant(variable.address, *module_, name, variable.bytes);
  constants_.push_back(variable.address);
}

void Code::make_ready(Program& program) {
  if (ready_ || !take(program) || !why_left_.empty()) return;
  try {
    program.gpu()->load_split(*module_);
    ready_ = true;
  } catch (const Error& error) {
    why_left_ = error.what();
    return;
  }
  for (const auto& [name, variable] : variables_) add_constant(program, name, variable);
}

double Code::price() const { return 1e-3 + 1e-7 * static_cast<double>(bytes_); }
double Code::load_price() const { return 5e-3 + 5e-7 * static_cast<double>(text_bytes_); }

CodeTable& CodeTable::get() {
  static CodeTable& table = *new CodeTable();  // as Program is
  return table;
}

void CodeTable::add_same(void* container, void* of) {
  if (const auto found = codes_.find(of); found != codes_.end()) codes_[container] = found->second;
}

void CodeTable::remove(void* container) {
  const auto found = codes_.find(container);
  if (found == codes_.end()) return;
  const std::shared_ptr<Code> code = found->second;
  std::erase_if(codes_, [&](const auto& entry) { return entry.second == code; });
  std::erase_if(kernels_, [&](const auto& entry) { return entry.second->code == code; });
}

std::shared_ptr<Code> CodeTable::code(void* container) const {
  const auto found = codes_.find(container);
  return found == codes_.end() ? nullptr : found->second;
}

void CodeTable::add_kernel(void* handle, void* container, const char* name) {
  const auto code = codes_.find(container);
  if (code == codes_.end()) return;
  std::shared_ptr<ProgramKernel>& kernel = kernels_[handle];
  if (kernel && kernel->code == code->second && kernel->name == name) return;  // attributes stay
  kernel = std::make_shared<ProgramKernel>(ProgramKernel{code->second, name});
}

void CodeTable::add_same_kernel(void* handle, void* of) {
  if (const auto found = kernels_.find(of); found != kernels_.end()) {
    const std::shared_ptr<ProgramKernel> kernel = found->second;
    kernels_[handle] = kernel;
  }
}

ProgramKernel* CodeTable::kernel(void* handle) const {
  const auto found = kernels_.find(handle);
  return found == kernels_.end() ? nullptr : found->second.get();
}

const Kernel* taken_kernel(Program& program, ProgramKernel& kernel) {
  const Module* const module = kernel.code->take(program);
  if (!module) return nullptr;
  if (!kernel.kernel) kernel.kernel = module->kernel(kernel.name);
  return &*kernel.kernel;
}

CUfunction whole_function(Program& program, ProgramKernel& kernel) {
  if (kernel.whole) return kernel.whole;
  kernel.whole = static_cast<CUfunction>(program.gpu()->whole_function(*taken_kernel(program, kernel)));
  for (const auto& [attribute, value] : kernel.attributes)
    static_cast<void>(DCGN_REAL(cuFuncSetAttribute)(kernel.whole, attribute, value));
  return kernel.whole;
}

}  // namespace dcgn::virtual_gpu::driver
