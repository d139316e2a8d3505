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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer

from coterie.schema.domain import Frozen

_FORMAT = re.compile(r"%?-?[A-Za-z0-9_.,:/+!-]{1,48}")


def pairs_of(value: object) -> object:
    """A mapping of codes to words; codes are text, as labels are."""
    if isinstance(value, Mapping):
        return tuple((_text(code), _text(words)) for code, words in value.items())
    return value


def as_written(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value


def as_texts(value: object) -> object:
    """A mark such as -9 may be written without quotes."""
    return tuple(str(entry) for entry in value) if isinstance(value, list | tuple) else value


def _text(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


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
    def codes_by_words(self) -> dict[str, str]:
        """The code that each label in words stands for, where it stands for one only."""
        count = Counter(words for _, words in self.value_labels or ())
        return {words.strip(): code for code, words in self.value_labels or () if count[words] == 1}


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
    codes = tuple(code for code, _ in pairs if not _means_missing(code, listed))
    return {**content, "categories": {**(categories or {}), "labels": codes}} if codes else content


def _says_labels(categories: Mapping[str, Any]) -> bool:
    return categories.get("labels") is not None or categories.get("taxonomy") is not None


def _means_missing(code: str, marks: Sequence[str]) -> bool:
    return code in marks or in_ranges(code, ranges_of(marks))


def check_codes(
    pairs: tuple[tuple[str, str], ...] | None, labels: Sequence[str] | None, marks: Sequence[str]
) -> None:
    """Words for codes that nobody declared, or words that are another code, contradict the labels."""
    if pairs is None or labels is None:
        return
    known = set(labels)
    for code, words in pairs:
        if code not in known and not _means_missing(code, marks):
            raise ValueError(
                f"value_labels names the code {code}, which is neither among the labels nor a missing mark"
            )
        if words in known and words != code:
            raise ValueError(f"value_labels gives one code the words '{words}', which are another code")


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
