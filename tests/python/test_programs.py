"""What users read runs: the guide's blocks, the examples; alone and in several processes. And mypy finds the types right."""

import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Optional

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples/python").glob("*.py"))
KERNEL = ROOT / "examples/python/03_kernel.py"
OF_TWO = "the sum of 8 squares is 420\n"
needs_numpy = unittest.skipIf(importlib.util.find_spec("numpy") is None, "no NumPy")


def output(*command: str, cwd: Optional[Path] = None) -> str:
    run = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=100, check=False)
    if run.returncode != 0:
        raise AssertionError(f"{command} failed ({run.returncode}):\n{run.stdout}{run.stderr}")
    return run.stdout


class Programs(unittest.TestCase):
    @needs_numpy
    def test_examples(self) -> None:
        expected = {
            "01_ping_pong": "after 1000 rounds: 1000.0",
            "02_halo": "as of one rank: True",
            "03_kernel": "the sum of 4 squares is 54",
            "04_reduce": "pi by 6 ranks: 3.14159",
            "05_stencil": "of the cells are in one phase or the other",
        }
        self.assertEqual([e.stem for e in EXAMPLES], list(expected))
        for example in EXAMPLES:
            with self.subTest(example=example.stem):
                self.assertIn(expected[example.stem], output(sys.executable, str(example)))

    @needs_numpy
    def test_the_guide_s_blocks(self) -> None:
        blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs/guide/python.md").read_text(), re.S | re.M)
        self.assertGreater(len(blocks), 3)
        self.assertIn("['', 'a', 'aa']", output(sys.executable, "-c", "\n".join(blocks)))


class SourceTree(unittest.TestCase):
    def test_modules_of_plain_python_need_no_compiled_one(self) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
        program = """
import dcgn, dcgn.results, dcgn.sim
try:
    dcgn.run
except ImportError as e:
    print(e)
"""
        run = subprocess.run(
            [sys.executable, "-S", "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        self.assertEqual(
            run.stdout, "dcgn.run needs the package's compiled module: `pip install .` in Decagon's sources\n"
        )


# A driver that says which streams are waited for.
DRIVER = """
#include <stdio.h>
int cuStreamSynchronize(void* stream) { printf("waited for %p\\n", stream); return fflush(stdout); }
"""
SENDS_IN_A_STREAM = """
from array import array
import dcgn
class Array:
    def __init__(self, stream):
        self.memory = array("d", [1.0, 2.0])
        self.__cuda_array_interface__ = {"shape": (2,), "typestr": "<f8", "data": (self.memory.buffer_info()[0], False),
                                         "version": 3, "stream": stream}
def main(comm):
    comm.Isend(Array(0x20), 0)
    came = Array(None)
    comm.Recv(came, 0)
    print(list(came.memory))
dcgn.run(main)
"""


class Streams(unittest.TestCase):
    @unittest.skipIf(shutil.which("cc") is None, "no C compiler")
    def test_an_array_s_stream_is_waited_for(self) -> None:
        module = importlib.util.find_spec("dcgn._dcgn")
        if module and module.origin and b"libcudart" in Path(module.origin).read_bytes():
            self.skipTest("the CUDA runtime would take that driver for its own")
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "driver.c").write_text(DRIVER)
            output("cc", "-shared", "-fPIC", "-o", f"{folder}/libcuda.so.1", f"{folder}/driver.c")
            environment = {**os.environ, "LD_LIBRARY_PATH": folder, "DCGN_EMULATED_GPUS": "1"}
            run = subprocess.run(
                [sys.executable, "-c", SENDS_IN_A_STREAM], env=environment, capture_output=True, text=True, check=False
            )
        self.assertEqual((run.stdout, run.stderr), ("waited for 0x20\n[1.0, 2.0]\n", ""))


class Processes(unittest.TestCase):
    def test_by_mpirun(self) -> None:
        launchers = [w for w in ("mpirun.openmpi", "mpirun.mpich") if shutil.which(w)] or ["mpirun"]
        if not shutil.which(launchers[0]):
            self.skipTest("no mpirun")
        for mpirun in launchers:
            with self.subTest(mpirun=mpirun):
                self.assertEqual(output(mpirun, "-n", "2", sys.executable, str(KERNEL)), OF_TWO)

    def as_by_torchrun(self, *program: str) -> list[tuple[int, str, str]]:
        """Exit code, stdout and stderr of two processes."""
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        place = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        processes = [
            subprocess.Popen(
                [sys.executable, *program],
                env={**os.environ, **place, "RANK": str(rank)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(2)
        ]
        texts = [p.communicate(timeout=100) for p in processes]
        return [(p.returncode, *text) for p, text in zip(processes, texts)]

    def test_as_by_torchrun(self) -> None:
        ends = self.as_by_torchrun(str(KERNEL))
        self.assertEqual([code for code, _, _ in ends], [0, 0], ends)
        self.assertEqual("".join(out for _, out, _ in ends), OF_TWO)

    def test_a_process_that_leaves_before_its_job_runs(self) -> None:
        # The functions of a script refer to the job that refers to them.
        program = """
import dcgn, os
def main(comm): comm.barrier()
job = dcgn.Job(cpus=1)
job.cpu(main)
if os.environ["RANK"] == "1": raise ValueError("not today")
job.run()
"""
        (stayed, _, told), (left, _, why) = self.as_by_torchrun("-c", program)
        self.assertEqual((stayed, left), (1, 1), told + why)
        self.assertIn("process 1 of 2 has left the job by an exception", told)
        self.assertRegex(why, r"ValueError: not today\n$")  # and no more

    @unittest.skipIf(importlib.util.find_spec("mpi4py") is None, "no mpi4py")
    def test_in_a_communicator_of_mpi4py(self) -> None:
        program = """
from mpi4py import MPI
import dcgn
job = dcgn.Job(cpus=2, comm=MPI.COMM_WORLD)
job.cpu(lambda comm: print(comm.allgather(comm.rank)) if comm.rank == 3 else comm.allgather(comm.rank)).run()
assert MPI.COMM_WORLD.allreduce(1) == 2
"""
        self.assertEqual(output("mpirun", "-n", "2", sys.executable, "-c", program), "[0, 1, 2, 3]\n")


class Types(unittest.TestCase):
    def test_mypy_strict(self) -> None:
        mypy = [sys.executable, "-m", "mypy"] if importlib.util.find_spec("mypy") else ["mypy"]
        if not shutil.which(mypy[0]):
            self.skipTest("no mypy")
        output(*mypy, "--cache-dir", os.environ.get("XDG_CACHE_HOME", os.devnull), cwd=ROOT)


if __name__ == "__main__":
    unittest.main()
