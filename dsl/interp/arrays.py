"""Array types."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.intp]  # numpy indexes fastest with its own integer
Ids = npt.NDArray[np.int32]
