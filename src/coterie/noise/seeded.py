"""Noise for experiments: the same seed gives the same release, so it protects nobody.

A draw is a pure function of (seed, stream, cluster number): Philox is counter-based, each stream has a key of its
own, and one 64-bit word makes one draw. Engines that see the clusters in any order can repeat it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.noise.grid import Floats, Grid

_WORDS = 4  # that Philox makes of one count


@dataclass(frozen=True, slots=True)
class SeededSampler:
    seed: int
    first: int = 0  # number of the first cluster, for engines that hold only some
    name: str = "NumPy Philox, seeded"
    private: bool = False

    def laplace(self, centres: Floats, scales: Floats, stream: str, grid: Grid | None = None) -> Floats:
        words = self.uniform_words(len(centres), stream)
        # The middle of each of 2^53 cells: never 0 or 1, so the logarithm below is finite.
        centred = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53 - 0.5
        unit = -np.sign(centred) * np.log1p(-2.0 * np.abs(centred))
        return np.asarray(centres + scales * unit, dtype=np.float64)

    def uniform_words(self, count: int, stream: str) -> NDArray[np.uint64]:
        digest = hashlib.blake2b(f"{self.seed}\x00{stream}".encode(), digest_size=16).digest()
        generator = np.random.Philox(key=int.from_bytes(digest, "little"))
        generator.advance(self.first // _WORDS)
        generator.random_raw(self.first % _WORDS)
        return generator.random_raw(count)
