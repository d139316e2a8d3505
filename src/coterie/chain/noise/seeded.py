"""Noise for experiments: the same seed gives the same release, so it protects nobody.

A draw is a pure function of (seed, stream, cluster number): Philox is counter-based, each stream has a key of its
own, and one 64-bit word makes one draw. Engines that see the clusters in any order can repeat it.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.chain.noise.sampler import NoiseGrid
from coterie.schema.arrays import Floats, Words

_WORDS = 4  # that Philox makes of one count
_HIGHEST = 0.5 - 2.0**-54


@dataclass(frozen=True, slots=True)
class SeededSampler:
    seed: int
    first: int = 0  # number of the first cluster, for engines that hold only some
    name: str = "NumPy Philox, seeded"
    private: bool = False

    def laplace(self, centres: Floats, scales: Floats, stream: str, grid: NoiseGrid | None = None) -> Floats:
        unit = unit_laplace(self.uniform_words(len(centres), stream))
        return np.asarray(centres + scales * unit, dtype=np.float64)

    def uniform_words(self, count: int, stream: str) -> Words:
        words: Words = seeded_words([(self.seed, stream)], count, self.first)[0]
        return words


def seeded_words(streams: Iterable[tuple[int, str]], count: int, first: int = 0) -> Words:
    """A row of words for each (seed, stream), from word `first` on."""
    generator = np.random.Philox(key=0)
    place: dict[str, tuple[int, ...]] = {"counter": (first // _WORDS, 0, 0, 0)}
    # Plain numbers: NumPy's would take twice as long to read.
    state: Any = {
        "bit_generator": "Philox",
        "state": place,
        "buffer": (0,) * _WORDS,
        "buffer_pos": _WORDS,
        "has_uint32": 0,
        "uinteger": 0,
    }
    rows = []
    for seed, stream in streams:
        key = hashlib.blake2b(f"{seed}\x00{stream}".encode(), digest_size=16).digest()
        # One generator set to each stream in turn: making one takes ten times as long.
        place["key"] = struct.unpack("<QQ", key)
        generator.state = state
        rows.append(generator.random_raw(first % _WORDS + count)[first % _WORDS :])
    # One long stream is not copied.
    return rows[0][None] if len(rows) == 1 else np.concatenate(rows).reshape(len(rows), count)


def unit_laplace(words: Words) -> Floats:
    """Standard Laplace draws. The middle of each of 2^53 cells: never 0 or 1, so the logarithm below is finite."""
    centred = (words >> np.uint64(11)).astype(np.float64)
    centred += 0.5
    centred *= 2.0**-53
    centred -= 0.5
    np.minimum(centred, _HIGHEST, out=centred)  # the last cell's middle is no double, and would round to 1
    drawn = np.abs(centred)
    drawn *= -2.0
    np.log1p(drawn, out=drawn)
    return np.copysign(drawn, centred, out=drawn)


# Seeds of experiments: each owner its own stream. With one seed for all, their noise would be the same.


def owner_seed(seed: int, owner: str) -> int:
    """A function of the study's seed and the owner's name, so that a study can be repeated in one process."""
    digest = hashlib.sha256(f"coterie study seed\n{seed}\n{owner}".encode()).digest()
    return int.from_bytes(digest[:7], "big")
