"""Room for arrays that are needed for a moment only, kept for the next time."""

from __future__ import annotations

import math
import threading

import numpy as np
from numpy.typing import NDArray


class Scratch(threading.local):
    """Every thread has rooms of its own. Fresh memory is mapped page by page, which takes longer than the arithmetic."""

    def __init__(self) -> None:
        self._rooms: dict[str, NDArray[np.float64]] = {}

    def room(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """An array with anything in it, until the same name is asked for again."""
        size = math.prod(shape)
        kept = self._rooms.get(name)
        if kept is None or len(kept) < size:
            kept = self._rooms[name] = np.empty(size)
        return kept[:size].reshape(shape)
