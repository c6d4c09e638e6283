"""The few calls of the CUDA driver that a launch needs, through ctypes."""

from __future__ import annotations

import ctypes as C
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

DTYPES: Mapping[str, int] = {"float16": 6, "float32": 7, "bfloat16": 9}  # CU_TENSOR_MAP_DATA_TYPE_*
SWIZZLES: Mapping[str, int] = {"none": 0, "b32": 1, "b64": 2, "b128": 3}  # CU_TENSOR_MAP_SWIZZLE_*
L2_PROMOTION_NONE = 0  # 256 bytes cost skinny GEMMs up to 4 %, ragged ones 20 %; 128 up to 1 %, never gained
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
MULTIPROCESSORS = 16  # CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
MAP_BYTES, MAP_ALIGN = 128, 64


class CudaError(RuntimeError):
    """A call of the driver that failed."""


@cache
def library() -> Any:  # noqa: ANN401 - a library has whatever functions it exports
    """The CUDA driver.

    Raises:
        CudaError: If this machine has none.
    """
    try:
        return C.CDLL("libcuda.so.1")
    except OSError as error:
        raise CudaError(f"no CUDA driver on this machine: {error}") from error


def check(result: int, doing: str) -> None:
    """Raise what a call of the driver reports.

    Raises:
        CudaError: If it failed.
    """
    if result != 0:
        text = C.c_char_p()
        library().cuGetErrorString(result, C.byref(text))
        message = (text.value or b"unknown").decode()
        raise CudaError(f"{doing}: {message} (CUDA error {result})")


def multiprocessors(device: int = 0) -> int:
    """How many multiprocessors a device has.

    Raises:
        CudaError: If there is no such device.
    """
    handle, count = C.c_int(), C.c_int()
    check(library().cuDeviceGet(C.byref(handle), device), "device")
    check(library().cuDeviceGetAttribute(C.byref(count), MULTIPROCESSORS, handle), "device attribute")
    return count.value


class Function:
    """A kernel of a cubin, in the current context."""

    def __init__(self, cubin: bytes, symbol: str, shared_bytes: int) -> None:
        self._image = C.create_string_buffer(cubin, len(cubin))
        module, self.handle = C.c_void_p(), C.c_void_p()
        check(library().cuModuleLoadData(C.byref(module), self._image), "load the cubin")
        check(library().cuModuleGetFunction(C.byref(self.handle), module, symbol.encode()), f"find {symbol}")
        check(library().cuFuncSetAttribute(self.handle, MAX_DYNAMIC_SHARED, shared_bytes), "ask for shared memory")


class TensorMap:
    """A tiled tensor map of a contiguous tensor: zeros outside."""

    def __init__(
        self, address: int, dtype: str, element_bytes: int, *, dims: Sequence[int], box: Sequence[int], swizzle: str
    ) -> None:
        rank = len(dims)
        self._memory = C.create_string_buffer(MAP_BYTES + MAP_ALIGN)
        self.address = (C.addressof(self._memory) + MAP_ALIGN - 1) // MAP_ALIGN * MAP_ALIGN
        strides: list[int] = []
        pitch = element_bytes
        for extent in dims[:-1]:
            pitch *= extent
            strides.append(pitch)
        result = library().cuTensorMapEncodeTiled(
            C.c_void_p(self.address),
            DTYPES[dtype],
            rank,
            C.c_void_p(address),
            (C.c_uint64 * rank)(*dims),
            (C.c_uint64 * max(1, rank - 1))(*strides),
            (C.c_uint32 * rank)(*box),
            (C.c_uint32 * rank)(*([1] * rank)),
            0,
            SWIZZLES[swizzle],
            L2_PROMOTION_NONE,
            0,
        )
        check(result, f"encode a tensor map of {list(dims)} with box {list(box)}")


class _Config(C.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("grid", C.c_uint * 3),
        ("block", C.c_uint * 3),
        ("shared_bytes", C.c_uint),
        ("stream", C.c_void_p),
        ("attributes", C.c_void_p),
        ("attribute_count", C.c_uint),
    ]


class Launch:
    """A launch whose arguments are fixed; may be captured into a graph."""

    def __init__(
        self,
        function: Function,
        *,
        grid: int,
        threads: int,
        shared_bytes: int,
        maps: Sequence[TensorMap],
        pointers: Sequence[int],
        numbers: Sequence[int],
    ) -> None:
        self._function, self._maps = function, tuple(maps)
        self._numbers = [*(C.c_uint64(p) for p in pointers), *(C.c_int32(n) for n in numbers)]
        addresses = [m.address for m in maps] + [C.addressof(n) for n in self._numbers]
        self._arguments = (C.c_void_p * len(addresses))(*addresses)
        self._config = _Config()
        self._config.grid[:] = (grid, 1, 1)
        self._config.block[:] = (threads, 1, 1)
        self._config.shared_bytes = shared_bytes

    def __call__(self, stream: int) -> None:
        self._config.stream = stream
        check(library().cuLaunchKernelEx(C.byref(self._config), self._function.handle, self._arguments, None), "launch")
