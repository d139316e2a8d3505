"""What a release is good for and what not, in the words that measures have for their figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from coterie.auditing.attacks.finding import percent
from coterie.comparison.trial import MOST_INVENTED, Trial
from coterie.errors import CoterieError
from coterie.evaluation import get_measure
from coterie.evaluation.measure import DESTROYED, MeasureResult
from coterie.methods import all_methods, get_method
from coterie.promise.certificate import Certificate
from coterie.report.dossier_blocks import Block, DossierSection, DossierText, GoodAndBad
from coterie.schema.attributes import Missing, Role
from coterie.schema.document import as_schema
from coterie.schema.exact import number


def synthetic_rows(made: Certificate) -> bool:
    method = all_methods().get(made.method)
    return made.dependence is not None or (method is not None and method.synthetic)


def uses(made: Certificate, evaluation: Mapping[str, Any] | None, *, public: bool) -> DossierSection:
    good: list[str] = []
    bad: list[str] = []
    if synthetic_rows(made):
        good += ["trying out programs, and teaching"]
        bad += ["looking up single rows: no row is a real person", "small groups and rare answers"]
    else:
        blurred = "the noise stated on the certificate" if made.epsilon else f"averages of {made.k} people"
        good += [f"analyses that bear {blurred}"]
        bad += ["taking a single value for the truth about a person"]
    if made.guarantee.unit is not None:
        bad.append(f"who belongs to which {made.guarantee.unit}: the rows do not tell")
    if evaluation is not None and not public:
        words = f"Measured against the original, by stated limits: {_thresholds()}."
        usable = 2
    else:
        evaluation, usable = on_invented_people(made), 1  # real people may be harder
        words = "" if public else "Not measured against the original (coterie evaluate). "
        if evaluation is None:
            words += "What it is worth is not known from public facts alone."
        else:
            words += (
                f"Tried on {evaluation['people']:,} invented people with these columns, this method and this promise: "
                "nothing was computed from the original, which may be easier or harder. "
                f"Limits: {_thresholds()}."
            )
    if evaluation is not None:
        better, worse = _measured(evaluation, usable)
        good, bad = [*better, *good], [*worse, *bad]
    blocks: list[Block] = [GoodAndBad(tuple(good), tuple(bad)), DossierText(words, small=True)]
    return DossierSection("What it is good for, and what not", tuple(blocks))


def on_invented_people(made: Certificate) -> dict[str, Any] | None:
    """What the same method does to invented people with the columns on a certificate; None if it tells too little.

    From the certificate alone, which is public: whoever reads it could do the same.
    """
    attributes: dict[str, Any] = {
        one.name: {
            "type": one.type,
            "role": Role.PROTECT,  # a measured weight, too
            "domain": one.domain and one.domain.model_dump(include={"lower", "upper"}),
            "categories": one.categories
            and one.categories.model_dump(include={"labels", "taxonomy", "order"}),
            "missing": one.missing or Missing.ERROR,
        }
        for one in made.attributes
        if one.missing is not None  # the others are dropped, kept or made from totals
    }
    unit = None
    if made.guarantee.unit is not None:
        attributes = {_UNIT: {"role": Role.IDENTIFIER}, **attributes}
        unit = {"column": _UNIT, "at_most": made.guarantee.rows_per_unit}
    try:
        schema = as_schema({"attributes": attributes, "unit": unit})
        trial = Trial.of(schema, min(made.release.rows, MOST_INVENTED), None, "one-way", None)
        k = None if get_method(made.method).fixed_k else made.k
        pairs = trial.pairs(made.method, Fraction(made.epsilon or 0), made.guarantee.delta, k)
        found = {name: trial.figures(pairs, name) for name in _MEASURED}
    except CoterieError:
        return None
    measures = {
        name: {"value": value, "details": {"by_sampling": luck}} for name, (value, luck) in found.items()
    }
    return {"people": trial.records, "measures": measures}


# Measures that a reader of a dossier can use, in this order, and what each is about.
_MEASURED = {
    "one-way": "shares and distributions of single columns",
    "two-way": "tables of two columns",
    "associations": "relations between two columns",
    "models": "regressions and classifiers",
}
_LISTED = 4  # names in one line
_UNIT = "unit of the promise"


def _measured(evaluation: Mapping[str, Any], best: int) -> tuple[list[str], list[str]]:
    """What it is good for by the `best` words of each measure, and what not: worst attributes and pairs by name."""
    good: list[str] = []
    bad: list[str] = []
    for name, about in _MEASURED.items():
        word, lost = judged(evaluation, name)
        if not word:
            continue
        usable = word in [known for _, known in get_measure(name).words[:best]]
        if usable:
            good.append(f"{about}: {word}")
        else:
            bad.append(
                f"{about}: {word}" + (f" ({DESTROYED}: {_named(lost)})" if lost and word != DESTROYED else "")
            )
        if lost and usable:
            bad.append(f"{about}, of {_named(lost)}: {DESTROYED}")
    broken = [rule for rule in evaluation.get("rules") or () if rule["after"] > 0]
    bad += [
        f"the rule {rule['rule']}: broken by {percent(rule['after'])} of the rows"
        for rule in broken[:_LISTED]
    ]
    return good, bad


def judged(evaluation: Mapping[str, Any], name: str) -> tuple[str, list[str]]:
    """The word for a measure, and what of it is destroyed."""
    found = (evaluation.get("measures") or {}).get(name)
    if not found or found.get("value") is None or math.isinf(found["value"]):
        return "", []
    result = MeasureResult(found["value"], found.get("attributes") or {}, found.get("details") or {})
    measure = get_measure(name)
    return measure.word(result.value or 0.0, result.details.get("by_sampling", 0.0)), measure.destroyed(
        result
    )


def _thresholds() -> str:
    told = []
    for name in ("one-way", "associations"):
        measure = get_measure(name)
        limits = ", ".join(f"{word} up to {number(most, 12)}" for most, word in measure.words)
        told.append(f"{measure.title} (0 to 1): {limits}, then {DESTROYED}")
    return "; ".join(told)


def _named(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
