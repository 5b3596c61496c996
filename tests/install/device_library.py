#!/usr/bin/env python3
"""Links a kernel with the device library at run time, by nvJitLink, as a program does that compiles kernels itself.

device_library.py NVCC ARCHITECTURE INCLUDE LIBRARY FOLDER: once by the library's code for the architecture, once by its
LTO-IR. No GPU is needed. Exit code 77: there is no nvJitLink here.
"""

import ctypes
import glob
import os
import pathlib
import subprocess
import sys

kernel = """
#include <dcgn/gpu/comm.hpp>
extern "C" __global__ void meet(dcgn::gpu::Comm comm) {
  dcgn::gpu::Context context;
  comm.slot(context.block_rank()).barrier(dcgn::gpu::this_block(context));
}
"""
OBJECT, LIBRARY = 5, 6  # nvJitLinkInputType


def find_linker(nvcc):
    root = pathlib.Path(nvcc).resolve().parent.parent
    places = [f"{root}/lib64", f"{root}/lib", f"{root}/targets/*/lib", *(f"{p}/nvidia/cu13/lib" for p in sys.path)]
    for path in (p for place in places for p in sorted(glob.glob(f"{place}/libnvJitLink.so*"))):
        return ctypes.CDLL(path)
    print("skipped: no libnvJitLink.so")
    sys.exit(77)


class Link:
    def __init__(self, linker, options):
        self.linker, self.handle = linker, ctypes.c_void_p()
        words = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
        self.check(linker.nvJitLinkCreate(ctypes.byref(self.handle), len(options), words))

    def check(self, result):
        if result:
            sys.exit(f"nvJitLink failed ({result}): {self.text('ErrorLog')}")

    def text(self, what):
        size = ctypes.c_size_t()
        getattr(self.linker, f"nvJitLinkGet{what}Size")(self.handle, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value + 1)
        getattr(self.linker, f"nvJitLinkGet{what}")(self.handle, buffer)
        return buffer.raw[: size.value]

    def cubin(self, inputs):
        for kind, path in inputs:
            self.check(self.linker.nvJitLinkAddFile(self.handle, kind, str(path).encode()))
        self.check(self.linker.nvJitLinkComplete(self.handle))
        return self.text("LinkedCubin")


def main():
    nvcc, architecture, include, library, folder = sys.argv[1:]
    linker = find_linker(nvcc)
    os.makedirs(folder, exist_ok=True)
    source, obj = pathlib.Path(folder, "kernel.cu"), pathlib.Path(folder, "kernel.o")
    source.write_text(kernel)
    code = f"arch=compute_{architecture},code=[sm_{architecture},lto_{architecture}]"
    subprocess.run([nvcc, "-std=c++20", "-O2", "-rdc=true", "-gencode", code, "-I", include, "-c", source, "-o", obj], check=True)
    for options in ([], ["-lto", "-O0"]):  # O0: the protocol is compiled anew
        cubin = Link(linker, [f"-arch=sm_{architecture}", *options]).cubin([(OBJECT, obj), (LIBRARY, library)])
        if b"\x7fELF" != cubin[:4] or b".text.meet" not in cubin:
            sys.exit(f"linked with {options}: no kernel in the {len(cubin)} bytes of code")
        print(f"{'LTO-IR' if options else 'code'}: {len(cubin)} bytes")


main()
