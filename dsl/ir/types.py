"""Types of views and fragments: dtype, shape, space, axis names, hardware map. Checked before any tag."""

from __future__ import annotations

from argus.dsl.ir.infer import infer
from argus.dsl.ir.shapes import DTYPE_BYTES, FragType, Types, ViewType, view_type

__all__ = ["DTYPE_BYTES", "FragType", "Types", "ViewType", "infer", "view_type"]
