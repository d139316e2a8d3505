"""The compiled loop of the discrete Laplace: comparisons, one product and one sum of integers a draw.

The law is that of Canonne, Kamath and Steinke (2020, Algorithm 2), Pr(y) ∝ exp(-|y|/t) over the whole numbers. Their coin of
bias exp(-γ) is von Neumann's (1951), which works for a real γ too, drawn digit by digit as far as it matters.
docs/guarantees/discrete-laplace.md has the proof; the marks (A) to (E) are its steps.

A draw reads 32-bit words from the tape of its own cluster and is a function of that tape alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.chain.noise._laplace_digits import FARTHEST
from coterie.chain.partition._compiled import compiled
from coterie.schema.arrays import Whole

DONE, TAPE_TOO_SHORT, NEEDS_MORE_DIGITS = 0, 1, 2
_LOW = np.uint64(2**32 - 1)
_HALF = np.uint64(32)
_TOP = np.uint64(2**64 - 1)


@compiled
def draw(tape: NDArray[np.uint32], scale: Whole, noise: Whole, undone: Whole, why: NDArray[np.int8]) -> int:
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
