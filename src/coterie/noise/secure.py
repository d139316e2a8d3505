"""Noise for real releases: OpenDP's exact samplers, fed by the operating system's randomness.

Plain double-precision Laplace noise leaks its centre through the floating-point grid (Mironov 2012). OpenDP rounds
nothing: it draws a discrete Laplace on the grid 2^-1074 in exact arithmetic and rounds only the final sum.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.noise.sampler import Floats


@dataclass(frozen=True, slots=True)
class SecureSampler:
    name: str = "OpenDP exact discrete Laplace"
    private: bool = True

    def laplace(self, centres: Floats, scales: Floats, stream: str) -> Floats:
        released = centres.copy()
        # A measurement costs 0.3 ms to make and 25 µs to draw from: make one for each distinct scale.
        distinct, which = np.unique(scales, return_inverse=True)
        order = np.argsort(which, kind="stable")
        starts = np.searchsorted(which[order], np.arange(len(distinct) + 1))
        for number, scale in enumerate(distinct):
            if scale > 0:
                members = order[starts[number] : starts[number + 1]]
                released[members] = _measurement(float(scale))(centres[members].tolist())
        return released

    def uniform_words(self, count: int, stream: str) -> NDArray[np.uint64]:
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


def _measurement(scale: float) -> Any:
    import opendp.prelude as dp  # 0.3 s to import: paid only by real releases

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    return dp.m.make_laplace(domain, dp.l1_distance(T=float), scale=scale)
