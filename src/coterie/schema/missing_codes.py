"""Which numbers of a column probably mean 'missing': for a draft, to be confirmed by a person."""

from __future__ import annotations

from itertools import filterfalse
from typing import Any

import numpy as np
import pyarrow as pa

from coterie.schema import survey_words as words_of
from coterie.schema.codebook import Variable, marked_by, ranges_of

ENOUGH = 20  # rows below which nothing is said about codes
_GAP = 5.0  # at least so far above all answers is a code with two or more digits
# Codes that mean 'missing' in one survey or another, by the number of digits.
_TOP = [(7, 8, 9), (77, 88, 96, 97, 98, 99), (777, 888, 996, 997, 998, 999)]
_TOP += [
    (*(int(digit * number) for digit in "678"), *(10**number - missing for missing in (4, 3, 2, 1)))
    for number in range(4, 9)
]
_BELOW = (*range(-9, 0), -66, -77, -88, -97, -98, -99, -777, -888, -997, -998, -999, -9999, -99999)


def special_codes(
    distinct: Any, counts: Any, words: tuple[str, ...], variable: Variable, *, whole: bool
) -> tuple[str, ...]:
    """Said by the dictionary, or among the usual ones and far from the rest."""
    told = [code for code, text in variable.value_labels.items() if words_of.means_missing(text)]
    marks = [*variable.missing, *filterfalse(marked_by(variable.missing), told)]
    if counts.sum() < ENOUGH:
        return tuple(marks)
    known = marked(distinct, tuple(marks))
    rest, often = distinct[~known], counts[~known]
    labelled = {float(code) for code in variable.value_labels if _is_number(code)}
    below = [value for value in rest if value < 0]
    few = 0 < len(below) <= 4 and len(below) < len(rest) and often[: len(below)].sum() <= often.sum() / 2
    if few and set(below) <= set(_BELOW) - labelled and not words_of.is_change(words):
        marks += [str(int(value)) for value in below]
        rest, often = rest[len(below) :], often[len(below) :]
    for group in reversed(_TOP):
        there = [value for value in group if value in rest and value not in labelled]
        beyond = rest[~np.isin(rest, there)].max(initial=-np.inf)
        above = [
            value for value in there if value - beyond >= (_GAP if group[0] > 7 else 1)
        ]  # 77 next to 76 hours is an answer
        there = above or there
        if there and _is_apart(group, there, rest, often, whole=whole):
            marks += [str(int(value)) for value in there]
            break
    return tuple(dict.fromkeys(marks))


def _is_apart(group: tuple[int, ...], there: list[int], rest: Any, often: Any, *, whole: bool) -> bool:
    """Far above all other values, or so much more frequent than its neighbours that it is no measurement."""
    others = ~np.isin(rest, there)
    if not others.any():
        return False
    largest, smallest = rest[others].max(), min(there)
    if group[0] == 7:  # one digit: 1, 2, 3, 9
        top = {8, 9} & set(there)
        return bool(whole and top and largest <= 6 and smallest - largest >= 2 and others.sum() >= 2)
    if largest < smallest and smallest - largest >= max(_GAP, 0.1 * largest if group[0] > 700 else 0.0):
        return bool(largest < smallest / 2 or group[0] < 700 or often[~others].max() >= 3)
    near = others & (np.abs(rest - smallest) <= max(10.0, 0.1 * smallest))
    typical = often[near].max() if near.any() else 1
    return bool(often[~others].max() >= max(10, 5 * typical))


def marked(distinct: Any, marks: tuple[str, ...]) -> Any:
    codes = [float(mark) for mark in marks if _is_number(mark)]
    found = np.isin(distinct, codes)
    for lower, upper in ranges_of(marks):
        found |= (distinct >= lower) & (distinct <= upper)
    return found


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def without_codes(column: pa.ChunkedArray, marks: tuple[str, ...]) -> pa.ChunkedArray:
    """Numbers without those that mean 'missing'."""
    present = column.drop_null()
    values = np.asarray(present.cast(pa.float64(), safe=False).to_numpy())
    return present.filter(pa.array(~marked(values, marks)))
