"""The guide's blocks of C++ compile: each in a function of its own, after what its page takes for granted.

blocks.py [--without-pixels] COMPILER...: the command that compiles, as far as its options go. Lines with a comment
"in a kernel", and what follows "and there:", have a kernel's names. Blocks with a __global__ function are left out: they are
nvcc's, and examples/cuda/ has such programs. --without-pixels, where GL's headers are missing, leaves those of pixels out.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Iterator

ROOT = Path(__file__).resolve().parents[2]
# The pages whose blocks are looked at otherwise: those of the tutorial are programs.
ELSEWHERE = {"tutorial"}

# What a page's blocks take for granted: on the host, and in a kernel.
ON_HOST = {
    "collectives": """
        extern dcgn::Comm& comm;
        extern std::vector<std::vector<float>> gradients;
        extern std::vector<float> tile;
        void compute_something_else();""",
    "datatypes": """
        using namespace dcgn;
        struct MyKernel {
          DCGN_HOST_DEVICE void operator()(gpu::Context&, gpu::Comm, gpu::Datatype, double*, void*) const {}
        };
        extern Comm& comm;
        extern Device& device;
        extern Stream& stream;
        extern const int rows, columns, left, right;
        extern std::vector<double> matrix;
        extern DeviceBuffer<double>& field_on_the_gpu;
        extern Datatype &block, &ghost_column, &border_column;
        extern std::vector<std::byte> packed, piece;
        extern std::int64_t at;""",
    "errors": "extern dcgn::Job& job;",
    "jobs": """
        struct Worker {
          DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context&, dcgn::gpu::Comm, int) const {}
        };""",
    "kernels": "extern float *in, *out;",
    "pixels": "extern dcgn::Comm& comm; extern unsigned texture;",
    "processes": """
        using MPI_Comm = void*;
        extern MPI_Comm MPI_COMM_WORLD;
        constexpr int MPI_THREAD_MULTIPLE = 3;
        int MPI_Init_thread(int*, char***, int, int*);
        extern int argc;
        extern char** argv;""",
}
IN_KERNEL = {
    "collectives": "extern dcgn::gpu::Slot& slot; extern dcgn::gpu::BlockScope& block; extern float* gradient;",
    "datatypes": """
        extern dcgn::gpu::Slot& me;
        extern dcgn::gpu::BlockScope& block;
        extern dcgn::gpu::Datatype& type;
        extern double* matrix;
        extern void* room;
        extern const int peer, left, right, tag;""",
}
# The arguments of a kernel's launch, by the names that they have in the kernel.
INSTEAD = {"datatypes": {"comm, column.handle(), matrix, room": "gpu::Comm(), column.handle(), nullptr, nullptr"}}


def functions(page: str, code: str) -> Iterator[tuple[bool, str]]:
    """What of a block is the host's, and what a kernel's."""
    above, _, below = code.partition("// and there:\n")
    lines = above.split("\n")
    in_kernel = [line for line in lines if "// in a kernel" in line] + below.split("\n")
    for old, new in INSTEAD.get(page, {}).items():
        lines = [line.replace(old, new) for line in lines]
    yield False, "\n".join(line for line in lines if "// in a kernel" not in line)
    if any(in_kernel):
        yield True, "\n".join(in_kernel)


def main() -> int:
    compiler = sys.argv[1:]
    without_pixels = compiler[0] == "--without-pixels"
    if without_pixels:
        compiler.pop(0)
    left_out = 0
    includes = ["#include <dcgn/dcgn.hpp>", "#include <cstdio>", "#include <vector>"]
    text: list[str] = []
    count = 0
    for path in sorted((ROOT / "docs/guide").glob("*.md")):
        page = path.stem
        if page in ELSEWHERE:
            continue
        for m in re.finditer(r"^```cpp\n(.*?)^```$", path.read_text(), re.S | re.M):
            line = path.read_text()[: m.start()].count("\n") + 2
            if "__global__" in m[1]:
                continue
            if without_pixels and (page == "pixels" or "dcgn/pixels" in m[1]):
                left_out += 1
                continue
            count += 1
            for k, (kernel, code) in enumerate(functions(page, m[1])):
                includes += [i for i in re.findall(r"^#include .*$", code, re.M) if i not in includes]
                code = re.sub(r"^#include .*$", "", code, flags=re.M)
                granted = (IN_KERNEL if kernel else ON_HOST).get(page, "")
                text += ['#line 1 "tests/docs/blocks.py"']
                text += [f"namespace {page}_{line}_{k} {{ {granted}", "int block_of_the_guide() {"]
                text += [f'#line {line} "{path.relative_to(ROOT)}"', code, "return 0;\n}\n}"]
    if any("pixels" in i for i in includes):
        includes.append("#include <GL/glcorearb.h>")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "blocks.cpp"
        source.write_text("\n".join(includes + text) + "\n")
        warnings = ["-Wno-unused", "-Wno-uninitialized", "-Wno-shadow"]
        run = subprocess.run([*compiler, *warnings, "-fsyntax-only", str(source)], check=False)
    print(f"{count} blocks of the guide" + ("" if run.returncode else " compile"))
    if left_out:
        print(f"{left_out} blocks of pixels are left out: this build has no headers of GL")
    return run.returncode or count < 10


if __name__ == "__main__":
    sys.exit(main())
