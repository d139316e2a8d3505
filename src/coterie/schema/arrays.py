"""Names for arrays that every room uses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Bytes = NDArray[np.uint8]
Whole = NDArray[np.int64]
Codes = NDArray[np.int32]  # labels by number, clusters by number
Flags = NDArray[np.bool_]
Words = NDArray[np.uint64]  # random bits, hashes
