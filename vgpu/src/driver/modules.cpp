// Loading of code, and what the program asks of it.
#include "vgpu/src/cuda/jit_options.hpp"
#include "vgpu/src/driver/code.hpp"
#include "vgpu/src/driver/real.hpp"

#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace dcgn::virtual_gpu::driver;
using dcgn::virtual_gpu::AssemblerOptions, dcgn::virtual_gpu::JitOption, dcgn::virtual_gpu::jit_options;

// Before the real call, which writes what came of some over the values.
AssemblerOptions options_of(unsigned count, const CUjit_option* options, void* const* values) {
  AssemblerOptions all;
  for (unsigned i = 0; options && values && i < count; ++i)
    for (const JitOption& one : jit_options)
      if (one.number == options[i])
        all.*one.member = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(values[i]));
  return all;
}

void keep(void* container, const void* image, const AssemblerOptions& options = {}, bool kept = false,
          bool is_library = false) {
  static_cast<void>(guarded("load", [&] {
    const Call call;
    CodeTable::get().add(container, std::make_shared<Code>(image, kept, options, container, is_library));
    return CUDA_SUCCESS;
  }));
}

void keep_file(void* container, const char* path, const AssemblerOptions& options = {}, bool is_library = false) {
  std::ifstream file(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), {}};  // ends with a zero, as PTX has to
  if (file) keep(container, content.c_str(), options, false, is_library);
}

void forget(void* container) {
  static_cast<void>(guarded("unload", [&] {
    const Call call;
    CodeTable::get().remove(container);
    return CUDA_SUCCESS;
  }));
}

void keep_kernel(void* handle, void* container, const char* name) {
  const Call call;
  CodeTable::get().add_kernel(handle, container, name);
}

// The address that the rewritten kernels use, where the real call has found the variable.
template <class Find>
CUresult find_variable(CUdeviceptr* address, std::size_t* bytes, void* container, const char* name, Find&& real) {
  CUdeviceptr its_address = 0;
  std::size_t its_bytes = 0;
  const CUresult result = real(&its_address, &its_bytes);
  if (result != CUDA_SUCCESS) return result;
  return guarded("variable", [&] {
    Call call;
    const auto code = call.program().on_first_device() ? CodeTable::get().code(container) : nullptr;
    if (code && call.program().measured().on()) {
      code->note_variable(call.program(), name, reinterpret_cast<void*>(its_address), its_bytes);
      call.program().measured().use_code(call.program(), code);
      if (address) *address = its_address;
      if (bytes) *bytes = its_bytes;
      return CUDA_SUCCESS;
    }
    void* const ours = code ? code->variable(call.program(), name, its_bytes) : nullptr;
    if (!ours) call.program().note_alone("a variable of a module that is left whole");
    if (address) *address = ours ? reinterpret_cast<CUdeviceptr>(ours) : its_address;
    if (bytes) *bytes = its_bytes;
    return CUDA_SUCCESS;
  });
}

CUresult set_attribute(void* handle, CUfunction_attribute attribute, int value) {
  return guarded("attribute", [&] {
    const Call call;
    ProgramKernel* const kernel = CodeTable::get().kernel(handle);
    if (!kernel) return CUDA_SUCCESS;
    kernel->attributes[attribute] = value;
    return kernel->whole ? DCGN_REAL(cuFuncSetAttribute)(kernel->whole, attribute, value) : CUDA_SUCCESS;
  });
}

}  // namespace

extern "C" {

CUresult cuModuleLoad(CUmodule* module, const char* path) {
  const CUresult result = DCGN_REAL(cuModuleLoad)(module, path);
  if (result == CUDA_SUCCESS) keep_file(*module, path);
  return result;
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  const CUresult result = DCGN_REAL(cuModuleLoadData)(module, image);
  if (result == CUDA_SUCCESS) keep(*module, image);
  return result;
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options, void** values) {
  const AssemblerOptions asked_for = options_of(count, options, values);
  const CUresult result = DCGN_REAL(cuModuleLoadDataEx)(module, image, count, options, values);
  if (result == CUDA_SUCCESS) keep(*module, image, asked_for);
  return result;
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  const CUresult result = DCGN_REAL(cuModuleLoadFatBinary)(module, image);
  if (result == CUDA_SUCCESS) keep(*module, image);
  return result;
}

CUresult cuModuleUnload(CUmodule module) {
  forget(module);
  return DCGN_REAL(cuModuleUnload)(module);
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  const CUresult result = DCGN_REAL(cuModuleGetFunction)(function, module, name);
  if (result == CUDA_SUCCESS) keep_kernel(*function, module, name);
  return result;
}

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule module) {
  const CUresult result = DCGN_REAL(cuModuleEnumerateFunctions)(functions, count, module);
  const char* name = nullptr;
  for (unsigned i = 0; result == CUDA_SUCCESS && i < count && functions[i]; ++i)
    if (DCGN_REAL(cuFuncGetName)(&name, functions[i]) == CUDA_SUCCESS) keep_kernel(functions[i], module, name);
  return result;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  return find_variable(address, bytes, module, name, [&](CUdeviceptr* its_address, std::size_t* its_bytes) {
    return DCGN_REAL(cuModuleGetGlobal_v2)(its_address, its_bytes, module, name);
  });
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option* jit, void** jit_values, unsigned jits,
                           CUlibraryOption* options, void** values, unsigned count) {
  const AssemblerOptions asked_for = options_of(jits, jit, jit_values);
  const CUresult result = DCGN_REAL(cuLibraryLoadData)(library, image, jit, jit_values, jits, options, values, count);
  if (result != CUDA_SUCCESS) return result;
  bool kept = false;
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == CU_LIBRARY_BINARY_IS_PRESERVED) kept = !values || values[i];
  keep(*library, image, asked_for, kept, true);
  return result;
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option* jit, void** jit_values,
                               unsigned jits, CUlibraryOption* options, void** values, unsigned count) {
  const AssemblerOptions asked_for = options_of(jits, jit, jit_values);
  const CUresult result =
      DCGN_REAL(cuLibraryLoadFromFile)(library, path, jit, jit_values, jits, options, values, count);
  if (result == CUDA_SUCCESS) keep_file(*library, path, asked_for, true);
  return result;
}

CUresult cuLibraryUnload(CUlibrary library) {
  forget(library);
  return DCGN_REAL(cuLibraryUnload)(library);
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  const CUresult result = DCGN_REAL(cuLibraryGetKernel)(kernel, library, name);
  if (result == CUDA_SUCCESS) keep_kernel(*kernel, library, name);
  return result;
}

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary library) {
  const CUresult result = DCGN_REAL(cuLibraryEnumerateKernels)(kernels, count, library);
  const char* name = nullptr;
  for (unsigned i = 0; result == CUDA_SUCCESS && i < count && kernels[i]; ++i)
    if (DCGN_REAL(cuKernelGetName)(&name, kernels[i]) == CUDA_SUCCESS) keep_kernel(kernels[i], library, name);
  return result;
}

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  const CUresult result = DCGN_REAL(cuLibraryGetModule)(module, library);
  if (result != CUDA_SUCCESS) return result;
  const Call call;
  CodeTable::get().add_same(*module, library);
  return result;
}

CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  return find_variable(address, bytes, library, name, [&](CUdeviceptr* its_address, std::size_t* its_bytes) {
    return DCGN_REAL(cuLibraryGetGlobal)(its_address, its_bytes, library, name);
  });
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  const CUresult result = DCGN_REAL(cuKernelGetFunction)(function, kernel);
  if (result != CUDA_SUCCESS) return result;
  const Call call;
  CodeTable::get().add_same_kernel(*function, kernel);
  return result;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  const CUresult result = DCGN_REAL(cuFuncSetAttribute)(function, attribute, value);
  return result == CUDA_SUCCESS ? set_attribute(function, attribute, value) : result;
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device) {
  const CUresult result = DCGN_REAL(cuKernelSetAttribute)(attribute, value, kernel, device);
  return result == CUDA_SUCCESS ? set_attribute(kernel, attribute, value) : result;
}

}  // extern "C"
