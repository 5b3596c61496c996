// The driver's calls about code: modules, libraries and their kernels.
#include "vgpu/src/emulated_driver/driver.hpp"
#include "vgpu/src/fat_binary.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string_view>

using namespace dcgn::virtual_gpu::emulated;
using dcgn::virtual_gpu::FatEntry;

namespace dcgn::virtual_gpu::emulated {

struct Library {
  FatEntry entry;
  unsigned registers = 0;
  std::array<std::unique_ptr<Module>, most_devices> modules;
  std::map<std::string, std::unique_ptr<Function>> kernels;
};

namespace {

constexpr unsigned architecture = 90;

// 80, of `.target sm_80`: libraries of templates choose by it among what they were compiled for.
int target_of(const std::string& text) {
  constexpr std::string_view target = ".target sm_";
  const std::size_t found = text.find(target);
  return found == std::string::npos ? static_cast<int>(architecture) : std::atoi(text.c_str() + found + target.size());
}

// Of what cuModuleLoadData() takes, with the options that are there beside it.
FatEntry ptx_of(const void* image) {
  FatEntry entry;
  std::uint32_t words[4];
  std::memcpy(words, image, sizeof words);  // no image is shorter
  if (words[0] == 0x466243b1) return ptx_of(reinterpret_cast<const void*>(words[2] | std::uint64_t{words[3]} << 32));
  if (words[0] == 0x464c457f) return entry;  // machine code
  if (words[0] != 0xba55ed50) return entry.text = static_cast<const char*>(image), entry;
  const std::span content(static_cast<const std::byte*>(image), (words[1] >> 16) + words[2]);
  const auto found = read_fat_binaries("an image", content);
  const FatEntry* const ptx = found.empty() ? nullptr : newest_ptx(found.front(), architecture);
  return ptx ? *ptx : entry;
}

// The names of what the text declares at these words, `.global .align 4 .u32 name[4] = ...`.
std::vector<std::string> variables_of(const std::string& text) {
  std::vector<std::string> names;
  const auto is_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; };
  for (const std::string_view space : {".global", ".const"})
    for (std::size_t at = text.find(space); at != std::string::npos; at = text.find(space, at + 1)) {
      const char before = at == 0 ? '\n' : text[at - 1];
      if (!std::isspace(static_cast<unsigned char>(before))) continue;  // of an instruction
      for (std::size_t i = at + space.size(); i < text.size();) {
        const char c = text[i];
        if (c == '(') {
          i = text.find(')', i);
        } else if (c == '.' || std::isdigit(static_cast<unsigned char>(c))) {
          while (i < text.size() && (is_name(text[i]) || text[i] == '.')) ++i;
        } else if (is_name(c)) {
          const std::size_t first = i;
          while (i < text.size() && is_name(text[i])) ++i;
          names.push_back(text.substr(first, i - first));
          break;
        } else if (std::isspace(static_cast<unsigned char>(c)) || c == ')') {
          ++i;
        } else {
          break;
        }
      }
    }
  return names;
}

unsigned registers_unasked() {
  const char* const text = std::getenv("DCGN_TEST_EMULATED_REGISTERS");  // for tests
  return text ? static_cast<unsigned>(std::atoi(text)) : 32;
}

Clock::duration block_time_of(const std::string& text) {
  if (!simulates_time()) return {};
  const bool is_split = text.find("dcgn_first_") != std::string::npos;
  const char* const us = std::getenv(is_split ? "DCGN_TEST_EMULATED_SPLIT_US" : "DCGN_TEST_EMULATED_US");
  return std::chrono::microseconds(us ? std::atoi(us) : 0);
}

// Those of the call, which come first, and of the fat binary. 0: neither says.
unsigned registers_of(const FatEntry& entry, unsigned count, CUjit_option* options, void** values) {
  unsigned registers = 0;
  constexpr std::string_view most = "-maxrregcount=";
  if (const std::size_t found = entry.options.find(most); found != std::string::npos)
    registers = static_cast<unsigned>(std::strtoul(entry.options.c_str() + found + most.size(), nullptr, 10));
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_MAX_REGISTERS)
      registers = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(values[i]));
    if (options[i] == CU_JIT_THREADS_PER_BLOCK) values[i] = nullptr;  // what came of it
  }
  return registers;
}

void count_options(int device, unsigned count, const CUjit_option* options, void* const* values) {
  std::string all;
  for (unsigned i = 0; i < count; ++i)
    if (options[i] != CU_JIT_ERROR_LOG_BUFFER && options[i] != CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
      all += " " + std::to_string(options[i]) + "=" +
             std::to_string(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(values[i])));
  if (!all.empty()) emulated::count("loaded on " + std::to_string(device) + " with" + all);
}

CUresult load(std::unique_ptr<Module>& module, int device, const FatEntry& entry, unsigned registers) {
  if (entry.text.empty()) {
    complain(device,
             "a module without PTX of compute capability 9.0 or less, expected it: compile with -gencode "
             "arch=compute_90,code=compute_90, and without -rdc=true");
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  auto made = std::make_unique<Module>();
  made->device = device;
  made->registers = registers ? registers : registers_unasked();
  made->architecture = target_of(entry.text);
  made->block_time = block_time_of(entry.text);
  try {
    made->code = std::make_unique<interpreter::Code>("module", entry.text);
  } catch (const Error& error) {
    complain(device, error.what());
    return error.code() == Code::unsupported ? CUDA_ERROR_UNSUPPORTED_PTX_VERSION : CUDA_ERROR_INVALID_PTX;
  }
  const auto& kernels = made->code->kernels();
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    auto function = std::make_unique<Function>();
    function->module = made.get();
    function->name = kernels[i].name;
    function->kernel = i;
    made->functions[function->name] = std::move(function);
  }
  for (const std::string& name : variables_of(entry.text)) {
    std::size_t bytes = 0;
    const std::byte* const address = made->code->variable(name, bytes);
    if (!address || bytes == 0) continue;
    Piece piece;
    piece.bytes = bytes;
    piece.owner = device;
    piece.reach = {device};  // no peer reaches a module's variables
    piece.kind = Piece::Kind::variable;
    made->variables.push_back(reinterpret_cast<std::uintptr_t>(address));
    const std::lock_guard guard(state().memory_mutex);
    state().memory[made->variables.back()] = std::move(piece);
  }
  return module = std::move(made), CUDA_SUCCESS;
}

// Of a library on a device, which is made when it is needed first.
Module* module_on(Library& library, int device, CUresult& result) {
  std::unique_ptr<Module>& module = library.modules[static_cast<std::size_t>(device)];
  result = module ? CUDA_SUCCESS : load(module, device, library.entry, library.registers);
  if (module) module->library = &library;
  return module.get();
}

void unload(Module& module) {
  const std::lock_guard guard(state().memory_mutex);
  for (const std::uintptr_t address : module.variables) state().memory.erase(address);
}

std::mutex& library_mutex() {
  static auto& mutex = *new std::mutex();
  return mutex;
}

}  // namespace

Function* resolve(CUfunction handle, CUresult& result) {
  result = CUDA_ERROR_INVALID_HANDLE;
  if (!handle || !current()) return nullptr;
  Function* its = &function_of(handle);
  if (its->library) {
    const std::lock_guard guard(library_mutex());
    Module* const module = module_on(*its->library, current()->device, result);
    if (!module) return nullptr;
    Function* const here = module->functions.at(its->name).get();
    if (its->dynamic_shared > here->dynamic_shared) here->dynamic_shared = its->dynamic_shared.load();
    its = here;
  }
  if (its->module->device != current()->device) return result = CUDA_ERROR_INVALID_HANDLE, nullptr;
  return result = CUDA_SUCCESS, its;
}

}  // namespace dcgn::virtual_gpu::emulated

namespace {

Library& library_of(CUlibrary library) { return *reinterpret_cast<Library*>(library); }
int here() { return current() ? current()->device : 0; }

CUresult variable_of(const Module& module, CUdeviceptr* address, std::size_t* bytes, const char* name) {
  std::size_t its_bytes = 0;
  const std::byte* const its = module.code->variable(name, its_bytes);
  if (!its) return CUDA_ERROR_NOT_FOUND;
  if (address) *address = reinterpret_cast<CUdeviceptr>(its);
  if (bytes) *bytes = its_bytes;
  return CUDA_SUCCESS;
}

std::string content_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's names
extern "C" {

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options, void** values) {
  if (!current()) return CUDA_ERROR_INVALID_CONTEXT;
  std::unique_ptr<Module> made;
  try {
    const FatEntry entry = ptx_of(image);
    count_options(current()->device, count, options, values);
    const unsigned registers = registers_of(entry, count, options, values);
    const CUresult result = load(made, current()->device, entry, registers);
    if (result != CUDA_SUCCESS) return result;
  } catch (const dcgn::Error& error) {
    return complain(-1, error.what()), CUDA_ERROR_INVALID_IMAGE;
  }
  return *module = reinterpret_cast<CUmodule>(made.release()), CUDA_SUCCESS;
}
CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}
CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) { return cuModuleLoadData(module, image); }
CUresult cuModuleLoad(CUmodule* module, const char* path) {
  const std::string content = content_of(path);
  return content.size() < 16 ? CUDA_ERROR_FILE_NOT_FOUND : cuModuleLoadData(module, content.c_str());
}
// Its code stays: work of it may be under way.
CUresult cuModuleUnload(CUmodule module) {
  unload(*reinterpret_cast<Module*>(module));
  return CUDA_SUCCESS;
}
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) { return *mode = CU_MODULE_LAZY_LOADING, CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  const auto& all = reinterpret_cast<Module*>(module)->functions;
  const auto found = all.find(name);
  if (found == all.end()) return CUDA_ERROR_NOT_FOUND;
  return *function = reinterpret_cast<CUfunction>(found->second.get()), CUDA_SUCCESS;
}
CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule module) {
  return *count = static_cast<unsigned>(reinterpret_cast<Module*>(module)->functions.size()), CUDA_SUCCESS;
}
CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule module) {
  unsigned i = 0;
  for (const auto& [name, function] : reinterpret_cast<Module*>(module)->functions)
    if (i < count) functions[i++] = reinterpret_cast<CUfunction>(function.get());
  return CUDA_SUCCESS;
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  return variable_of(*reinterpret_cast<Module*>(module), address, bytes, name);
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option* jit, void** jit_values, unsigned jits,
                           CUlibraryOption*, void**, unsigned) {
  auto made = std::make_unique<Library>();
  try {
    made->entry = ptx_of(image);
  } catch (const dcgn::Error& error) {
    return complain(-1, error.what()), CUDA_ERROR_INVALID_IMAGE;
  }
  count_options(0, jits, jit, jit_values);
  made->registers = registers_of(made->entry, jits, jit, jit_values);
  return *library = reinterpret_cast<CUlibrary>(made.release()), CUDA_SUCCESS;
}
CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option* jit, void** jit_values,
                               unsigned jits, CUlibraryOption* options, void** values, unsigned count) {
  const std::string content = content_of(path);
  if (content.size() < 16) return CUDA_ERROR_FILE_NOT_FOUND;
  return cuLibraryLoadData(library, content.c_str(), jit, jit_values, jits, options, values, count);
}
CUresult cuLibraryUnload(CUlibrary library) {
  const std::lock_guard guard(library_mutex());
  for (const auto& module : library_of(library).modules)
    if (module) unload(*module);
  return CUDA_SUCCESS;
}
CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  const std::lock_guard guard(library_mutex());
  CUresult result = CUDA_SUCCESS;
  return *module = reinterpret_cast<CUmodule>(module_on(library_of(library), here(), result)), result;
}
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  const std::lock_guard guard(library_mutex());
  Library& its = library_of(library);
  CUresult result = CUDA_SUCCESS;
  const Module* const module = module_on(its, here(), result);
  if (!module) return result;
  const auto found = module->functions.find(name);
  if (found == module->functions.end()) return CUDA_ERROR_NOT_FOUND;
  std::unique_ptr<Function>& made = its.kernels[name];
  if (!made) {
    made = std::make_unique<Function>();
    made->library = &its;
    made->name = name;
  }
  return *kernel = reinterpret_cast<CUkernel>(made.get()), CUDA_SUCCESS;
}
CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary library) {
  CUmodule module = nullptr;
  const CUresult result = cuLibraryGetModule(&module, library);
  return result == CUDA_SUCCESS ? cuModuleGetFunctionCount(count, module) : result;
}
CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary library) {
  CUmodule module = nullptr;
  const CUresult result = cuLibraryGetModule(&module, library);
  if (result != CUDA_SUCCESS) return result;
  unsigned i = 0;
  for (const auto& [name, function] : reinterpret_cast<Module*>(module)->functions)
    if (i < count) static_cast<void>(cuLibraryGetKernel(&kernels[i++], library, name.c_str()));
  return CUDA_SUCCESS;
}
CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  CUmodule module = nullptr;
  const CUresult result = cuLibraryGetModule(&module, library);
  return result == CUDA_SUCCESS ? cuModuleGetGlobal_v2(address, bytes, module, name) : result;
}
CUresult cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  return cuLibraryGetGlobal(address, bytes, library, name);
}
CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  CUresult result = CUDA_SUCCESS;
  return *function = reinterpret_cast<CUfunction>(resolve(reinterpret_cast<CUfunction>(kernel), result)), result;
}
CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel kernel) {
  return *library = reinterpret_cast<CUlibrary>(function_of(reinterpret_cast<CUfunction>(kernel)).library),
         CUDA_SUCCESS;
}
CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  return *name = function_of(reinterpret_cast<CUfunction>(kernel)).name.c_str(), CUDA_SUCCESS;
}
CUresult cuFuncGetName(const char** name, CUfunction function) {
  return *name = function_of(function).name.c_str(), CUDA_SUCCESS;
}
CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  return *module = reinterpret_cast<CUmodule>(function_of(function).module), CUDA_SUCCESS;
}
CUresult cuFuncIsLoaded(CUfunctionLoadingState* its, CUfunction) {
  return *its = CU_FUNCTION_LOADING_STATE_LOADED, CUDA_SUCCESS;
}
CUresult cuFuncLoad(CUfunction) { return CUDA_SUCCESS; }

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
