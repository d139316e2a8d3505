"""What a release is good for and what not, in the words that measures have for their figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coterie.auditing.attacks.finding import percent
from coterie.evaluation import get_measure
from coterie.evaluation.measure import DESTROYED, MeasureResult
from coterie.methods import all_methods
from coterie.promise.certificate import Certificate
from coterie.report.dossier_blocks import Block, DossierSection, DossierText, GoodAndBad
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
        good += ["analyses that bear the noise stated on the certificate"]
        bad += ["taking a single value for the truth about a person"]
    if made.guarantee.unit is not None:
        bad.append(f"who belongs to which {made.guarantee.unit}: the rows do not tell")
    blocks: list[Block] = []
    if evaluation is not None and not public:
        better, worse = _measured(evaluation)
        good, bad = [*better, *good], [*worse, *bad]
        blocks.append(DossierText(_thresholds(), small=True))
    else:
        good = [*(["shares and averages of large groups"] if synthetic_rows(made) else []), *good]
        if not public:
            words = "Not measured against the original (coterie evaluate)."
            blocks.append(DossierText(words, small=True))
    return DossierSection("What it is good for, and what not", (GoodAndBad(tuple(good), tuple(bad)), *blocks))


# Measures that a reader of a dossier can use, in this order, and what each is about.
_MEASURED = {
    "one-way": "shares and distributions of single columns",
    "two-way": "tables of two columns",
    "associations": "relations between two columns",
    "models": "regressions and classifiers",
}
_LISTED = 4  # names in one line


def _measured(evaluation: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """What it is good for by the words of each measure, and what not: worst attributes and pairs by name."""
    good: list[str] = []
    bad: list[str] = []
    for name, about in _MEASURED.items():
        word, lost = judged(evaluation, name)
        if not word:
            continue
        usable = word in [known for _, known in get_measure(name).words[:2]]
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
    if not found or found.get("value") is None:
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
    return f"Measured against the original, by stated limits: {'; '.join(told)}."


def _named(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
