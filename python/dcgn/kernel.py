"""Kernels of GPUs, given as source."""

from __future__ import annotations

from pathlib import Path

from dcgn.source import compiled

_TEXT = """#include <dcgn_kernel_entry.hpp>
#line 1 "{name}"
{source}
#line 1 "dcgn.Kernel"
extern "C" void dcgn_python_add_kernel(dcgn::Job& job, int gpu, const dcgn::Launch& launch,
                                       dcgn::Span<const dcgn::python::Argument> arguments) {{
  dcgn::python::add_kernel(&{name}::operator(), job, gpu, launch, arguments);
}}
"""
_VIRTUAL_TEXT = """#include <dcgn_launch_entry.hpp>
#line 1 "{name}"
{source}
#line 1 "dcgn.Kernel"
extern "C" void dcgn_python_launch_kernel(dcgn::VirtualGpu& gpu, const dcgn::Launch& launch,
                                          dcgn::Span<const dcgn::python::Argument> arguments) {{
  dcgn::python::launch_kernel(&{name}::operator(), gpu, launch, arguments);
}}
"""
_PTX_TEXT = """#include <dcgn/arch/context.hpp>
#line 1 "{name}"
{source}
#line 1 "dcgn.Kernel"
template <class Function, class... Args>
__global__ void dcgn_python_kernel(Args... args) {{
  dcgn::gpu::Context context;
  Function{{}}(context, args...);
}}
template <class Function, class... Args>
auto dcgn_python_instance(void (Function::*)(dcgn::gpu::Context&, Args...) const) {{
  return &dcgn_python_kernel<Function, Args...>;
}}
void* dcgn_python_use() {{ return reinterpret_cast<void*>(dcgn_python_instance(&{name}::operator())); }}
"""


class Kernel:
    """
    A kernel, as C++ source that defines the type `name`:

        struct NAME {
          DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, ...) const;
        };

    After the context and the communicator it takes numbers, pointers and trivially copyable structures, for which a job is
    given numbers, arrays, and arrays of the structure's bytes. Emulated GPUs take what the host's compiler makes of it (CXX,
    else c++), real ones what nvcc does (CUDACXX, else nvcc). It is compiled once for each source, and kept in a cache
    (XDG_CACHE_HOME, else ~/.cache). A kernel for a VirtualGpu takes no communicator.
    """

    def __init__(self, source: str, name: str) -> None:
        self.source = source
        self.name = name

    def compile(self, architecture: str = "") -> Path:
        """
        The shared library that a job loads, compiled unless it is there already: for a GPU's architecture, "sm_90" say, or
        for emulated ones. Throws CompileError.
        """
        return compiled(self.name, _TEXT.format(name=self.name, source=self.source), architecture)

    def _compile_for_virtual_gpu(self) -> Path:
        return compiled(self.name, _VIRTUAL_TEXT.format(name=self.name, source=self.source), "")

    def _compile_to_ptx(self, architecture: str) -> Path:
        return compiled(self.name, _PTX_TEXT.format(name=self.name, source=self.source), architecture, ptx=True)


def check_kernel(kernel: object, call: str) -> None:
    if not isinstance(kernel, Kernel):
        raise TypeError(f"{call}: {kernel!r} as the kernel, expected a dcgn.Kernel")
