"""What one owner's part promises, in words that do not tell how many rows it has."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from coterie.chain.noise.owner_seeds import owner_seed
from coterie.chain.noise.secure import SecureSampler
from coterie.chain.noise.seeded import SeededSampler
from coterie.federation.documents.study import Study
from coterie.methods import get_method
from coterie.methods.guarantee import Guarantee, settle
from coterie.promise.certificate import Promised
from coterie.promise.terms import facts_of

WITHHELD = "depends on the number of rows of this owner, which is not published"


def part_guarantee(study: Study, owner: str, records: int) -> Guarantee:
    """Follows from public facts, before any noise is drawn. One group shows nothing, but saying so would tell the rows."""
    return settle(
        get_method(study.method).promise,
        facts_of(
            study.schema_for(owner),
            get_method(study.method),
            study.share(owner),
            max(records, 2 * study.k),
            study.k,
            SecureSampler() if study.seed is None else SeededSampler(owner_seed(study.seed, owner)),
            shuffled=not study.vertical,
        ),
    )


def part_promise(study: Study, owner: str, records: int) -> Promised:
    """Every entry that would differ for another number of rows is withheld, whichever method wrote it."""
    found = asdict(part_guarantee(study, owner, records))
    others = [asdict(part_guarantee(study, owner, number)) for number in (2 * study.k, 2 * records + study.k)]
    for other in others:
        found = _common(found, other)
    return Promised.model_validate(found)


def _common(one: Any, other: Any) -> Any:
    if isinstance(one, dict):
        return {name: _common(value, other[name]) for name, value in one.items()}
    if isinstance(one, tuple | list) and len(one) == len(other):
        return tuple(_common(*pair) for pair in zip(one, other, strict=True))
    return one if one == other else WITHHELD
