"""The seeded draws of many runs at once, behind the interface through which mechanisms ask for noise."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.chain.noise.sampler import NoiseGrid
from coterie.chain.noise.seeded import seeded_words, unit_laplace
from coterie.comparison.sorted_table import Draws
from coterie.schema.arrays import Floats, Words

_KEPT = 4_000_000  # words and draws of all columns kept for reuse by later k; more are drawn again
_AT_ONCE = 100_000  # draws: more of them would leave the processor's own cache
_RUN = re.compile("\x00(\\d+)\x00")


def of_run(name: str, run: int) -> str:
    """The name of a column that stands for one run only: its noise is that of `name` in this run."""
    return f"{name}\x00{run}\x00"  # no column of a file has such a name


@dataclass(frozen=True, slots=True)
class SharedNoise:
    """What `SeededSampler(seed + r)` draws for each run r: a row per run, or of one run (`each`) plain draws."""

    kept: Draws  # of the whole grid
    columns: int
    seed: int
    count: int  # of runs
    runs: slice | int
    own: Draws = field(default_factory=dict)  # of this column and k, where there are too many to keep
    lock: AbstractContextManager[Any] = field(default_factory=Lock, repr=False)
    name: str = "NumPy Philox, seeded, many runs"
    private: bool = False

    def only(self, runs: slice | int) -> SharedNoise:
        return replace(self, runs=runs)

    @property
    def width(self) -> int:
        return self.runs.stop - self.runs.start if isinstance(self.runs, slice) else 1

    def each(self) -> Iterator[SharedNoise]:
        """The same runs one by one, for mechanisms that know of one only."""
        assert isinstance(self.runs, slice)
        return map(self.only, range(self.runs.start, self.runs.stop))

    def laplace(self, centres: Floats, scales: Floats, stream: str, grid: NoiseGrid | None = None) -> Floats:
        noisy: Floats = self._drawn(unit_laplace, stream, len(centres)) * scales
        noisy += centres
        return noisy

    def uniform_words(self, count: int, stream: str) -> Words:
        return self._drawn(_as_they_are, stream, count)

    def _drawn(self, make: Callable[[Words], NDArray[Any]], stream: str, count: int) -> NDArray[Any]:
        """A stream does not depend on how much of it is read, so larger k take the beginning of what smaller ones had."""
        key = (make, stream, self.seed, self.count)
        with self.lock:  # no stream is drawn twice
            found = self.kept.get(key, self.own.get(key))
            if found is None or found.shape[1] < count:
                found = self._draw(make, stream, count)
                (self.kept if found.size * self.columns <= _KEPT else self.own)[key] = found
        return found[self.runs, :count]

    def _draw(self, make: Callable[[Words], NDArray[Any]], stream: str, count: int) -> NDArray[Any]:
        of_one_run = _RUN.search(stream)
        first = self.seed + (int(of_one_run[1]) if of_one_run else 0)
        pairs = [(first + run, _RUN.sub("", stream)) for run in range(self.count)]
        together = max(1, _AT_ONCE // count)
        parts = [
            make(seeded_words(pairs[start : start + together], count))
            for start in range(0, len(pairs), together)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _as_they_are(words: Words) -> Words:
    return words
