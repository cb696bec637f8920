"""Arrays of numbers, as signatures name them; of any shape, which docstrings state."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Integers = NDArray[np.int64]
Integers32 = NDArray[np.int32]
Booleans = NDArray[np.bool_]
