"""The interpreter agrees that the kernels of `tests/kernels/control` are right, under several schedules and sizes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from argus.dsl.frontend import parse
from argus.dsl.interp import POLICIES, wrong
from argus.dsl.interp.program import prepare
from argus.dsl.transform import to_core

FOLDER = Path(__file__).parents[1] / "kernels" / "control"
Arrays = Mapping[str, npt.NDArray[Any]]
Sizes = Mapping[str, int]

GEMM_SIZES = ({"M": 70, "N": 72, "K": 40}, {"M": 33, "N": 136, "K": 8}, {"M": 64, "N": 64, "K": 200})
CONV = {"N": 2, "H": 4, "W": 5, "C": 24, "O": 20, "M": 64}
SIZES: dict[str, tuple[Sizes, ...]] = {
    "split_rows": ({"M": 300, "N": 72}, {"M": 5, "N": 4}),
    "permute": ({"P": 128, "N": 72},),
    "conv2d": (CONV,),
    "moe_up": ({"T": 9, "K": 72, "E": 3, "N": 40, "P": 128},),
    "moe_down": ({"T": 9, "K": 72, "E": 3, "N": 40, "P": 128},),
}


def reference(name: str, given: Arrays, sizes: Sizes) -> Arrays:
    """What the kernel computes."""
    match name:
        case "split_rows":
            return {"C": given["A"]}
        case "permute":
            out = np.empty_like(given["A"])
            out[given["to"].astype(int)] = given["A"]
            return {"C": out}
        case "split_k_partials":
            parts = range(0, sizes["K"], 96)
            return {"W": np.stack([given["A"][:, k : k + 96] @ given["B"][:, k : k + 96].T for k in parts])}
        case "moe_up":
            slot, expert = given["slot"].astype(int), np.repeat(given["expert"].astype(int), 64)
            x = np.where(slot[:, None] >= 0, given["X"][slot], 0.0)
            g, u = (np.einsum("sk,snk->sn", x, given[w][expert]) for w in ("Wg", "Wu"))
            return {"Y": g / (1.0 + np.exp(-g)) * u}
        case "moe_down":
            slot, expert = given["slot"].astype(int), np.repeat(given["expert"].astype(int), 64)
            rows = np.einsum("sk,snk->sn", given["H"], given["W"][expert])
            out = np.zeros((sizes["T"], sizes["N"]))
            np.add.at(out, slot[slot >= 0], rows[slot >= 0])
            return {"Y": out}
        case "conv2d":
            return {"Z": convolution(given, sizes)}
        case _:
            return {"C": given["A"] @ given["B"].T}


def convolution(given: Arrays, sizes: Sizes) -> npt.NDArray[Any]:
    out = np.zeros((sizes["M"], sizes["O"]))
    image, row, column = (given[n].astype(int) for n in ("image", "row", "column"))
    for m, u, v in np.ndindex(sizes["M"], 3, 3):
        y, x = row[m] + u, column[m] + v
        if 0 <= y < sizes["H"] and 0 <= x < sizes["W"]:
            out[m] += given["F"][u, v] @ given["X"][image[m] + y * sizes["W"] + x]
    return out


def inputs(name: str, shapes: Mapping[str, tuple[int, ...]], sizes: Sizes, rng: np.random.Generator) -> dict[str, Any]:
    """Random numbers, and integers as the contract wants them."""
    made: dict[str, Any] = {n: rng.standard_normal(shape) for n, shape in shapes.items()}
    if name == "permute":
        made["to"] = rng.permutation(sizes["P"])
    if name.startswith("moe"):
        made["slot"] = rng.integers(-1, sizes["T"], sizes["P"])
        made["expert"] = rng.integers(0, sizes["E"], sizes["P"] // 64)
    if name == "conv2d":
        pixels = sizes["H"] * sizes["W"]
        made["image"] = rng.integers(0, sizes["N"], sizes["M"]) * pixels
        made["row"] = rng.integers(-1, sizes["H"], sizes["M"])
        made["column"] = rng.integers(-1, sizes["W"], sizes["M"])
    return made


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(p.stem for p in FOLDER.glob("*.py")))
def test_the_interpreter_finds_nothing_wrong(name: str) -> None:
    core = to_core(parse((FOLDER / f"{name}.py").read_text("utf-8")))
    written = {e.tensor for e in core.ensures}

    def make(sizes: Sizes, rng: np.random.Generator) -> dict[str, Any]:
        shapes = {n: s for n, s in prepare(core, sizes).shapes.items() if n not in written}
        return inputs(name, shapes, sizes, rng)

    found = wrong(
        core, lambda given, sizes: reference(name, given, sizes), sizes_list=SIZES.get(name, GEMM_SIZES),
        policies=POLICIES[::5], inputs=make,
    )  # fmt: skip
    assert found is None, str(found)
