"""The discrete Laplace, drawn exactly and fast: integers in, integers out, one tape of random words per cluster.

Draw j is a function of (key, j) alone. An engine that meets the clusters in pieces, or a task that runs again after a
failure, draws the same bytes; docs/guarantees/discrete-laplace.md says why that is safe.

The law is that of Canonne, Kamath and Steinke (2020, Algorithm 2), Pr(y) ∝ exp(-|y|/t) over the whole numbers: a fair sign
and the whole part of t·E, E a standard exponential. A table says in which of 256 cells per unit E lies, and von Neumann
(1951) where in its cell, drawn digit by digit as far as it matters. The marks (A) to (E) are the steps of the proof.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import accumulate, count, repeat

import numpy as np
from numpy.typing import NDArray

from coterie.chain.noise.exponential import LazyUniform, scaled_exp
from coterie.chain.noise.keystream import Keystream
from coterie.chain.partition._compiled import compiled
from coterie.schema.arrays import Whole

LARGEST_SCALE = 1 << 56  # in steps of the grid: 256 cells of that many still fit into 64 bits
FARTHEST = 1 << 62  # a draw beyond it is cut to it
_WITHIN = 8  # bits: 256 cells to one unit of E …
_TURN = 8  # … and a table of so many units; beyond it E begins anew
_LAST = _TURN << _WITHIN
_MANY_TURNS = 48  # up to here no draw is beyond 2^62
_GUIDED = 12  # bits of U from which a search in the table starts


@cache
def _table() -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
    """⌊2^31·exp(-h/256)⌋ for every cell h, and a zero. For each beginning of U, the last cell that all such U reach."""
    # 97 bits more than are wanted: a test compares all cells.
    step = scaled_exp(Fraction(1, 1 << _WITHIN), 128)
    powers = accumulate(repeat(step, _LAST), lambda power, step: power * step >> 128, initial=1 << 128)
    cuts = np.array([power >> 97 for power in powers] + [0], dtype=np.uint32)
    ends = np.arange(1, (1 << _GUIDED) + 1) << 31 - _GUIDED
    return cuts, (np.searchsorted(-cuts.astype(np.int64), -ends, side="right") - 1).astype(np.uint16)


def draw_by_digits(tape: Iterator[int], more: Iterator[int], t: int) -> int:
    """One draw of scale t by whole numbers of any length; `tape` is the compiled loop's, `more` holds the further digits.

    For a few clusters, for which loading the compiler would take longer, and those that the first digits do not settle.
    """
    cuts = _table()[0]
    turns = 0
    while True:
        word = next(tape)
        uniform = LazyUniform(word >> 1, 31, more)
        cell: int = bisect_left(cuts, -uniform.value, key=lambda cut: -int(cut)) - 1
        if cuts[cell + 1] == uniform.value and cell < _LAST:
            cell += uniform.below_exp(Fraction(cell + 1, 1 << _WITHIN))
        if cell == _LAST:
            turns += _TURN
            continue
        rest = last = LazyUniform(next(tape) << 32 | next(tape), 64 + _WITHIN, more)
        accepted = True
        while (following := LazyUniform(next(tape), 32, more)).below(last):
            last, accepted = following, not accepted
        y = min(turns * t + _whole_part(rest, cell, t), FARTHEST)
        if accepted and not (word & 1 and y == 0):
            return -y if word & 1 else y
        turns = 0


def _whole_part(rest: LazyUniform, cell: int, t: int) -> int:
    """⌊t·(cell/256 + rest)⌋, with as many digits as that takes."""
    while True:
        whole, left = divmod(((cell << rest.bits - _WITHIN) + rest.value) * t, 1 << rest.bits)
        if left + t <= 1 << rest.bits:
            return whole
        rest.extend()


# The same draw as a compiled loop: a table, comparisons, one product and one sum of integers a draw.

DONE, TAPE_TOO_SHORT, NEEDS_MORE_DIGITS = 0, 1, 2
_LOW = np.uint64(2**32 - 1)
_HALF = np.uint64(32)
_TOP = np.uint64(2**64 - 1)
_CELL = (1 << _WITHIN) - 1


@compiled
def _draw_compiled(
    tape: NDArray[np.uint32],
    scale: Whole,
    cuts: NDArray[np.uint32],
    guide: NDArray[np.uint16],
    noise: Whole,
    undone: Whole,
    why: NDArray[np.int8],
) -> int:
    """noise[j] ~ discrete Laplace of `scale[j]`, from piece j of the tape; a scale of 0 draws 0.

    Returns how many draws could not be finished; `undone` lists their numbers, `why` the reason.
    """
    length = len(tape) // max(len(scale), 1)
    left = 0
    for j in range(len(scale)):  # one function: handing the tape on would take longer than a draw
        noise[j] = 0
        t = np.uint64(scale[j])
        at, end = j * length, (j + 1) * length
        turns = 0
        state = TAPE_TOO_SHORT
        while at + 4 <= end and t:
            # (A) the last cell h with U < exp(-h/256), of which the table has the first 31 bits.
            digit = tape[at] >> 1
            cell = int(guide[digit >> (31 - _GUIDED)])
            while digit < cuts[cell + 1]:
                cell += 1
            if cell == _LAST:
                turns += _TURN
                at += 1
                continue
            # (B) a run r > u_2 > … > u_n < u_{n+1} of uniform reals, known by their first digit; r lies in its cell.
            last = tape[at + 1] >> _WITHIN
            stop = at + 3
            while stop < end and tape[stop] < last:
                last = tape[stop]
                stop += 1
            if stop == end:
                break
            # (C) |y| = ⌊t·(turns + h/256 + r)⌋, from two digits of r.
            high, low = _product((np.uint64(tape[at + 1]) << _HALF) | np.uint64(tape[at + 2]), t)
            high += np.uint64(cell & _CELL) * t
            close = high & np.uint64(_CELL) == _CELL and low > _TOP - t
            if digit == cuts[cell + 1] or tape[stop] == last or close or turns >= _MANY_TURNS:
                state = NEEDS_MORE_DIGITS  # (E)
                break
            y = int(high >> np.uint64(_WITHIN)) + (turns + (cell >> _WITHIN)) * scale[j]
            negative = int(tape[at] & 1)
            # n is odd with probability exp(-r): accepted. (D) Zero would otherwise come twice.
            if (stop - at) & 1 and (y | (negative ^ 1)):
                noise[j] = (y ^ -negative) + negative
                state = DONE
                break
            at = stop + 1
            turns = 0
        if state != DONE and t:
            undone[left] = j
            why[left] = state
            left += 1
    return left


@compiled
def _product(digits: np.uint64, t: np.uint64) -> tuple[np.uint64, np.uint64]:
    """digits · t as two words of 64 bits, from four products of half words."""
    bottom = (digits & _LOW) * (t & _LOW)
    middle = (digits >> _HALF) * (t & _LOW) + (bottom >> _HALF)
    other = (digits & _LOW) * (t >> _HALF) + (middle & _LOW)
    high = (digits >> _HALF) * (t >> _HALF) + (middle >> _HALF) + (other >> _HALF)
    return high, (other << _HALF) | (bottom & _LOW)


_WORDS = 4  # one block of the cipher: enough for 997 draws in a thousand
_FEW = 40_000  # draws that take a process half as long, one by one, as loading the compiler
_PIECE = 1 << 14  # clusters whose tape fits into a level-2 cache
_FURTHER_DIGITS = 1 << 16  # number of the part that holds them, far behind the parts of the tape
_WORD = np.dtype("<u4")
_drawn_so_far = 0


def discrete_laplace(scales: Whole, source: Keystream, first: int = 0) -> Whole:
    """Noise for clusters first, first+1, …: Pr(y) = tanh(1/2t)·exp(-|y|/t), t = scale; a scale of 0 draws 0."""
    if _still_few(len(scales)):
        tapes = source.range(0, first, len(scales)).view(_WORD).reshape(-1, _WORDS).tolist()
        draws = zip(range(first, first + len(scales)), scales.tolist(), tapes, strict=True)
        drawn = [t and _by_digits(number, t, source, words) for number, t, words in draws]
        return np.array(drawn, dtype=np.int64)
    noise = np.empty(len(scales), dtype=np.int64)
    for begin in range(0, len(scales), _PIECE):
        piece = np.ascontiguousarray(scales[begin : begin + _PIECE])
        place = first + begin
        tape = source.range(0, place, len(piece)).view(_WORD).reshape(-1, _WORDS)
        numbers = np.arange(place, place + len(piece))
        _draw(tape, piece, numbers, 1, source, noise[begin : begin + _PIECE])
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
    left = _draw_compiled(tape.reshape(-1), scales, *_table(), out, undone, why)
    undone, why = undone[:left], why[:left]
    for row in undone[why == NEEDS_MORE_DIGITS]:
        out[row] = _by_digits(int(numbers[row]), int(scales[row]), source, tape[row, :_WORDS].tolist())
    short = undone[why == TAPE_TOO_SHORT]
    if len(short):
        # The same words again, and behind them three times as many: an endless tape would give the same draw.
        more = source.chosen(part, numbers[short], _blocks(part)).view(_WORD).reshape(len(short), -1)
        longer = np.concatenate([tape[short], more], axis=1)
        redrawn = np.empty(len(short), dtype=np.int64)
        _draw(longer, scales[short], numbers[short], part + 1, source, redrawn)
        out[short] = redrawn


def _blocks(part: int) -> int:
    """Blocks per cluster in each further part of its tape: 3, 12, …: the tape grows fourfold."""
    return 3 << 2 * (part - 1)


def _by_digits(number: int, scale: int, source: Keystream, words: list[int]) -> int:
    """`words` are the first of its tape."""

    def tape() -> Iterator[int]:
        yield from words
        for part in count(1):
            yield from source.range(part, number * _blocks(part), _blocks(part)).view(_WORD).tolist()

    def further() -> Iterator[int]:
        for part in count(_FURTHER_DIGITS):
            yield from source.range(part, number, 1).view("<u8").tolist()

    return draw_by_digits(tape(), further(), scale)
