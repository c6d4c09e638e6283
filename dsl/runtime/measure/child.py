"""What one child process does: a candidate at one size, or the library's own A/A pair; or a survey of candidates."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import planted
from .clocks import Clocks
from .driver import CudaError
from .gemm import Data, judge, make, sets
from .launch import Kernel
from .paired import Graph, Rounds, Work, alternate
from .statistics import interval

LIBRARIES = ("cublas", "cublaslt")
SURVEY_WARM_MS = 60.0


def run(entry: Mapping[str, Any], bundle: Path) -> dict[str, Any]:
    """Measure one entry of the bundle's list.

    Raises:
        CudaError: If the cubin cannot be loaded or launched; other exceptions are PyTorch's.
    """
    import torch  # type: ignore[import-not-found] # noqa: PLC0415 - the parent never loads it

    start = time.perf_counter()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.zeros(1, device="cuda")  # makes the context current
    if entry["kind"] == "peer":
        found = _peer(torch, entry)
    else:
        found = (planted.run if entry["kind"] == "planted" else _candidate)(torch, entry, bundle)
    return {**found, "device": _device(torch), "seconds": time.perf_counter() - start}


def survey(entries: Sequence[Mapping[str, Any]], bundle: Path, done: Callable[[dict[str, Any]], None]) -> None:
    """Measure entries of one shape after each other, on the same data, in few rounds: to choose by, not to report.

    `done` is told each result as it is known.
    """
    import torch  # type: ignore[import-not-found] # noqa: PLC0415

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.zeros(1, device="cuda")
    peer = entries[0]
    data = _data(torch, peer)
    library = _preferred(torch, data)[0]
    torch.backends.cuda.preferred_blas_library(library)
    theirs = Graph(torch, _matmuls(torch, data))
    device = _device(torch)
    for entry in entries:
        start = time.perf_counter()
        try:
            if entry["kind"] == "candidate":
                found = _surveyed(torch, entry, bundle, data, theirs)
            else:
                found = {"status": "ok", **_times(alternate(torch, theirs, theirs, entry["rounds"], Clocks()), entry)}
        except Exception as error:
            found = {"status": "failed", "message": f"{type(error).__name__}: {error}"}
        done({**found, "library": library, "device": device, "seconds": time.perf_counter() - start})


def _surveyed(torch: Any, entry: Mapping[str, Any], bundle: Path, data: list[Data], theirs: Graph) -> dict[str, Any]:  # noqa: ANN401 - torch
    kernel = Kernel(bundle / entry["directory"])
    hashes = {"kernel_sha": kernel.kernel_sha, "cubin_sha": kernel.cubin_sha}
    checks = [_checked(torch, kernel, sizes, entry["dtype"]) for sizes in entry["check_sizes"]]
    for d in data[:1]:
        d.memory.fill_(float("nan"))
    ours = _works(torch, kernel, data, entry["sizes"])
    ours[0]()
    torch.cuda.synchronize()
    checks.append({"sizes": entry["sizes"], **judge(torch, data[0], entry["dtype"])})
    right = all(c["ok"] for c in checks)
    if not right:
        return {"checks": checks, "status": "wrong", **hashes}
    rounds = alternate(torch, Graph(torch, ours), theirs, entry["rounds"], Clocks(), warm_ms=SURVEY_WARM_MS)
    return {"checks": checks, "status": "ok", **hashes, **_times(rounds, entry)}


def _device(torch: Any) -> dict[str, Any]:  # noqa: ANN401 - torch
    properties = torch.cuda.get_device_properties(0)
    return {
        "name": properties.name,
        "sms": properties.multi_processor_count,
        "capability": list(torch.cuda.get_device_capability(0)),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
    }


# ------------------------------------------------------------------------------------------------ peer


def _peer(torch: Any, entry: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - torch
    """Which library serves this size best, and the library against itself."""
    data = _data(torch, entry)
    best, seconds = _preferred(torch, data)
    torch.backends.cuda.preferred_blas_library(best)
    work = _matmuls(torch, data)
    rounds = alternate(torch, Graph(torch, work), Graph(torch, work), entry["rounds"], _clocks(torch))
    checks = [judge(torch, data[0], entry["dtype"])]
    return {"library": best, "preference_seconds": seconds, "checks": checks, **_times(rounds, entry)}


def _preferred(torch: Any, data: list[Data]) -> tuple[str, dict[str, float]]:  # noqa: ANN401 - torch
    """The faster library here, and the seconds of each."""
    seconds: dict[str, float] = {}
    for library in LIBRARIES:
        torch.backends.cuda.preferred_blas_library(library)
        graph = Graph(torch, _matmuls(torch, data))
        seconds[library] = min(alternate(torch, graph, graph, 3, Clocks()).a)
    return min(seconds, key=lambda name: seconds[name]), seconds


def _works(torch: Any, kernel: Kernel, data: list[Data], sizes: Mapping[str, int]) -> list[Work]:  # noqa: ANN401 - torch
    """A launch on each set of tensors, on whatever stream is current when it is called."""
    launches = [kernel.launch(d.addresses, sizes) for d in data]
    return [lambda x=x: x(torch.cuda.current_stream().cuda_stream) for x in launches]


def _matmuls(torch: Any, data: list[Data]) -> list[Work]:  # noqa: ANN401 - torch
    return [lambda d=d: torch.matmul(d.a, d.b.t(), out=d.c) for d in data]


# ------------------------------------------------------------------------------------------- candidate


def _candidate(torch: Any, entry: Mapping[str, Any], bundle: Path) -> dict[str, Any]:  # noqa: ANN401 - torch
    kernel = Kernel(bundle / entry["directory"])
    hashes = {"kernel_sha": kernel.kernel_sha, "cubin_sha": kernel.cubin_sha}
    checks = [_checked(torch, kernel, sizes, entry["dtype"]) for sizes in entry["check_sizes"]]
    if not entry["rounds"]:
        return {"checks": checks, "status": "ok" if all(c["ok"] for c in checks) else "wrong", **hashes}
    print(f"time {entry['sizes']}", flush=True)
    data = _data(torch, entry)
    ours = _works(torch, kernel, data, entry["sizes"])
    for work in ours:
        work()
    torch.cuda.synchronize()
    here = [{"sizes": entry["sizes"], **judge(torch, d, entry["dtype"])} for d in data[:2]]
    checks += here
    if not all(c["ok"] for c in here):
        return {"checks": checks, "status": "wrong", **hashes}
    first = [d.c.clone() for d in data]
    if entry["kind"] == "aa":
        theirs = ours
    else:
        torch.backends.cuda.preferred_blas_library(entry["library"])
        outs = [torch.empty_like(d.c) for d in data]
        theirs = [lambda d=d, o=o: torch.matmul(d.a, d.b.t(), out=o) for d, o in zip(data, outs, strict=True)]
    rounds = alternate(torch, Graph(torch, ours), Graph(torch, theirs), entry["rounds"], _clocks(torch))
    # Hundreds of replays later the results are what they were, bit by bit.
    steady = all(torch.equal(d.c, c) for d, c in zip(data, first, strict=True))
    status = "unsteady" if not steady else "ok" if all(c["ok"] for c in checks) else "wrong"
    return {"checks": checks, "status": status, "library": entry.get("library"), **hashes, **_times(rounds, entry)}


def _checked(torch: Any, kernel: Kernel, sizes: Mapping[str, int], dtype: str) -> dict[str, Any]:  # noqa: ANN401 - torch
    """One launch at other sizes; a refusal of the driver is a failed check, and does not keep the rest from running."""
    print(f"check {dict(sizes)}", flush=True)  # where it stands, should it hang
    try:
        data = make(torch, sizes, dtype, time.time_ns() % (1 << 31))
        kernel.launch(data.addresses, sizes)(torch.cuda.current_stream().cuda_stream)
        torch.cuda.synchronize()
        return {"sizes": sizes, **judge(torch, data, dtype)}
    except CudaError as error:
        return {"sizes": sizes, "ok": False, "message": str(error)}


def _clocks(torch: Any) -> Clocks:  # noqa: ANN401 - torch
    p = torch.cuda.get_device_properties(0)
    try:
        return Clocks(f"{p.pci_domain_id:08x}:{p.pci_bus_id:02x}:{p.pci_device_id:02x}.0")
    except AttributeError:
        return Clocks()


def _data(torch: Any, entry: Mapping[str, Any]) -> list[Data]:  # noqa: ANN401 - torch
    seed = time.time_ns() % (1 << 31)
    return [make(torch, entry["sizes"], entry["dtype"], seed + i) for i in range(sets(entry["sizes"]))]


def _times(rounds: Rounds, entry: Mapping[str, Any]) -> dict[str, Any]:
    s = entry["sizes"]
    flop = 2.0 * s["M"] * s["N"] * s["K"]
    ours, theirs, ratio = interval(rounds.a), interval(rounds.b), interval(rounds.ratios)
    return {
        "time_us": [x * 1e6 for x in ours],
        "peer_us": [x * 1e6 for x in theirs],
        "ratio": list(ratio),
        "ratios": rounds.ratios,
        "tflops": flop / ours[0] / 1e12,
        "peer_tflops": flop / theirs[0] / 1e12,
        "clocks": rounds.clocks,
    }
