"""A bundle's kernels under `compute-sanitizer --tool memcheck`, each in a child that needs the driver alone.

Every kernel runs twice: on memory that is what it should be, where the tool has to find nothing, and on a C that lacks
its last row, which tells whether the tool sees how this kernel stores (it sees stores of threads; what it sees of the
copy engine's depends on its version).
"""

from __future__ import annotations

import ctypes as C
import json
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from .driver import CudaError, check, library
from .launch import Kernel

TOOL = "compute-sanitizer"
KILL_S = 40.0
WORKERS = 8
ONE = {"bfloat16": 0x3F80, "float16": 0x3C00}
NAN = 0xFFFF  # of both types
SUMMARY = re.compile(r"ERROR SUMMARY: (\d+) error")


def tool() -> str | None:
    """Where the tool is."""
    return shutil.which(TOOL) or shutil.which(TOOL, path="/usr/local/cuda/bin")


def run(bundle: Path, kernels: Sequence[Mapping[str, Any]], done: Callable[[dict[str, Any]], None]) -> None:
    """Every kernel, right and with a short C; `done` is told each result as it is known.

    `kernels` have `name`, `directory`, `dtype` and `check_sizes`.
    """
    found = tool()
    if found is None:
        for kernel in kernels:
            done({"name": kernel["name"], "status": "not run", "message": f"no {TOOL} on this machine"})
        return
    version = _version(found)
    with ThreadPoolExecutor(WORKERS) as pool:
        for result in pool.map(partial(_both, found, bundle), kernels):
            done({**result, "tool": version})


def _both(found: str, bundle: Path, kernel: Mapping[str, Any]) -> dict[str, Any]:
    result = _one(found, bundle, {**kernel, "short": False})
    short = _one(found, bundle, {**kernel, "check_sizes": kernel["check_sizes"][-1:], "short": True})
    return {"name": kernel["name"], **result, "short_c": {k: short[k] for k in ("errors", "message") if k in short}}


def _version(found: str) -> str:
    said = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=KILL_S, check=False).stdout
    return next((line.split()[1] for line in said.splitlines() if line.startswith("Version ")), "unknown")


def _one(found: str, bundle: Path, kernel: Mapping[str, Any]) -> dict[str, Any]:
    command = [found, "--tool", "memcheck", sys.executable, str(bundle / "run.py"), "--launch", json.dumps(kernel)]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=KILL_S, check=False)
    except subprocess.TimeoutExpired:
        return {"status": "killed", "message": f"took longer than {KILL_S:g} s"}
    return read(ended.stdout + ended.stderr)


def read(output: str) -> dict[str, Any]:
    """The child's line of JSON and the tool's summary. "clean" only where both say so."""
    lines = [line for line in output.splitlines() if line.startswith("{")]
    told: dict[str, Any] = json.loads(lines[-1]) if lines else {"message": output[-1000:]}
    summary = SUMMARY.search(output)
    if summary is None:
        return {**told, "status": "failed", "message": output[-1000:]}
    errors = int(summary[1])
    first = next((line for line in output.splitlines() if "Invalid" in line), "")
    if errors:
        return {**told, "status": "errors", "errors": errors, "message": first.removeprefix("=========").strip()}
    if not told.get("right"):
        return {"message": "C is wrong", **told, "status": "failed", "errors": 0}
    return {**told, "status": "clean", "errors": 0}


def launch(bundle: Path, kernel: Mapping[str, Any]) -> dict[str, Any]:
    """The child: a launch a size on operands of ones, so that every element of C is K.

    Raises:
        CudaError: If there is no device, or the cubin cannot be loaded.
    """
    device = _context()
    loaded = Kernel(bundle / kernel["directory"])
    hashes = {"kernel_sha": loaded.kernel_sha, "cubin_sha": loaded.cubin_sha, "device": {"name": device}}
    right = True
    sizes_run: list[Mapping[str, int]] = []
    for sizes in kernel["check_sizes"]:
        try:
            right &= _launched(loaded, sizes, kernel["dtype"], short=kernel["short"])
        except CudaError as error:
            return {"right": False, "sizes": [*sizes_run, sizes], "message": str(error), **hashes}
        sizes_run.append(sizes)
    return {"right": right, "sizes": sizes_run, **hashes}


def _context() -> str:
    """The device's name."""
    cuda = library()
    device, context, name = C.c_int(), C.c_void_p(), C.create_string_buffer(100)
    check(cuda.cuInit(0), "start the driver")
    check(cuda.cuDeviceGet(C.byref(device), 0), "device")
    check(cuda.cuDevicePrimaryCtxRetain(C.byref(context), device), "context")
    check(cuda.cuCtxSetCurrent(context), "context")
    check(cuda.cuDeviceGetName(name, len(name), device), "the device's name")
    return name.value.decode()


def _launched(kernel: Kernel, sizes: Mapping[str, int], dtype: str, *, short: bool) -> bool:
    """Whether all of C is right."""
    m, n, k = sizes["M"], sizes["N"], sizes["K"]
    elements = {"A": m * k, "B": n * k, "C": (m - short) * n}
    addresses = {name: _filled(count, NAN if name == "C" else ONE[dtype]) for name, count in elements.items()}
    kernel.launch(addresses, sizes)(0)
    check(library().cuCtxSynchronize(), f"run at {dict(sizes)}")
    got = (C.c_uint16 * elements["C"])()
    check(library().cuMemcpyDtoH_v2(got, C.c_uint64(addresses["C"]), C.c_size_t(C.sizeof(got))), "read C")
    for address in addresses.values():
        check(library().cuMemFree_v2(C.c_uint64(address)), "free")
    return set(got) == {rounded(k, dtype)}


def _filled(count: int, bits: int) -> int:
    address = C.c_uint64()
    check(library().cuMemAlloc_v2(C.byref(address), C.c_size_t(2 * count)), "allocate")
    check(library().cuMemsetD16_v2(address, C.c_ushort(bits), C.c_size_t(count)), "fill")
    return address.value


def rounded(value: int, dtype: str) -> int:
    """The bits of an integer in a 16-bit type, to nearest, ties to even."""
    if dtype == "float16":
        return struct.unpack("<H", struct.pack("<e", value))[0]
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
