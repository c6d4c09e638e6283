"""A compiled kernel's folder to launches: formulas evaluated, tensor maps encoded, hashes verified."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .driver import CudaError, Function, Launch, TensorMap, multiprocessors

ELEMENT_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4}
CUBIN, MANIFEST = "kernel.cubin", "manifest.json"


def formula(text: str, names: Mapping[str, int]) -> int:
    """Integer arithmetic of a manifest over sizes."""
    functions: dict[str, Any] = {"cdiv": _cdiv, "min": min, "max": max}
    return int(eval(text, {"__builtins__": {}}, {**functions, **names}))


def _cdiv(a: int, b: int) -> int:
    return -(-a // b)


class Kernel:
    """A cubin that is loaded into the current context.

    Raises:
        CudaError: If the cubin is not the one that the manifest names, or the driver refuses it.
    """

    def __init__(self, directory: Path) -> None:
        self.manifest: dict[str, Any] = json.loads((directory / MANIFEST).read_text("utf-8"))
        cubin = (directory / CUBIN).read_bytes()
        self.cubin_sha = hashlib.sha256(cubin).hexdigest()
        if self.manifest["files"][CUBIN] != self.cubin_sha:
            raise CudaError(f"{directory / CUBIN} is not the cubin that was compiled")
        self.kernel_sha: str = self.manifest["kernel_sha"]
        self._function = Function(cubin, self.manifest["symbol"], self.manifest["shared_bytes"])

    def launch(self, addresses: Mapping[str, int], sizes: Mapping[str, int]) -> Launch:
        """A launch on tensors at these device addresses.

        Raises:
            CudaError: If the sizes violate a condition of the kernel.
        """
        m = self.manifest
        broken = [w for w in m["where"] if not formula(w, sizes)] + [f"{n} >= 1" for n, v in sizes.items() if v < 1]
        if broken:
            raise CudaError(f"the kernel needs {', '.join(broken)}; sizes are {dict(sizes)}")
        maps = [
            TensorMap(
                addresses[t["tensor"]],
                t["dtype"],
                ELEMENT_BYTES[t["dtype"]],
                dims=[formula(d, sizes) for d in t["dims"]],
                box=t["box"],
                swizzle=t["swizzle"],
            )
            for t in m["maps"]
        ]
        return Launch(
            self._function,
            grid=formula(m["grid"], {**sizes, "sms": multiprocessors()}),
            threads=m["threads"],
            shared_bytes=m["shared_bytes"],
            maps=maps,
            pointers=[addresses[name] for name in m.get("pointers", ())],
            numbers=[sizes[n] for n in m["sizes"]],
        )
