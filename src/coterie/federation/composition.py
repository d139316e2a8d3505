"""What the joined release promises, from what each owner promised (003 §3.2, Theorems 1 and 2).

Owners protect under *replace one record*: each owner's number of records is fixed. So nothing is proved about a change
that moves a person from one owner to another, and every joined promise rests on the condition that which owner holds
a person does not depend on the attributes. Nobody can check that from here: no joined promise is `proved`.

Horizontal: the largest ε_j, but only when *every* owner has signed that condition and that its people are nowhere else;
otherwise one person may be in every part, and the ε_j add up. Vertical: everybody is in every part, so they add up, and
the join shows ties across attributes. Nothing here can make the promise stronger than the weakest of its parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from coterie.budget import as_text, parse_epsilon
from coterie.certificate import Promised
from coterie.errors import CoterieError
from coterie.federation.study import Study

_WEAKEST_LAST = ("proved", "bounded", "conditional", "heuristic", "refuted", "none")
DISJOINT = (
    "every owner signed that its people are at no other owner, and that who is where does not depend "
    "on the attributes"
)
MEMBERSHIP = (
    "which owners hold a person does not depend on the attributes, and each owner holds at most one record of a "
    "person (not every owner signed it)"
)
JOINED = (
    "which people each owner holds does not depend on the attributes (the join shows who is in all parts)"
)
_AT_ITS_OWNER = (
    "replace one record by any other of the domain at the same owner; each owner's number of records is fixed"
)
_AT_ALL_OWNERS = (
    "replace the records of one person by any others of the domain, each at the owner that holds it; "
    "each owner's number of records is fixed"
)


def nominal(study: Study, owners: Mapping[str, bool]) -> tuple[Fraction, str]:
    """ε of the whole for the owners that took part (name → signed disjointness), and the rule that gives it."""
    charges = [study.charge(owner) for owner in owners]
    if study.vertical:
        return sum(charges, Fraction(0)), "Σ ε_j: sequential composition (003 Theorem 1)"
    if owners and all(owners.values()):
        return max(charges), "max ε_j: parallel composition (003 Theorem 2), disjointness signed by all"
    return (
        sum(charges, Fraction(0)),
        "Σ ε_j: not every owner signed that its people are at no other owner",
    )


def composed(
    study: Study, owners: Mapping[str, bool], promises: Mapping[str, Promised], *, membership: bool = True
) -> Promised:
    """The guarantee of the joined table, from each owner's.

    `membership=False`: as certificates of version 1 had it, which did not state the condition where ε were added.
    """
    epsilon, rule = nominal(study, owners)
    parts = [promises[owner] for owner in owners]
    weakest = max(parts, key=lambda part: _WEAKEST_LAST.index(part.status))
    values = [_number(part.value) for part in parts]
    parallel = not study.vertical and all(owners.values())
    finite = [value for value in values if value is not None]
    total = max(finite, default=Fraction(0)) if parallel else sum(finite, Fraction(0))
    value = weakest.value if len(finite) < len(parts) else as_text(total)
    condition = JOINED if study.vertical else DISJOINT if parallel else MEMBERSHIP if membership else None
    status = weakest.status
    if condition and status in ("proved", "bounded"):
        status = "conditional"
    label = (
        f"composed over {len(parts)} owners: privacy loss {value} ({weakest.model}), calibrated ε = {as_text(epsilon)}; "
        f"{rule}. {_parts(owners, promises)}"
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
        neighbours=_AT_ITS_OWNER if parallel else _AT_ALL_OWNERS,
        rests_on_noise=weakest.rests_on_noise,
    )


def _parts(owners: Mapping[str, bool], promises: Mapping[str, Promised]) -> str:
    """What each owner promised: one sentence if all promised the same, else who promised what."""
    found: dict[str, list[str]] = {}
    for owner in owners:
        found.setdefault(promises[owner].label, []).append(owner)
    if len(found) == 1:
        return f"Each owner's part: {next(iter(found))}"
    return "; ".join(f"Part of {', '.join(names)}: {label}" for label, names in found.items())


def _number(text: str) -> Fraction | None:
    try:
        return parse_epsilon(text)
    except CoterieError:
        return None
