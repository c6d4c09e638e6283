"""Types of views and fragments: dtype, shape, space, axis names, hardware map. Checked before any tag."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from argus.dsl.ir.nodes import Dtype, Shared, Space, TensorParam
from argus.dsl.layout import Expr, FragMap

DTYPE_BYTES: Mapping[Dtype, int] = {"f16": 2, "bf16": 2, "f8": 1, "f32": 4, "i8": 1, "i32": 4, "bool": 1}


@dataclass(frozen=True, slots=True)
class ViewType:
    """A view's static type. `axes` holds tag-axis names where they are known, else ''."""

    dtype: Dtype
    shape: tuple[Expr, ...]
    space: Space
    axes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FragType:
    """A fragment's static type; shape () and map `Uniform` for scalars."""

    dtype: Dtype
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    map: FragMap
    regs: Literal["vgpr", "agpr"] = "vgpr"


@dataclass(frozen=True, slots=True)
class Types:
    """Everything a consumer of core form asks about names.

    Attributes:
        sizes: Size symbols in order of first appearance in the signature.
        indices: Block indices, group indices, split bounds and loop variables.
    """

    params: Mapping[str, TensorParam]
    buffers: Mapping[str, Shared]
    frags: Mapping[str, FragType]
    sizes: tuple[str, ...]
    scalars: Mapping[str, Dtype] = field(default_factory=dict[str, Dtype])
    indices: tuple[str, ...] = ()
