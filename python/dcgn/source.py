"""C++ source that is compiled at run time with Decagon's headers: by the host's compiler for emulated GPUs, by nvcc for real ones."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from dcgn import _dcgn

_PACKAGE = Path(__file__).absolute().parent
_MODULE = Path(_dcgn.__file__)
_DEVICE_LIBRARY = _PACKAGE / "libdcgn_device.a"  # what kernels call and do not inline


class CompileError(Exception):
    """Source that does not compile: what the compiler said, and `command`, how it was called."""

    def __init__(self, text: str, command: list[str]) -> None:
        super().__init__(text)
        self.command = command


def compiled(name: str, text: str, architecture: str, *, fused: bool = True, ptx: bool = False) -> Path:
    """
    The shared library of a text, for a GPU's architecture ("sm_90") or emulated ones (""); with `ptx` the file of what nvcc
    makes of its kernels. It is compiled once, and kept in a cache; `name` is what errors and the file are called by. Not
    `fused`, it computes the same bits by any compiler.
    """
    command = _command(architecture, fused, ptx)
    made = _cache() / f"{name.replace('::', '.')}-{_hash(text, command)}.{'ptx' if ptx else 'so'}"
    if not made.exists():
        # The module has the library in it. It comes after the source, or the linker finds no use for it.
        device = [str(_DEVICE_LIBRARY), "-Xlinker", str(_MODULE)]
        module = [] if ptx else device if architecture else [str(_MODULE)]
        _compile(name, text, command, module, "source.cu" if architecture else "source.cpp", made)
    return made


def _compile(name: str, text: str, command: list[str], module: list[str], file: str, to: Path) -> None:
    with tempfile.TemporaryDirectory(dir=to.parent) as folder:
        source = Path(folder) / file
        source.write_text(text)
        made = Path(folder) / "made"
        command = [*command, "-o", str(made), str(source), *module]
        try:
            run = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as e:
            raise CompileError(f"{name}: {command[0]} cannot be run: {e.strerror}", command) from e
        if run.returncode != 0:
            raise CompileError(f"{name} does not compile:\n{run.stderr.rstrip()}", command)
        made.rename(to)  # there whole or not at all, whoever else compiles it


def _command(architecture: str, fused: bool, ptx: bool) -> list[str]:
    flags = ["-std=c++20", "-O2", "-ptx" if ptx else "-shared", "-I", str(_PACKAGE), "-I", str(_PACKAGE / "include")]
    host_flags = ["-fPIC", "-fno-gnu-unique"]  # what has one name in two libraries is not the same
    if not fused:
        host_flags.append("-ffp-contract=off")
    if not architecture:
        return [*shlex.split(os.environ.get("CXX") or "c++"), *flags, *host_flags, "-pthread"]
    nvcc = os.environ.get("CUDACXX") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    cuda_flags = [f"-arch={architecture}", "-cudart=shared", f"-fmad={str(fused).lower()}"]
    linked = [] if ptx else ["-rdc=true"]
    return [nvcc, *flags, *linked, *cuda_flags, "-Xcompiler", ",".join(host_flags)]


def _hash(text: str, command: list[str]) -> str:
    module = _MODULE.stat()
    parts = [text, *command, _dcgn.__version__, str(module.st_size), str(module.st_mtime_ns)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(base) if base else Path.home() / ".cache") / "dcgn" / "compiled"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
