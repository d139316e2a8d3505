"""The discrete Laplace, drawn exactly and fast: integers in, integers out, one tape of random words per cluster.

Draw j is a function of (key, j) alone. An engine that meets the clusters in pieces, or a task that runs again after a
failure, draws the same bytes; docs/guarantees/discrete-laplace.md says why that is safe.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from coterie.chain.noise.keystream import Keystream
from coterie.chain.partition._compiled import compiled
from coterie.schema.arrays import Whole

# A draw by whole numbers of any length: for a few clusters, for which loading the compiler would take longer than the draws,
# and for those whose first digits do not settle them.

FARTHEST = 1 << 62  # a draw beyond it is cut to it
_BITS = 32
_SIGNS = 32  # fair bits in the first word of the tape


class _Real:
    """A uniform real number in [0, 1), of which only the digits that matter are ever drawn."""

    def __init__(self, digit: int) -> None:
        self.digits = [digit]

    def below(self, other: _Real, more: Iterator[int]) -> bool:
        place = 0
        while True:
            for real in (self, other):
                if place == len(real.digits):
                    real.digits.append(next(more))
            if self.digits[place] != other.digits[place]:
                return self.digits[place] < other.digits[place]
            place += 1

    def times(self, t: int, more: Iterator[int]) -> int:
        """⌊t · the number⌋, with as many digits as that takes."""
        while True:
            value, scale = 0, 1 << _BITS * len(self.digits)
            for digit in self.digits:
                value = value << _BITS | digit
            whole, rest = divmod(value * t, scale)
            if rest + t <= scale:
                return whole
            self.digits.append(next(more))


def draw_by_digits(tape: Iterator[int], more: Iterator[int], t: int) -> int:
    """One discrete Laplace draw of scale t; `tape` is the compiled loop's, `more` holds the further digits."""
    signs, left = next(tape), _SIGNS
    while True:
        turns = 0
        while True:
            first = last = _Real(next(tape))
            length = 1
            while (following := _Real(next(tape))).below(last, more):
                last = following
                length += 1
            if length % 2 == 1:
                break
            turns += 1
        first.digits.append(next(tape))
        y = min(turns * t + first.times(t, more), FARTHEST)
        if left == 0:
            signs, left = next(more), _SIGNS
        negative = signs & 1
        signs, left = signs >> 1, left - 1
        if not (negative and y == 0):
            return -y if negative else y


# The same draw as a compiled loop: comparisons, one product and one sum of integers a draw.
#
# The law is that of Canonne, Kamath and Steinke (2020, Algorithm 2), Pr(y) ∝ exp(-|y|/t) over the whole numbers. Their coin
# of bias exp(-γ) is von Neumann's (1951), which works for a real γ too, drawn digit by digit as far as it matters.
# docs/guarantees/discrete-laplace.md has the proof; the marks (A) to (E) are its steps. A draw reads 32-bit words from the
# tape of its own cluster and is a function of that tape alone.

DONE, TAPE_TOO_SHORT, NEEDS_MORE_DIGITS = 0, 1, 2
_LOW = np.uint64(2**32 - 1)
_HALF = np.uint64(32)
_TOP = np.uint64(2**64 - 1)


@compiled
def _draw_compiled(
    tape: NDArray[np.uint32], scale: Whole, noise: Whole, undone: Whole, why: NDArray[np.int8]
) -> int:
    """noise[j] ~ discrete Laplace of `scale[j]`, from piece j of the tape; a scale of 0 draws 0.

    Returns how many draws could not be finished; `undone` lists their numbers, `why` the reason.
    """
    length = len(tape) // max(len(scale), 1)
    left = 0
    for j in range(len(scale)):
        noise[j] = 0
        if scale[j] > 0:
            state, noise[j] = _one(tape, j * length, (j + 1) * length, scale[j])
            if state != DONE:
                undone[left] = j
                why[left] = state
                left += 1
    return left


@compiled
def _one(tape: NDArray[np.uint32], start: int, end: int, scale: int) -> tuple[int, int]:
    t = np.uint64(scale)
    signs = tape[start]  # (D) one fair bit for each attempt
    at = start + 1
    attempt = 0
    while True:
        turns = 0
        while True:  # (A) a run u_1 > u_2 > … > u_n < u_{n+1} of uniform reals, known by their first digit
            first = at
            at += 1
            while at < end and tape[at] < tape[at - 1]:
                at += 1
            if at + 1 >= end:
                return TAPE_TOO_SHORT, 0
            if tape[at] == tape[at - 1]:
                return NEEDS_MORE_DIGITS, 0
            length = at - first
            at += 1
            if length % 2 == 1:  # (B) with probability exp(-u_1): accepted
                break
            turns += 1
        # (C) |y| = ⌊t·(turns + u_1)⌋, from two digits of u_1 unless a third could change it.
        high, low = _product((np.uint64(tape[first]) << _HALF) | np.uint64(tape[at]), t)
        at += 1
        if low > _TOP - t:
            return NEEDS_MORE_DIGITS, 0
        y = int(high)
        y = FARTHEST if turns >= (FARTHEST - y) // scale else y + turns * scale
        negative = (signs >> attempt) & 1
        if negative and y == 0:  # zero would otherwise come twice
            attempt += 1
            if attempt == 32:
                return NEEDS_MORE_DIGITS, 0
            continue
        return DONE, -y if negative else y


@compiled
def _product(digits: np.uint64, t: np.uint64) -> tuple[np.uint64, np.uint64]:
    """digits · t as two words of 64 bits, from four products of half words."""
    bottom = (digits & _LOW) * (t & _LOW)
    middle = (digits >> _HALF) * (t & _LOW) + (bottom >> _HALF)
    other = (digits & _LOW) * (t >> _HALF) + (middle & _LOW)
    high = (digits >> _HALF) * (t >> _HALF) + (middle >> _HALF) + (other >> _HALF)
    return high, (other << _HALF) | (bottom & _LOW)


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
    undone = np.empty(len(scales), dtype=np.int64)
    why = np.empty(len(scales), dtype=np.int8)
    left = _draw_compiled(tape.reshape(-1), scales, out, undone, why)
    undone, why = undone[:left], why[:left]
    for row in undone[why == NEEDS_MORE_DIGITS]:
        out[row] = _by_digits(int(numbers[row]), int(scales[row]), source)
    short = undone[why == TAPE_TOO_SHORT]
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
