"""What a kernel with a planted bug does: launches with fresh inputs, each compared with the reference.

Its waits trap after 2^26 polls, so that a hang ends with an error of the driver, which also ends the process.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .driver import CudaError
from .gemm import judge, make
from .launch import Kernel

LAUNCHES = 20
WORST = ("error", "nan", "guard_touched")  # kept of the worst launch


def run(torch: Any, entry: Mapping[str, Any], bundle: Path) -> dict[str, Any]:  # noqa: ANN401 - torch
    """Every size so many times, up to the first launch that ends the context.

    `status` is "right", "wrong", or "fault" with the driver's message and the seconds that the launch took.
    """
    kernel = Kernel(bundle / entry["directory"])
    hashes = {"kernel_sha": kernel.kernel_sha, "cubin_sha": kernel.cubin_sha}
    checks: list[dict[str, Any]] = []
    for sizes in entry["check_sizes"]:
        print(f"launch at {dict(sizes)}", flush=True)  # where it stands, should it be killed
        found: dict[str, Any] = {"sizes": sizes, "ok": True, "launches": 0, "wrong": 0}
        found.update(dict.fromkeys(WORST, 0))
        checks.append(found)
        for _ in range(LAUNCHES):
            data = make(torch, sizes, entry["dtype"], time.time_ns() % (1 << 31))
            torch.cuda.synchronize()
            start = time.perf_counter()
            try:
                kernel.launch(data.addresses, sizes)(torch.cuda.current_stream().cuda_stream)
                torch.cuda.synchronize()
            except (CudaError, RuntimeError) as error:
                fault = {"message": str(error).split("\n", maxsplit=1)[0], "fault_seconds": time.perf_counter() - start}
                return {"status": "fault", "at": sizes, **fault, "checks": checks, **hashes}
            verdict = judge(torch, data, entry["dtype"])
            found["launches"] += 1
            found["wrong"] += not verdict["ok"]
            found["ok"] &= verdict["ok"]
            for what in WORST:
                found[what] = max(found[what], verdict[what])
    wrong = any(c["wrong"] for c in checks)
    return {"status": "wrong" if wrong else "right", "checks": checks, **hashes}
