"""The discrete Laplace, drawn exactly and fast: integers in, integers out, one tape of random words per cluster.

Draw j is a function of (key, j) alone. An engine that meets the clusters in pieces, or a task that runs again after a
failure, draws the same bytes; docs/guarantees/discrete-laplace.md says why that is safe.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from coterie.chain.noise._laplace_digits import draw_by_digits
from coterie.chain.noise.keystream import Keystream
from coterie.schema.arrays import Whole

LARGEST_SCALE = 1 << 56  # in steps of the grid
_FIRST_BLOCKS = 4  # 16 words settle 98 draws in a hundred
_FEW = 20_000  # draws that take a process half as long, one by one, as loading the compiler
_PIECE = 1 << 14  # clusters whose tape fits into a level-2 cache
_FURTHER_DIGITS = 1 << 16  # number of the part that holds them, far behind the parts of the tape
_WORD = np.dtype("<u4")
_drawn_so_far = 0


def discrete_laplace(scales: Whole, source: Keystream, first: int = 0) -> Whole:
    """Noise for clusters first, first+1, …: Pr(y) = tanh(1/2t)·exp(-|y|/t), t = scale; a scale of 0 draws 0."""
    if _still_few(len(scales)):
        drawn = [t and _by_digits(first + row, t, source) for row, t in enumerate(scales.tolist())]
        return np.array(drawn, dtype=np.int64)
    noise = np.empty(len(scales), dtype=np.int64)
    for begin in range(0, len(scales), _PIECE):
        piece = np.ascontiguousarray(scales[begin : begin + _PIECE])
        place = first + begin
        tape = source.range(0, place * _FIRST_BLOCKS, len(piece) * _FIRST_BLOCKS).view(_WORD)
        numbers = np.arange(place, place + len(piece))
        _draw(tape.reshape(len(piece), -1), piece, numbers, 1, source, noise[begin : begin + _PIECE])
    return noise


def _still_few(draws: int) -> bool:
    """Whether this process had better draw them one by one. Each draw is the same either way."""
    global _drawn_so_far
    _drawn_so_far += draws
    return _drawn_so_far <= _FEW and "numba" not in sys.modules


def _draw(
    tape: NDArray[np.uint32], scales: Whole, numbers: Whole, part: int, source: Keystream, out: Whole
) -> None:
    """Fill `out`; what a tape could not settle is drawn again from its beginning, on a longer tape or digit by digit."""
    from coterie.chain.noise import _laplace_loop  # here, so that small tables never load the compiler

    undone = np.empty(len(scales), dtype=np.int64)
    why = np.empty(len(scales), dtype=np.int8)
    left = _laplace_loop.draw(tape.reshape(-1), scales, out, undone, why)
    undone, why = undone[:left], why[:left]
    for row in undone[why == _laplace_loop.NEEDS_MORE_DIGITS]:
        out[row] = _by_digits(int(numbers[row]), int(scales[row]), source)
    short = undone[why == _laplace_loop.TAPE_TOO_SHORT]
    if len(short):
        # The same words again, and behind them three times as many: an endless tape would give the same draw.
        more = source.chosen(part, numbers[short], _blocks(part)).view(_WORD).reshape(len(short), -1)
        longer = np.concatenate([tape[short], more], axis=1)
        redrawn = np.empty(len(short), dtype=np.int64)
        _draw(longer, scales[short], numbers[short], part + 1, source, redrawn)
        out[short] = redrawn


def _blocks(part: int) -> int:
    """Blocks per cluster in each part of its tape: 4, 12, 48, …: the tape grows fourfold."""
    return _FIRST_BLOCKS if part == 0 else 3 * _FIRST_BLOCKS * 4 ** (part - 1)


def _by_digits(number: int, scale: int, source: Keystream) -> int:
    def tape() -> Iterator[int]:
        part = 0
        while True:
            yield from source.range(part, number * _blocks(part), _blocks(part)).view(_WORD).tolist()
            part += 1

    def further() -> Iterator[int]:
        part = 0
        while True:
            yield from source.range(_FURTHER_DIGITS + part, number, 1).view(_WORD).tolist()
            part += 1

    return draw_by_digits(tape(), further(), scale)
