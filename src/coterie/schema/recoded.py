"""What recoding makes of an attribute and of its values: numbers, bands, labels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.schema.arrays import Floats
from coterie.schema.codebook import WHOLE, marked_by
from coterie.schema.domain import AttributeType, Categories, Domain, Source, as_date, as_number, as_timestamp

if TYPE_CHECKING:
    from coterie.schema.attributes import Attribute
    from coterie.schema.recoding import Recoding

MOMENTS = (AttributeType.DATE, AttributeType.TIMESTAMP)
_LISTED = (AttributeType.CATEGORICAL, AttributeType.ORDINAL)
_PERIODS = {
    AttributeType.DATE: ("month", "quarter", "year"),
    AttributeType.TIMESTAMP: ("hour", "day", "month", "quarter", "year"),
}
_DAY = 86_400


def after(before: Attribute, recode: Recoding) -> dict[str, Any]:
    """The entries that recoding changes."""
    if before.role != "protect":
        raise ValueError(
            f"recode is for protected attributes; one with `role: {before.role}` is "
            + {"identifier": "dropped", "keep": "released as it is"}.get(before.role, "not recoded")
        )
    if recode.labels is not None or recode.level is not None:
        if before.type not in _LISTED or before.categories is None:
            raise ValueError(
                "recode.labels and recode.level need the attribute's labels: type: categorical or ordinal, "
                "and categories"
            )
        return _level_after(before, recode) if recode.level is not None else _labels_after(before, recode)
    domain = before.domain
    if not before.type.ranged or domain is None:
        raise ValueError(
            "top, bottom, round_to and bands need numbers or dates with their domain: {lower: …, upper: …}"
        )
    if domain.source is Source.DP:
        raise ValueError("a domain with `source: dp` is not known before, so its values cannot be recoded")
    named = [n for n in (recode.top, recode.bottom, *(recode.bands or ())) if n is not None]
    if any(not domain.lower <= limit <= domain.upper for limit in named):
        raise ValueError("recode names a number outside the domain; choose it between lower and upper")
    if before.type in (AttributeType.INTEGER, AttributeType.DATE):
        named += [recode.round_to] if isinstance(recode.round_to, float) else []
        if any(limit != int(limit) for limit in named):
            raise ValueError("recode of whole numbers needs whole numbers")
    return _bands_after(before, recode) if recode.bands is not None else _range_after(before, recode)


# Numbers: limits and rounding keep them numbers.


def _range_after(before: Attribute, recode: Recoding) -> dict[str, Any]:
    moment, periods = before.type in MOMENTS, _PERIODS.get(before.type, ())
    if recode.round_to is not None and moment != isinstance(recode.round_to, str):
        raise ValueError(
            f"round_to of a {before.type.value} is one of {', '.join(periods)}"
            if moment
            else "round_to of numbers is a number, such as 5"
        )
    if isinstance(recode.round_to, str) and recode.round_to not in periods:
        raise ValueError(f"round_to of a {before.type.value} is one of {', '.join(periods)}")
    lower, upper = _released_range(before, recode)
    if not lower < upper:
        raise ValueError("fewer than two values are left after recoding; recode less, or drop the attribute")
    assert before.domain is not None
    update: dict[str, Any] = {"domain": before.domain.model_copy(update={"lower": lower, "upper": upper})}
    if before.impute is not None:
        update["impute"] = float(recoded_numbers(np.array([as_number(before.impute)]), before, recode)[0])
    return update


def _released_range(before: Attribute, recode: Recoding) -> tuple[float, float]:
    """The smallest and the largest recoded value; both lie in the domain before."""
    domain = before.domain
    assert domain is not None
    lower = domain.lower if recode.bottom is None else recode.bottom
    upper = domain.upper if recode.top is None else recode.top
    if isinstance(recode.round_to, str):
        return lower, max(float(_beginning(np.array([upper]), before.type, recode.round_to)[0]), lower)
    if recode.round_to is not None:
        step = recode.round_to
        first, last = np.ceil(lower / step - 1e-9), np.floor(upper / step + 1e-9)
        return tuple(_times(np.array([first, last]), step).tolist())
    return lower, upper


def recoded_numbers(values: Floats, before: Attribute, recode: Recoding) -> Floats:
    """Numbers as recoding has them. What lies outside the domain stays outside, for the attribute's policy."""
    domain = before.domain
    assert domain is not None
    lower, upper = _released_range(before, recode)
    with np.errstate(invalid="ignore"):
        if isinstance(recode.round_to, str):
            found = _beginning(values, before.type, recode.round_to)
        elif recode.round_to is not None:
            found = _times(np.floor(values / recode.round_to + 0.5), recode.round_to)
        else:
            found = values
        inside = (values >= domain.lower) & (values <= domain.upper)
        return np.where(inside, np.clip(found, lower, upper), values)


def _times(places: Floats, step: float) -> Floats:
    """Multiples of a step; 3 × 0.1 is the double nearest to 0.3."""
    per_unit = round(1 / step) if step < 1 else 0
    found = places / per_unit if per_unit and math.isclose(1 / step, per_unit) else places * step
    return found + 0.0  # -0.0 becomes 0.0


def _beginning(values: Floats, kind: AttributeType, period: str) -> Floats:
    """The first day (or second) of the period that each day (or second) lies in."""
    seconds = np.nan_to_num(values * (_DAY if kind is AttributeType.DATE else 1), posinf=0.0, neginf=0.0)
    moments = np.floor(np.clip(seconds, -1e13, 1e13)).astype(np.int64).astype("datetime64[s]")
    if period in ("hour", "day"):
        begun = moments.astype("datetime64[h]" if period == "hour" else "datetime64[D]")
    elif period == "year":
        begun = moments.astype("datetime64[Y]")
    else:
        begun = moments.astype("datetime64[M]")
        if period == "quarter":
            begun = begun - (begun.astype(np.int64) % 3)
    found = begun.astype("datetime64[s]").astype(np.int64) / (_DAY if kind is AttributeType.DATE else 1)
    return np.where(np.isnan(values), np.nan, found)


# Bands: numbers become ordered labels.


def _inner_edges(before: Attribute, recode: Recoding) -> tuple[float, ...]:
    """Where one band ends and the next begins: the first begins at the lower bound, the last ends at the upper."""
    domain = before.domain
    assert domain is not None
    return tuple(edge for edge in recode.bands or () if domain.lower < edge < domain.upper)


def band_ranks(values: Floats, before: Attribute, recode: Recoding) -> Floats:
    """The number of the band of each value; below 0, or above the last one, outside the domain."""
    assert before.domain is not None
    inner = np.array(_inner_edges(before, recode))
    ranks = np.searchsorted(inner, values, side="right").astype(np.float64)
    ranks[values < before.domain.lower] = -1
    ranks[values > before.domain.upper] = len(inner) + 1
    ranks[np.isnan(values)] = np.nan
    return ranks


def _bands_after(before: Attribute, recode: Recoding) -> dict[str, Any]:
    domain, inner = before.domain, _inner_edges(before, recode)
    assert domain is not None
    if not inner:
        raise ValueError("bands need at least one number inside the domain: one band tells nothing")
    because = domain.public_because
    labels = _band_labels(domain, inner, before.type)
    categories = Categories(
        labels=labels,
        source=Source.DATA if domain.leaks else Source.DECLARED,
        public_because="; ".join(text for _, text in because) if isinstance(because, tuple) else because,
    )
    update = {"type": AttributeType.ORDINAL, "domain": None, "categories": categories}
    nothing = dict.fromkeys(("decimals", "value_labels", "format"))
    if before.impute is not None:
        rank = int(
            np.clip(band_ranks(np.array([as_number(before.impute)]), before, recode)[0], 0, len(inner))
        )
        nothing |= {"impute": labels[rank]}
    return {**update, **nothing}


def _band_labels(domain: Domain, inner: Sequence[float], kind: AttributeType) -> tuple[str, ...]:
    starts, ends = [domain.lower, *inner], [*inner, domain.upper]
    if kind in (AttributeType.INTEGER, AttributeType.DATE):
        ends = [*(end - 1 for end in ends[:-1]), ends[-1]]
        between = "to"
    else:
        between = "to below"
    pairs = [(shown(start, kind), shown(end, kind)) for start, end in zip(starts, ends, strict=True)]
    labels = [start if start == end else f"{start} {between} {end}" for start, end in pairs]
    if between == "to below":
        labels[-1] = f"{pairs[-1][0]} to {pairs[-1][1]}"
    return tuple(labels)


# Labels: several become one, or the taxonomy is cut.


def _labels_after(before: Attribute, recode: Recoding) -> dict[str, Any]:
    declared = before.categories
    assert declared is not None
    if declared.labels is None:
        raise ValueError("recode.labels needs a list of labels; along a taxonomy, write recode: {level: …}")
    new_of = new_labels(before, recode)
    labels = tuple(dict.fromkeys(new_of[old] for old in declared.labels))
    if any(map(marked_by(before.missing_marks), labels)):
        raise ValueError("recode.labels makes a missing code of an answer; name such codes in missing_marks")
    if len(labels) < 2:
        raise ValueError("all labels become one; recode less, or drop the attribute")
    if before.type is AttributeType.ORDINAL:
        runs = [new_of[old] for old in declared.labels]
        jumps = [new for place, new in enumerate(runs) if place and new != runs[place - 1]]
        if len(jumps) + 1 > len(labels):
            raise ValueError("recode.labels merges labels that are not neighbours in the order")
    because = declared.public_because
    if isinstance(because, tuple):  # one label stands for several: all that came from the data need a reason
        open_still = {new_of[old] for old in declared.leaks}
        said = {new_of[old]: text for old, text in reversed(because)}
        because = tuple((new, text) for new, text in said.items() if new not in open_still) or None
    taken = None if declared.from_data is None else tuple({new_of[old]: 0 for old in declared.from_data})
    categories = Categories(
        labels=labels,
        source=declared.source,
        order=declared.order,
        most=declared.most,
        from_data=taken,
        public_because=because,
    )
    made = _codes_of_new(before, recode)
    named = {code: words for code, words in before.value_labels or () if code in labels}
    named |= {code: words for words, code in made.items()}
    words = tuple((code, named[code]) for code in labels if code in named)
    update: dict[str, Any] = {"categories": categories, "value_labels": words or None}
    if before.impute is not None and str(before.impute) in new_of:
        update["impute"] = new_of[str(before.impute)]
    return update


def new_labels(before: Attribute, recode: Recoding) -> dict[str, str]:
    """What each label of the file becomes. Codes may be named by their words."""
    listed = before.categories.labels or () if before.categories is not None else ()
    made, new_of = _codes_of_new(before, recode), {old: old for old in listed}
    for code, new in _by_code(before, recode):
        new_of[code] = made.get(new, new)
    return new_of


def _by_code(before: Attribute, recode: Recoding) -> list[tuple[str, str]]:
    """Old codes and what is written for them: a label or code that there is, by its code; a new one as it stands."""
    assert before.categories is not None
    assert recode.labels is not None
    listed, codes = before.categories.labels or (), before.codes_by_words
    found = []
    for old, new in recode.labels:
        code = old if old in listed else codes.get(old, old)
        if code not in listed:
            raise ValueError(f"recode.labels names '{old}', which is not among the labels")
        found.append((code, new if new in listed else codes.get(new, new)))
    return found


def _codes_of_new(before: Attribute, recode: Recoding) -> dict[str, str]:
    """A code for each new label in words, where all labels are codes: else codes and words would stand in one column.

    Of ordered labels it is the first that was merged, so that codes still rise; of others one that had no meaning.
    """
    assert before.categories is not None
    listed = before.categories.labels or ()
    if not all(map(WHOLE.fullmatch, listed)):
        return {}
    pairs = _by_code(before, recode)
    new = list(
        dict.fromkeys(words for _, words in pairs if words not in listed and not WHOLE.fullmatch(words))
    )
    if before.type is AttributeType.ORDINAL:
        return {words: min((c for c, w in pairs if w == words), key=listed.index) for words in new}
    known, marked = {code for code, _ in before.value_labels or ()}, marked_by(before.missing_marks)
    known |= {words for _, words in pairs}
    following = itertools.count(max(map(int, listed)) + 1)
    free = (code for code in map(str, following) if code not in known and not marked(code))
    return dict(zip(new, free, strict=False))


def _level_after(before: Attribute, recode: Recoding) -> dict[str, Any]:
    assert before.categories is not None
    assert recode.level is not None
    if before.categories.taxonomy is None:
        raise ValueError("recode.level needs a taxonomy; in a list of labels, write recode: {labels: …}")
    return {"categories": before.categories.cut_at(recode.level), "value_labels": None}


def shown(value: float, kind: AttributeType) -> str:
    if kind in MOMENTS:
        return as_date(value) if kind is AttributeType.DATE else as_timestamp(value).removesuffix("+00:00")
    return str(int(value)) if value == int(value) else repr(value)
