"""The draw of `_laplace_loop`, by whole numbers of any length: for a few clusters, for which loading the compiler would take
longer than the draws, and for those whose first digits do not settle them.
"""

from __future__ import annotations

from collections.abc import Iterator

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
