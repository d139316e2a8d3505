"""What a column of a survey or register probably is: from its cells, its name, and the dictionary of its file.

Every outcome is a guess for a draft, to be confirmed by a person who knows the codebook. Nothing of it decides how a release
reads its cells. Codes proposed as missing come from lists that anybody knows (97, 98, 99, -9, …), never any other value.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import filterfalse
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coterie.schema import survey_words as words_of
from coterie.schema.attributes import AttributeType
from coterie.schema.codebook import Variable, marked_by, ranges_of
from coterie.schema.domain import reads_as_number

ENOUGH = 20  # rows below which nothing is said about codes
_GAP = 5.0  # at least so far above all answers is a code with two or more digits
# Codes that mean 'missing' in one survey or another, by the number of digits.
_TOP = [(7, 8, 9), (77, 88, 96, 97, 98, 99), (777, 888, 996, 997, 998, 999)]
_TOP += [
    (*(int(digit * number) for digit in "678"), *(10**number - missing for missing in (4, 3, 2, 1)))
    for number in range(4, 9)
]
_BELOW = (*range(-9, 0), -66, -77, -88, -97, -98, -99, -777, -888, -997, -998, -999, -9999, -99999)
MOST_LABELS = 100
_FEW = 12  # distinct whole numbers that are probably codes
_SOME = 30  # as many, where each of them is frequent
_NUMBERED = 60  # as many, where they are 1, 2, 3, … without a gap
_MANY = 1000  # labels of a classification
_LONG_TEXT = 40  # letters, on average
_ISO = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9:]+)?)?$"
_OTHER_DATE = r"^[0-9]{1,2}[./-][0-9]{1,2}[./-]([0-9]{4}|[0-9]{2})$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_UNNAMED = "The file's dictionary does not name every code that occurs: add the others to the labels, or correct the file."
_DECIMAL_COMMA = r"^[+-]?[0-9]+,[0-9]+$"
_COMMA_NOTE = (
    "Numbers with a decimal comma, but other columns have decimal points: write all alike, and draft again."
)
_DATE_NOTE = "Looks like dates: write them like 2026-01-31 in the file, and `type: date` here."


@dataclass(frozen=True)
class Guess:
    """One column of a draft."""

    type: AttributeType | None  # None: no type is needed, the column is dropped
    marks: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()  # from the dictionary of the file
    words: dict[str, str] = field(default_factory=dict)  # its labels of values
    suggestion: str = ""  # weight or unit: what another entry of the schema may say
    notes: tuple[str, ...] = ()
    found: tuple[str, ...] = ()  # labels that occur


def guess_column(name: str, column: pa.ChunkedArray, variable: Variable) -> Guess:
    words = words_of.parts(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_boolean(kind):
        return Guess(AttributeType.BOOLEAN)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return Guess(AttributeType.DATE if pa.types.is_date(kind) else AttributeType.TIMESTAMP)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _numbers(words, column, variable)
    if pa.types.is_null(kind):  # no cell, so no type yet: a number may well come
        return Guess(AttributeType.CONTINUOUS, notes=("Every cell is empty; consider dropping it.",))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view():
        return _texts(words, column.cast(pa.large_string()), variable)
    return Guess(None, notes=("Neither numbers, text, dates nor truth values: dropped.",))


def guess_as(kind: AttributeType, column: pa.ChunkedArray) -> Guess:
    """What else is to be said of a column whose type is known: which labels occur, where they are few enough."""
    if kind.ranged or kind is AttributeType.BOOLEAN:
        return Guess(kind)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        texts = pc.unique(column.drop_null()).cast(pa.string()).to_pylist()
    except pa.ArrowException:
        return Guess(kind)
    labels = sorted({text.strip() for text in texts} - {""})
    few = 2 <= len(labels) <= MOST_LABELS and len(labels) <= max(2, len(column) // 5)
    return Guess(kind, found=tuple(labels) if few else ())


# Numbers: codes, counts, measures, numbers of persons.


def _numbers(words: tuple[str, ...], column: pa.ChunkedArray, variable: Variable) -> Guess:
    values = np.asarray(column.drop_null().cast(pa.float64(), safe=False).to_numpy())
    finite = np.isfinite(values)
    values = values[finite]
    plain = AttributeType.INTEGER if pa.types.is_integer(column.type) else AttributeType.CONTINUOUS
    if not len(values):
        return Guess(plain, notes=("This column holds no finite number; drop it, or fill its bounds.",))
    distinct, counts = np.unique(values, return_counts=True)
    whole = pa.types.is_integer(column.type) or (bool(finite.all()) and _all_whole(distinct))
    marks = special_codes(distinct, counts, words, variable, whole=whole)
    keep = ~marked(distinct, marks)
    distinct, counts = distinct[keep], counts[keep]
    if pa.types.is_decimal(column.type) and column.type.scale:
        whole = False
    return _number_guess(words, variable, distinct, counts, marks, whole=whole)


def _all_whole(values: Any) -> bool:
    return bool((values == np.rint(values)).all()) and max(-values[0], values[-1]) <= 2**53


def _number_guess(
    words: tuple[str, ...],
    variable: Variable,
    distinct: Any,
    counts: Any,
    marks: tuple[str, ...],
    *,
    whole: bool,
) -> Guess:
    plain = AttributeType.INTEGER if whole else AttributeType.CONTINUOUS
    usual = Guess(plain, marks=marks, words=variable.value_labels)
    rows = int(counts.sum())
    if not rows:
        return replace(usual, notes=("No cell holds an answer.",))
    means_missing = marked_by(marks)
    labels = {code: text for code, text in variable.value_labels.items() if not means_missing(code)}
    if len(distinct) == 1:
        return replace(usual, notes=("Every row holds the same number; consider dropping it.",))
    if labels and (listed := _listed(labels, distinct, marks)) is not None:
        scale = words_of.is_scale(list(labels.values())) or len(listed) > len(labels)
        return replace(usual, type=_listed_type(variable.measure == "ordinal" or scale), labels=listed)
    if words_of.is_weight(words, variable.label) and distinct[0] >= 0 and not _of_bodies(distinct, counts):
        return replace(usual, suggestion="weight")
    if whole and _are_dates(distinct):
        return replace(usual, notes=(_DATE_NOTE,))
    if whole and (dropped := _number_of_a_person(words, variable.label, distinct, rows)) is not None:
        return dropped
    if (
        whole
        and not words_of.is_quantity(words, variable.label)
        and _are_codes(words, variable, distinct, counts)
    ):
        ordered = words_of.names(words, words_of.MARK_NOTE) or variable.measure == "ordinal"
        found = tuple(str(int(value)) for value in distinct)
        notes = (_UNNAMED,) if labels else ()
        return replace(usual, type=_listed_type(ordered), labels=tuple(labels), found=found, notes=notes)
    return usual


def _listed_type(ordered: bool) -> AttributeType:
    return AttributeType.ORDINAL if ordered else AttributeType.CATEGORICAL


def _are_dates(distinct: Any) -> bool:
    """19801231 and the like."""
    if distinct[0] < 18_000_101 or distinct[-1] > 21_001_231 or len(distinct) < 5:
        return False
    month, day = distinct // 100 % 100, distinct % 100
    return bool(((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all())


def _of_bodies(distinct: Any, counts: Any) -> bool:
    """Kilograms or pounds of grown-ups: in the middle, and not far apart."""
    mean = np.average(distinct, weights=counts)
    spread = np.sqrt(np.average((distinct - mean) ** 2, weights=counts))
    return bool(50 <= mean <= 200 and spread <= 0.3 * mean and distinct[-1] <= 450)


def _listed(labels: dict[str, str], distinct: Any, marks: tuple[str, ...]) -> tuple[str, ...] | None:
    """All codes of the domain, where the dictionary says them; None where it only names a few numbers."""
    try:
        codes = {float(code): code for code in labels}
    except ValueError:
        return None
    if set(distinct.tolist()) <= set(codes):
        return tuple(labels) if len(labels) > 1 else None
    # Only the ends of a scale have words: 0 = not at all, 10 = completely.
    lower, upper = min(codes), max(codes)
    inside = (
        lower <= distinct[0] and distinct[-1] <= upper and _all_whole(np.array([lower, *distinct, upper]))
    )
    if inside and len(codes) > 1 and upper - lower <= 10:
        return tuple(filterfalse(marked_by(marks), map(str, range(int(lower), int(upper) + 1))))
    return None


def _number_of_a_person(words: tuple[str, ...], label: str, distinct: Any, rows: int) -> Guess | None:
    unique = len(distinct) / rows
    several = len(distinct) > max(_SOME, rows // 50) and rows >= ENOUGH
    if words_of.is_unit(words, label) and several:
        return Guess(None, suggestion="unit" if unique < 0.98 else "")
    named = words_of.is_identifier(words, label)
    if unique < 0.95:
        return Guess(None, suggestion="unit") if named and several else None
    digits = {len(str(abs(int(value)))) for value in (distinct[0], distinct[-1])}
    dense = distinct[-1] - distinct[0] + 1 <= 1.5 * rows
    long = len(digits) == 1 and digits.pop() >= 6 and rows >= 50
    measured = words_of.is_quantity(tuple(word for word in words if word not in ("number", "num")), label)
    if (named and rows >= 10) or (rows >= ENOUGH and (dense or long) and not measured):
        return Guess(None, notes=("A number that differs from row to row: dropped.",))
    return None


def _are_codes(words: tuple[str, ...], variable: Variable, distinct: Any, counts: Any) -> bool:
    rows, number = int(counts.sum()), len(distinct)
    if distinct[0] < 0 or variable.measure == "scale" or rows < ENOUGH:
        return False
    if variable.measure in ("nominal", "ordinal") and number <= MOST_LABELS:
        return True
    if number > max(2, rows // 5):
        return False
    if number <= _FEW:
        return not _thins_out(distinct, counts)
    if words_of.names(words, words_of.CODE):
        return number <= _MANY
    if rows < 20 * number or _has_one_peak(counts):
        return False
    span = distinct[-1] - distinct[0] + 1
    if span <= 2 * number and distinct[-1] <= 99:  # 1 to 43, each of them: areas; 18 to 60 are ages
        return number <= _SOME or (number <= _NUMBERED and distinct[0] == 1 and span == number)
    # Frequent values with empty places between them, and not rounded to fives or tens.
    rounded = np.gcd.reduce(np.diff(distinct).astype(np.int64)) >= 5
    return number <= MOST_LABELS and span >= 2 * number and counts.min() >= 10 and not rounded


def _thins_out(distinct: Any, counts: Any) -> bool:
    """0, 1, 2, … with fewer and fewer rows: how often something happened."""
    dense = distinct[0] == 0 and distinct[-1] == len(distinct) - 1 >= 5
    return bool(
        dense and counts[-1] <= 0.01 * counts.sum() and counts.argmax() <= 2 and _has_one_peak(counts)
    )


def _has_one_peak(counts: Any) -> bool:
    """Whether frequencies rise and then fall, as for ages and counts. For codes they come in any order, or are equal."""
    steps = np.diff(counts.astype(float))
    clear = np.abs(steps) > 2.5 * np.sqrt(counts[1:] + counts[:-1])
    ways = np.sign(steps[clear])
    flat = ((counts - counts.mean()) ** 2).sum() <= 2 * counts.sum()  # a few clear steps are chance
    return not flat and len(ways) >= 2 and int((ways[1:] != ways[:-1]).sum()) <= 1


# Text: labels, dates, numbers with a mark among them, names, free text.


def _texts(words: tuple[str, ...], column: pa.ChunkedArray, variable: Variable) -> Guess:
    trimmed = pc.utf8_trim_whitespace(column.drop_null())
    trimmed = trimmed.filter(pc.not_equal(trimmed, pa.scalar("", trimmed.type)))
    rows = len(trimmed)
    if variable.labels:
        absent = tuple(filter(words_of.means_missing, variable.labels))
        labels = tuple(label for label in variable.labels if label not in absent)
        ordered = variable.measure == "ordinal" or words_of.is_scale(labels)
        return Guess(_listed_type(ordered), marks=absent, labels=labels)
    if not rows:
        return Guess(AttributeType.CATEGORICAL, notes=("Every cell is empty; consider dropping it.",))
    counted = pc.value_counts(trimmed)
    texts = counted.field("values")
    often = np.asarray(counted.field("counts").to_numpy())
    gaps = sorted(texts.filter(words_of.are_gaps(texts)).to_pylist())
    told = tuple(code for code, text in variable.value_labels.items() if words_of.means_missing(text))
    marks = tuple(dict.fromkeys((*variable.missing, *told, *gaps)))
    kept = pc.invert(pc.is_in(texts, pa.array(marks, texts.type)))
    texts, often = texts.filter(kept), often[np.asarray(kept)]
    if not len(texts):
        return Guess(
            AttributeType.CATEGORICAL, marks=marks, notes=("No cell says anything; consider dropping it.",)
        )
    if pc.all(pc.match_substring_regex(texts, _ISO)).as_py():
        timed = pc.any(pc.greater(pc.utf8_length(texts), 10)).as_py()
        return Guess(AttributeType.TIMESTAMP if timed else AttributeType.DATE, marks=marks)
    if pc.all(pc.match_substring_regex(texts, _OTHER_DATE)).as_py():
        return Guess(None, notes=(_DATE_NOTE,))
    if words_of.is_identifier(words, variable.label) and len(texts) > max(2, rows // 20):
        repeated = "unit" if len(texts) < 0.95 * rows else ""
        return Guess(None, suggestion=repeated, notes=("Names people, by its own name: dropped.",))
    codes = {code: text for code, text in variable.value_labels.items() if code not in marks}
    known = pc.is_in(texts, pa.array(codes, texts.type))
    if pc.any(known).as_py():
        notes = () if pc.all(known).as_py() else (_UNNAMED,)
        return Guess(
            AttributeType.CATEGORICAL,
            marks=marks,
            labels=tuple(codes),
            words=variable.value_labels,
            notes=notes,
        )
    if pc.all(pc.match_substring_regex(texts, _DECIMAL_COMMA)).as_py():
        weight = "weight" if words_of.is_weight(words, variable.label) else ""
        return Guess(AttributeType.CONTINUOUS, marks=marks, suggestion=weight, notes=(_COMMA_NOTE,))
    if (mixed := _mostly_numbers(words, variable, texts, often, marks)) is not None:
        return mixed
    return _labels(words, texts, often, marks)


def _mostly_numbers(
    words: tuple[str, ...], variable: Variable, texts: pa.Array, often: Any, marks: tuple[str, ...]
) -> Guess | None:
    """Numbers that a mark such as NA has made text; or numbers among which other things stand."""
    numbers = pc.match_substring_regex(texts, _NUMBER)
    share = often[np.asarray(numbers)].sum() / often.sum()
    zeros = pc.any(pc.match_substring_regex(texts, "^0[0-9]+$")).as_py()
    if share == 1 and marks and not zeros:
        values, places = np.unique(np.asarray(texts.cast(pa.float64())), return_inverse=True)
        counts = np.bincount(places, weights=often).astype(np.int64)
        whole = _all_whole(values)
        more = special_codes(values, counts, words, variable, whole=whole)
        keep = ~marked(values, more)
        return _number_guess(words, variable, values[keep], counts[keep], (*marks, *more), whole=whole)
    if 0.5 <= share < 1 and len(texts) > _SOME:
        return Guess(
            None,
            notes=(
                "Most cells are numbers, some are not: dropped unless you change this.",
                "Do some mean 'missing'? Name them in missing_marks.",
            ),
        )
    return None


def _labels(words: tuple[str, ...], texts: pa.Array, often: Any, marks: tuple[str, ...]) -> Guess:
    rows, number = int(often.sum()), len(texts)
    few = 2 <= number <= MOST_LABELS and number <= max(2, rows // 5)
    unit = words_of.is_unit(words) and number > _SOME
    length = float((np.asarray(pc.utf8_length(texts)) * often).sum() / rows)
    spaces = pc.match_substring(texts, " ")
    classified = number <= _MANY and rows >= 5 * number and length <= 16 and not pc.any(spaces).as_py()
    coded = words_of.names(words, words_of.CODE) and number <= _MANY and rows >= 2 * number
    if unit and rows > number:
        return Guess(None, suggestion="unit")
    if few or classified or coded:
        found = tuple(sorted(texts.to_pylist()))
        ordered = words_of.is_scale(found) and number <= _FEW
        return Guess(_listed_type(ordered), marks=marks, found=found)
    if length > _LONG_TEXT:
        return Guess(None, notes=("Free text, which may name people: dropped.",))
    return Guess(None, notes=("Text that differs from row to row: dropped unless you change this.",))


# Which numbers of a column probably mean 'missing'.


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
    labelled = {float(code) for code in variable.value_labels if reads_as_number(code)}
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
    codes = [float(mark) for mark in marks if reads_as_number(mark)]
    found = np.isin(distinct, codes)
    for lower, upper in ranges_of(marks):
        found |= (distinct >= lower) & (distinct <= upper)
    return found
