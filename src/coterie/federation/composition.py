"""What the joined release promises, from what each owner promised (003 §3.2, Theorems 1 and 2).

Horizontal: the largest ε_j, but only when *every* owner has signed that its people are nowhere else and that who is
where does not depend on the attributes; otherwise one person may be in every part, and the ε_j add up.
Vertical: everybody is in every part, so they add up, and the join shows ties across attributes.
Nothing here can make the promise stronger than the weakest of its parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from coterie.budget import as_text, parse_epsilon
from coterie.certificate import Certificate, Promised
from coterie.errors import CoterieError
from coterie.federation.study import Study

_WEAKEST_LAST = ("proved", "bounded", "conditional", "heuristic", "refuted", "none")
DISJOINT = (
    "every owner signed that its people are at no other owner, and that who is where does not depend "
    "on the attributes"
)
JOINED = (
    "which people each owner holds does not depend on the attributes (the join shows who is in all parts)"
)


def nominal(study: Study, owners: Mapping[str, bool]) -> tuple[Fraction, str]:
    """ε of the whole for the owners that took part (name → signed disjointness), and the rule that gives it."""
    shares = {owner: study.share(owner) for owner in owners}
    if study.vertical:
        return sum(shares.values(), Fraction(0)), "Σ ε_j: sequential composition (003 Theorem 1)"
    if owners and all(owners.values()):
        return max(
            shares.values()
        ), "max ε_j: parallel composition (003 Theorem 2), disjointness signed by all"
    return (
        sum(shares.values(), Fraction(0)),
        "Σ ε_j: not every owner signed that its people are at no other owner",
    )


def composed(study: Study, owners: Mapping[str, bool], certificates: Mapping[str, Certificate]) -> Promised:
    """The guarantee of the joined table."""
    epsilon, rule = nominal(study, owners)
    parts = [certificates[owner].guarantee for owner in owners]
    weakest = max(parts, key=lambda part: _WEAKEST_LAST.index(part.status))
    values = [_number(part.value) for part in parts]
    parallel = not study.vertical and all(owners.values())
    finite = [value for value in values if value is not None]
    total = max(finite, default=Fraction(0)) if parallel else sum(finite, Fraction(0))
    value = weakest.value if len(finite) < len(parts) else as_text(total)
    condition = JOINED if study.vertical else DISJOINT if parallel else None
    status = weakest.status
    if condition and status in ("proved", "bounded"):
        status = "conditional"
    label = (
        f"composed over {len(parts)} owners: privacy loss {value} ({weakest.model}), calibrated ε = {as_text(epsilon)}; "
        f"{rule}. {_parts(owners, certificates)}"
    )
    if study.vertical and weakest.scope != "the released rows":
        label += ". The join shows which records share groups across owners; no promise covers that"
    assumptions = dict.fromkeys(text for part in parts for text in part.assumptions)
    return Promised(
        model=weakest.model,
        value=value,
        status=status,
        scope=weakest.scope,
        label=label + (f"; only if: {condition}" if condition else ""),
        assumptions=(*assumptions, *((condition,) if condition else ())),
        citation=f"{weakest.citation}; composition: 003 Theorems 1 and 2",
        neighbours=weakest.neighbours,
        rests_on_noise=weakest.rests_on_noise,
    )


def _parts(owners: Mapping[str, bool], certificates: Mapping[str, Certificate]) -> str:
    """What each owner promised: one sentence if all promised the same, else who promised what."""
    found: dict[str, list[str]] = {}
    for owner in owners:
        found.setdefault(certificates[owner].guarantee.label, []).append(owner)
    if len(found) == 1:
        return f"Each owner's part: {next(iter(found))}"
    return "; ".join(f"Part of {', '.join(names)}: {label}" for label, names in found.items())


def _number(text: str) -> Fraction | None:
    try:
        return parse_epsilon(text)
    except CoterieError:
        return None
