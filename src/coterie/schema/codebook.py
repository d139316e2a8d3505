"""What a codebook says of a column: its label, its codes in words, which codes mean 'missing', how it is displayed.

`Codebook` is what the schema declares: part of every attribute, and all that a released SPSS or Stata file takes its
labels from. `Variable` is what the dictionary inside a statistical file says. A draft copies it into the schema; nothing
else reads it.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer

from coterie.schema.domain import (
    AttributeType,
    Domain,
    Frozen,
    as_number,
    as_text,
    as_texts,
    reads_as_number,
    typed_bound,
)

_FORMAT = re.compile(r"%?-?[A-Za-z0-9_.,:/+!-]{1,48}")


def pairs_of(value: object) -> object:
    """A mapping of codes to words; codes are text, as labels are."""
    if isinstance(value, Mapping):
        return tuple((as_text(code), as_text(words)) for code, words in value.items())
    return value


def _named_once(pairs: tuple[tuple[str, str], ...] | None) -> tuple[tuple[str, str], ...] | None:
    if pairs is not None:
        twice = [code for code, count in Counter(code for code, _ in pairs).items() if count > 1]
        if twice or not pairs or any(not words.strip() for _, words in pairs):
            raise ValueError("value_labels gives each code one label: {1: male, 2: female}")
    return pairs


def _format(text: str | None) -> str | None:
    if text is not None and not _FORMAT.fullmatch(text):
        raise ValueError("a display format is written as in SPSS (F8.2, DATE11) or Stata (%9.2f, %td)")
    return text


class Codebook(Frozen):
    """The part of an attribute that names things. None of it changes what is promised."""

    label: str | None = Field(
        default=None, min_length=1, max_length=1000
    )  # the question, or what is measured
    value_labels: Annotated[
        tuple[tuple[str, str], ...] | None,
        BeforeValidator(pairs_of),
        AfterValidator(_named_once),
        PlainSerializer(lambda value: dict(value) if value is not None else None),
    ] = None  # {1: male, 2: female, 99: no answer}
    format: Annotated[str | None, AfterValidator(_format)] = None  # of SPSS or of Stata

    @cached_property
    def meanings(self) -> dict[str, str]:
        """What each code means, where no two codes mean the same."""
        found = dict(self.value_labels or ())
        return found if len(set(found.values())) == len(found) else {}

    @cached_property
    def codes_by_words(self) -> dict[str, str]:
        """The code that each label in words stands for, where it stands for one only."""
        count = Counter(words for _, words in self.value_labels or ())
        return {words.strip(): code for code, words in self.value_labels or () if count[words] == 1}


WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")  # as int64 writes it: 007 and -0 stay text
# A number as codes may be written: 1.0 and 1.00 are 1, and 0.50 is 0.5; 01 is no number here but a code with its zero.
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*)?")


def canonical_number(text: str) -> str:
    """The shortest way to write the same plain number; any other text as it stands."""
    if not _PLAIN_NUMBER.fullmatch(text):
        return text
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


# Marks of missing values: texts; some of them ranges of numbers, as SPSS has them.

_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_RANGE = re.compile(rf"(lowest|{_NUMBER}) to (highest|{_NUMBER})")


def mark_range(mark: str) -> tuple[float, float] | None:
    """The numbers from `97 to 99`, `lowest to -1` or `900 to highest`; None for any other mark."""
    found = _RANGE.fullmatch(mark.strip())
    if found is None:
        return None
    lower = -math.inf if found[1] == "lowest" else float(found[1])
    upper = math.inf if found[2] == "highest" else float(found[2])
    return lower, upper


def ranges_of(marks: Iterable[str]) -> list[tuple[float, float]]:
    return [found for mark in marks if (found := mark_range(mark)) is not None]


def in_ranges(text: str, ranges: Sequence[tuple[float, float]]) -> bool:
    """Whether a cell of this text is a number in one of them."""
    try:
        return any(lower <= float(text) <= upper for lower, upper in ranges)
    except ValueError:
        return False


def with_codes(content: Any) -> Any:
    """An attribute whose categories list no labels: the codes of `value_labels` that do not mean 'missing'."""
    if not isinstance(content, Mapping):
        return content
    pairs, categories = pairs_of(content.get("value_labels")), content.get("categories")
    if content.get("type") not in ("categorical", "ordinal") or not isinstance(pairs, tuple):
        return content
    if categories is not None and (not isinstance(categories, Mapping) or _says_labels(categories)):
        return content
    marks = as_texts(content.get("missing_marks"))
    listed = marks if isinstance(marks, tuple) else ()
    marked = marked_by(listed)
    codes = tuple(code for code, _ in pairs if not marked(code))
    return {**content, "categories": {**(categories or {}), "labels": codes}} if codes else content


def _says_labels(categories: Mapping[str, Any]) -> bool:
    return categories.get("labels") is not None or categories.get("taxonomy") is not None


def marked_by(marks: Sequence[str]) -> Callable[[str], bool]:
    """Whether a text means 'missing': it is one of the marks, the same number as one, or in a range."""
    listed, ranges = {*marks, *map(canonical_number, marks)}, ranges_of(marks)
    return lambda text: text in listed or canonical_number(text) in listed or in_ranges(text, ranges)


def check_codes(
    pairs: tuple[tuple[str, str], ...] | None, labels: Sequence[str] | None, marks: Sequence[str]
) -> None:
    """Words for codes that nobody declared, or words that are another code, contradict the labels."""
    marked, known = marked_by(marks), set(labels or ())
    for code, words in pairs or ():
        if words.strip() in marks and not marked(code):
            raise ValueError(
                f"missing_marks names the words '{words.strip()}', but not their code; write the code {code} instead"
            )
        if labels is None:
            continue
        if code not in known and not marked(code):
            raise ValueError(
                f"value_labels names the code {code}, which is neither among the labels nor a missing mark"
            )
        if words in known and words != code:
            raise ValueError(f"value_labels gives one code the words '{words}', which are another code")


_TRUTHS = ("true", "yes", "1", "false", "no", "0")


def check_marks(
    marks: Sequence[str], labels: Sequence[str] | None, domain: Domain | None, *, truth: bool
) -> None:
    """An answer that means 'missing' as well is a contradiction. (A code that value_labels alone names may mean it.)"""
    if truth:
        marks, labels = [mark.casefold() for mark in marks], _TRUTHS
    marked = marked_by(marks)
    both = next((label for label in labels or () if marked(label)), None)
    if both is not None:
        raise ValueError(
            f"'{both}' is among the labels, and missing_marks says that it means 'missing'; take it out of one of them"
        )
    if domain is not None and any(
        lower <= domain.lower and domain.upper <= upper for lower, upper in ranges_of(marks)
    ):
        raise ValueError("missing_marks covers the whole domain, so every value would be missing")


def marks_inside(marks: Sequence[str], domain: Domain, kind: AttributeType) -> list[str]:
    """Marks that lie in the domain: that number or day is never read as a value."""
    return [mark for mark in marks if _lies_in(mark, domain, kind)]


def _lies_in(mark: str, domain: Domain, kind: AttributeType) -> bool:
    try:
        if kind.has_zero:
            lower, upper = mark_range(mark) or (float(mark), float(mark))
        elif reads_as_number(mark) or mark_range(mark):
            return False
        else:
            lower = upper = as_number(typed_bound(mark, timestamp=kind is AttributeType.TIMESTAMP))
    except ValueError:
        return False
    return lower <= domain.upper and domain.lower <= upper


# What the dictionary of a file says. It travels on the field of an Arrow column, from the reader to the draft.

_KEY = b"coterie variable"


@dataclass(frozen=True)
class Variable:
    """One variable of an SPSS, Stata, SAS or R file, as its dictionary describes it."""

    label: str = ""
    value_labels: dict[str, str] = field(default_factory=dict)
    labels: tuple[str, ...] = ()  # of a factor
    missing: tuple[str, ...] = ()  # marks, as a schema writes them
    measure: str = ""  # nominal, ordinal or scale
    format: str = ""

    def as_metadata(self) -> dict[bytes, bytes]:
        return {_KEY: json.dumps(asdict(self)).encode()}

    @classmethod
    def of(cls, metadata: Mapping[bytes, bytes] | None) -> Variable:
        """What was noted on a field; nothing where nobody noted anything."""
        if not metadata or _KEY not in metadata:
            return cls()
        content: dict[str, Any] = json.loads(metadata[_KEY])
        content |= {name: tuple(content[name]) for name in ("labels", "missing")}
        return cls(**content)
