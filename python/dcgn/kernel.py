"""Kernels of GPUs, given as source and compiled when a job first takes them."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from dcgn import _dcgn

_PACKAGE = Path(__file__).absolute().parent
_MODULE = Path(_dcgn.__file__)

_TEXT = """#include <dcgn_kernel_entry.hpp>
#line 1 "{name}"
{source}
#line 1 "dcgn.Kernel"
extern "C" void dcgn_python_add_kernel(dcgn::Job& job, int gpu, const dcgn::Launch& launch,
                                       dcgn::Span<const dcgn::python::Argument> arguments) {{
  dcgn::python::add_kernel(&{name}::operator(), job, gpu, launch, arguments);
}}
"""


class CompileError(Exception):
    """A kernel that does not compile: what the compiler said, and `command`, how it was called."""

    def __init__(self, text: str, command: list[str]) -> None:
        super().__init__(text)
        self.command = command


class Kernel:
    """
    A kernel, as C++ source that defines the type `name`:

        struct NAME {
          DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, ...) const;
        };

    After the context and the communicator it takes numbers, pointers and trivially copyable structures, for which a job is
    given numbers, arrays, and arrays of the structure's bytes. Emulated GPUs take what the host's compiler makes of it (CXX,
    else c++), real ones what nvcc does (CUDACXX, else nvcc). It is compiled once for each source, and kept in a cache
    (XDG_CACHE_HOME, else ~/.cache).
    """

    def __init__(self, source: str, name: str) -> None:
        self.source = source
        self.name = name

    def compile(self, architecture: str = "") -> Path:
        """
        The shared library that a job loads, compiled unless it is there already: for a GPU's architecture, "sm_90" say, or
        for emulated ones.
        """
        text = _TEXT.format(name=self.name, source=self.source)
        command = _command(architecture)
        library = _cache() / f"{self.name.replace('::', '.')}-{_hash(text, command)}.so"
        if not library.exists():
            self._compile(text, command, library, bool(architecture))
        return library

    def _compile(self, text: str, command: list[str], library: Path, cuda: bool) -> None:
        with tempfile.TemporaryDirectory(dir=library.parent) as folder:
            source = Path(folder) / ("kernel.cu" if cuda else "kernel.cpp")
            source.write_text(text)
            made = Path(folder) / "kernel.so"
            command = [*command, "-o", str(made), str(source), *_link(cuda)]
            try:
                run = subprocess.run(command, capture_output=True, text=True, check=False)
            except OSError as e:
                raise CompileError(f"the kernel {self.name}: {command[0]} cannot be run: {e.strerror}", command) from e
            if run.returncode != 0:
                raise CompileError(f"the kernel {self.name} does not compile:\n{run.stderr.rstrip()}", command)
            made.rename(library)  # there whole or not at all, whoever else compiles it


def _command(architecture: str) -> list[str]:
    flags = ["-std=c++20", "-O2", "-shared", "-I", str(_PACKAGE), "-I", str(_PACKAGE / "include")]
    # Kernels of one name in two libraries have each their own of everything.
    host_flags = ["-fPIC", "-fno-gnu-unique"]
    if not architecture:
        return [os.environ.get("CXX") or "c++", *flags, *host_flags, "-pthread"]
    nvcc = os.environ.get("CUDACXX") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    return [nvcc, *flags, f"-arch={architecture}", "-cudart=shared", "-Xcompiler", ",".join(host_flags)]


def _link(cuda: bool) -> list[str]:
    """With the module, which has the library in it; after the source, or the linker finds no use for it."""
    return ["-Xlinker", str(_MODULE)] if cuda else [str(_MODULE)]


def _hash(text: str, command: list[str]) -> str:
    module = _MODULE.stat()
    parts = [text, *command, _dcgn.__version__, str(module.st_size), str(module.st_mtime_ns)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(base) if base else Path.home() / ".cache") / "dcgn" / "kernels"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
