"""The virtual GPU: one kernel over several GPUs, and memory that has one address on all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from typing import Any, Union

from dcgn import _dcgn
from dcgn.kernel import Kernel, check_kernel

_TYPES = {
    "int8": "|i1",
    "uint8": "|u1",
    "int16": "<i2",
    "uint16": "<u2",
    "int32": "<i4",
    "uint32": "<u4",
    "int64": "<i8",
    "uint64": "<u8",
    "float16": "<f2",
    "float32": "<f4",
    "float64": "<f8",
    "complex64": "<c8",
    "complex128": "<c16",
}


class VirtualGpu(_dcgn.VirtualGpu):
    """
    One GPU made of several: `devices` by their numbers; one that is given twice is two parts. All is done in order; launches
    return before they are done, all else when it is.
    """

    def __init__(self, devices: Sequence[int]) -> None:
        super().__init__(list(devices))
        self._loaded: dict[tuple[str, str], object] = {}

    def launch(self, kernel: Kernel, *args: Any, grid: int, block: int, shared_bytes: int = 0) -> None:
        """
        Starts a kernel with numbers and arrays, its blocks split over the parts: a function object,
        `void operator()(dcgn::gpu::Context& ctx, ...) const`. Real GPUs take a `__global__` function, too, where an int stands
        for an integer and a float for a floating-point number of the parameter's size.
        """
        check_kernel(kernel, "launch")
        if self.is_emulated:
            library = kernel._compile_for_virtual_gpu()
            self._launch_object(str(library), grid, block, shared_bytes, args)
            return
        key = kernel.name, kernel.source
        if key not in self._loaded:
            self._loaded[key] = self._load_kernel(kernel)
        self._launch_loaded(self._loaded[key], grid, block, shared_bytes, args)

    def _load_kernel(self, kernel: Kernel) -> object:
        if "__global__" in kernel.source:
            return self._load(kernel.name, kernel.source)
        return self._load_ptx(kernel.name, kernel._compile_to_ptx(self._architecture).read_text())


class VirtualBuffer(_dcgn.VirtualBuffer):
    """Memory of a virtual GPU, not cleared: an array of a shape, of elements by NumPy's name of them."""

    def __init__(self, gpu: VirtualGpu, shape: Union[int, Sequence[int]], elements: str = "float64") -> None:
        self.shape = tuple(map(index, shape if isinstance(shape, Iterable) else [shape]))  # NumPy's integers too
        if min(self.shape, default=0) < 0:
            raise ValueError(f"virtual buffer: the shape {self.shape}, expected lengths of 0 or more")
        if elements not in _TYPES:
            raise ValueError(f"virtual buffer: elements {elements!r}, expected one of {', '.join(_TYPES)}")
        self._type = _TYPES[elements]
        count = int(self._type[2:])
        for length in self.shape:
            count *= length
        super().__init__(gpu, count)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Where it is, for kernels and for other libraries."""
        return {"shape": self.shape, "typestr": self._type, "data": (self.address, False), "version": 3}
