#include "vgpu/src/nvrtc.hpp"

#include <dcgn/error.hpp>

#include <dlfcn.h>

#include <cstddef>
#include <sstream>

namespace dcgn::virtual_gpu {

namespace {

// As nvrtc.h has them, which a machine without CUDA lacks.
struct NvrtcProgram;
using NvrtcResult = int;

struct Nvrtc {
  NvrtcResult (*create)(NvrtcProgram**, const char* text, const char* name, int headers, const char* const* contents,
                        const char* const* names);
  NvrtcResult (*destroy)(NvrtcProgram**);
  NvrtcResult (*compile)(NvrtcProgram*, int options, const char* const* words);
  NvrtcResult (*ptx_size)(NvrtcProgram*, std::size_t*);
  NvrtcResult (*ptx)(NvrtcProgram*, char*);
  NvrtcResult (*log_size)(NvrtcProgram*, std::size_t*);
  NvrtcResult (*log)(NvrtcProgram*, char*);
  const char* (*error)(NvrtcResult);
};

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function)
    throw Error(Code::unsupported, "load", std::string("NVRTC has no ") + name + ", expected that of CUDA 12 or newer");
}

Nvrtc load_nvrtc() {
  void* library = nullptr;
  const std::vector<std::string> places = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                           "/usr/local/cuda/lib64/libnvrtc.so"};
  std::string tried;
  for (const std::string& place : places) {
    if ((library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL))) break;
    tried += (tried.empty() ? "" : ", ") + place;
  }
  if (!library)
    throw Error(Code::unsupported, "load", "CUDA source needs NVRTC, expected one of " + tried + "; PTX needs none");
  Nvrtc nvrtc{};
  find(library, "nvrtcCreateProgram", nvrtc.create);
  find(library, "nvrtcDestroyProgram", nvrtc.destroy);
  find(library, "nvrtcCompileProgram", nvrtc.compile);
  find(library, "nvrtcGetPTXSize", nvrtc.ptx_size);
  find(library, "nvrtcGetPTX", nvrtc.ptx);
  find(library, "nvrtcGetProgramLogSize", nvrtc.log_size);
  find(library, "nvrtcGetProgramLog", nvrtc.log);
  find(library, "nvrtcGetErrorString", nvrtc.error);
  return nvrtc;
}

class Program {
 public:
  Program(const Nvrtc& nvrtc, const std::string& name, const std::string& text) : nvrtc_(nvrtc) {
    check(nvrtc_.create(&program_, text.c_str(), name.c_str(), 0, nullptr, nullptr), name);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() { static_cast<void>(nvrtc_.destroy(&program_)); }

  void compile(const std::string& name, const std::vector<std::string>& options) {
    std::vector<const char*> words;
    words.reserve(options.size());
    for (const std::string& option : options) words.push_back(option.c_str());
    const NvrtcResult result = nvrtc_.compile(program_, static_cast<int>(words.size()), words.data());
    if (result == 0) return;
    // The compiler's line says where.
    std::stringstream log(text(nvrtc_.log_size, nvrtc_.log));
    std::string line;
    while (std::getline(log, line))
      if (line.find("error") != std::string::npos) throw Error(Code::configuration, "load", line);
    throw Error(Code::configuration, "load", name + ": " + nvrtc_.error(result));
  }
  std::string ptx() const { return text(nvrtc_.ptx_size, nvrtc_.ptx); }

 private:
  void check(NvrtcResult result, const std::string& name) const {
    if (result != 0) throw Error(Code::device, "load", name + ": NVRTC: " + nvrtc_.error(result));
  }
  std::string text(NvrtcResult (*size_of)(NvrtcProgram*, std::size_t*),
                   NvrtcResult (*get)(NvrtcProgram*, char*)) const {
    std::size_t size = 0;  // with the zero at its end
    check(size_of(program_, &size), "the result");
    std::string result(size, '\0');
    check(get(program_, result.data()), "the result");
    if (!result.empty()) result.pop_back();
    return result;
  }

  const Nvrtc& nvrtc_;
  NvrtcProgram* program_ = nullptr;
};

}  // namespace

std::string compile(const std::string& name, const std::string& text, const std::vector<std::string>& options) {
  static const Nvrtc nvrtc = load_nvrtc();  // a throw leaves it unloaded, so that the next use tries again
  Program program(nvrtc, name, text);
  program.compile(name, options);
  return program.ptx();
}

}  // namespace dcgn::virtual_gpu
