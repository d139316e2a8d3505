"""What a release of statistics promises, how each number was made noisy, and over which bytes."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Literal

from pydantic import BaseModel, ValidationError

from coterie._version import __version__
from coterie.errors import CertificateError, shortened
from coterie.methods.guarantee import CHOSEN_BLIND, DELIVERED, EXCHANGE, Guarantee, Status
from coterie.promise.certificate import Bounds, CertifiedPromise, Digest, Signable, Signature
from coterie.promise.loss import ROW, Loss, LossModel, NeighbourRelation
from coterie.publication.ledger import Purpose
from coterie.schema.attributes import AttributeType, Missing, Outside
from coterie.schema.exact import as_text
from coterie.schema.unit import Above, PrivacyUnit
from coterie.statistics.releasing.releasing import StatisticsRelease
from coterie.statistics.specification.specification import Neighbours, Notion, Specification

_NEIGHBOURS = {
    Neighbours.REPLACE_ONE: "replace one record by any other of the domain; the number of records is public",
    Neighbours.ADD_REMOVE: "add or remove one record",
    Neighbours.EXCHANGE: "replace one record by any other, or by none; the number of records is private",
}
_UNIT = "the privacy unit is one record: whoever is behind several records has less protection"
_MODELS = {
    Notion.PURE: "differential privacy",
    Notion.ZCDP: "zero-concentrated differential privacy",
    Notion.APPROXIMATE: "approximate differential privacy",
}


class CertifiedMeasurement(BaseModel, frozen=True, extra="forbid"):
    name: str
    budget: str
    mechanism: str
    scale: str
    sensitivity: str
    formula: str
    proof: str


class StatisticsCertificate(Signable):
    coterie_statistics_certificate: Literal[1] = 1
    tool: str
    issued: str
    release: str
    plan: str
    specification: str
    request: str  # a hash of what was asked; no function of the data
    budget: str
    ledger_epsilon: str | None  # of a pure budget; older certificates turned ρ into ε at δ = 1e-9
    guarantee: CertifiedPromise
    bounds: dict[str, Bounds]
    measurements: tuple[CertifiedMeasurement, ...]
    expected_from: str
    sampler: str
    reproducible: bool
    notes: tuple[str, ...]
    digest: Digest
    signature: Signature | None = None

    @classmethod
    def from_json(cls, text: str | bytes) -> StatisticsCertificate:
        try:
            return cls.model_validate_json(text)
        except ValidationError:
            raise CertificateError(
                "This is not a certificate of a statistics release.",
                "Give the JSON file that `coterie stats release` wrote, unchanged.",
            ) from None


def promise(specification: Specification, as_in_paper: bool, private_noise: bool) -> Guarantee:
    """The guarantee of a release, weakened by everything the publisher chose."""
    model, value = _MODELS[specification.budget.notion], str(specification.budget)
    unit = specification.schema.unit
    assumptions = [
        "bounds, filters, group values, expected values and the specification are public",
        _UNIT if unit is None else _whole_unit(unit),
        *_refusals(specification),
        *dict.fromkeys(DELIVERED.format(s.weighted_by) for s in specification.statistics if s.weighted_by),
    ]
    if specification.budget.delta is not None and specification.size is None:
        assumptions.append(
            f"there are not many more than the {specification.records} records planned for, far below 1/δ"
        )
    status, label = Status.PROVED, f"{value} {model}"
    if unit is not None:
        label += f" per {unit.word} of {unit.rows}"
    conditions = _conditions(specification)
    if conditions:
        status = Status.CONDITIONAL
        label += f"; only if: {'; '.join(conditions)}"
    used = specification.columns
    from_data = [a.from_data for a in specification.schema.attributes if a.from_data and a.name in used]
    if from_data:
        status = Status.REFUTED
        label = f"not {model}: {', '.join(from_data)} taken from the data"
    if as_in_paper:
        status = Status.REFUTED
        label = f"not {model}: sensitivities and the split were taken from the data, as in Nunes 2024"
    if not private_noise:
        status, label, model, value = Status.NONE, "reproducible: not private", "none", "none"
    return Guarantee(
        model=model,
        value=value,
        status=status,
        scope="all released statistics and everything computed from them",
        label=label,
        assumptions=(*assumptions, *conditions, CHOSEN_BLIND),
        citation="docs/guarantees/statistics.md; Nunes 2024, chapter 5",
        neighbours=_NEIGHBOURS[specification.neighbours] if unit is None else EXCHANGE.format(rows=unit.rows),
        unit=None if unit is None else unit.word,
        relation=None if unit is None else specification.neighbours.value,
        rows_per_unit=specification.rows_per_unit,
        policy=None if unit is None else unit.above.value,
    )


def _whole_unit(unit: PrivacyUnit) -> str:
    kept = (
        f"of a larger {unit.word}, {unit.at_most} records were chosen inside it and the others left out"
        if unit.above is Above.TRUNCATE
        else f"a table in which a {unit.word} has more records is refused"
    )
    return f"one {unit.word} has one label in the column '{unit.column}'; {kept}"


def purpose_of(
    specification: Specification, as_in_paper: bool = False, target: str = "", fingerprint: str = ""
) -> Purpose:
    """What a ledger is charged: the budget as it is, for the neighbours of the specification.

    A release that has no proof is noted with its budget, and counts for nothing. A ledger is never charged for seeded
    noise, so the noise is the real one here.
    """
    status, budget = promise(specification, as_in_paper, private_noise=True).status, specification.budget
    unit = specification.schema.unit
    loss = Loss(
        LossModel.DP if status.proof else LossModel.NONE,
        NeighbourRelation(specification.neighbours.value),
        status,
        budget.epsilon,
        budget.delta,
        budget.rho,
        *(ROW if unit is None else unit.word, specification.rows_per_unit),
        policy="" if unit is None else unit.above.value,
        scope="all released statistics",
    )
    method = f"statistics: {specification.release}"
    return Purpose(specification.population, loss, method, status, target, fingerprint)


def _conditions(specification: Specification) -> list[str]:
    conditions = []
    unit = specification.schema.unit
    if unit is not None and unit.above is Above.REFUSE:
        conditions.append(f"no {unit.word} has more than {unit.at_most} records (else the table was refused)")
    if specification.disjoint:
        conditions.append("the groups declared disjoint share no record in any possible table")
    return conditions


def _refusals(specification: Specification) -> list[str]:
    """Tables that the release refuses: it says nothing about those, and a refusal is outside the promise."""
    schema = specification.schema
    added = specification.added_up
    used = [a for a in schema.attributes if a.name in specification.columns]
    checked = [a for a in used if a.name in added or a.is_protected]  # a kept filter's column may have gaps
    kept = []
    if any(a.domain is not None and a.outside is Outside.ERROR for a in checked):
        kept.append("values lie within their bounds")
    if any(a.categories is not None for a in used):
        kept.append("labels are declared ones")
    if any(a.type is not AttributeType.CATEGORICAL for a in used):
        kept.append("cells can be read as their type")
    if any(a.missing is Missing.ERROR for a in checked):
        kept.append("no value is missing")
    if specification.disjoint:
        kept.append("groups declared disjoint share no record")
    if specification.complete or any(s.table and s.table.complete for s in specification.statistics):
        kept.append("groups declared complete hold every record")
    if specification.size is not None:
        kept.append("the number of records is as stated")
    if not kept:
        return []
    return [
        f"every table in question keeps the schema ({', '.join(kept)}); other tables are refused on the publisher's "
        "machine, and whether a release was refused depends on the data"
    ]


def certify_statistics(made: StatisticsRelease, content: bytes, request: str) -> StatisticsCertificate:
    """The certificate of a release, over the bytes it is published as."""
    plan, private = made.plan, made.private
    specification, design, budget = plan.specification, plan.design, plan.specification.budget
    notes = list(plan.warnings)
    if made.pilot is not None:
        notes.append(f"A share of {as_text(specification.pilot)} of the budget paid for a pilot.")
    if made.uninformative:
        notes.append(
            f"The noise says nothing of {shortened(list(made.uninformative), 6)}: every possible value is in the interval. "
            "Raise the budget, or ask for fewer or larger groups."
        )
    if made.apart:
        notes.append(
            "No tables without negative counts were found that agree on all margins: those of overlapping tables of three "
            f"or more columns differ by up to {made.apart:,.0f} records."
        )
    notes += [
        f"recoded before anything else: {a.name}: {a.recoded_in_words}"
        for a in specification.schema.attributes
        if a.is_recoded and a.name in specification.columns
    ]
    if not private:
        notes.append("reproducible: not private")
    bounds = {}
    for attribute in specification.schema.attributes:
        if attribute.name in specification.added_up and attribute.domain is not None:
            domain = attribute.domain
            bounds[attribute.name] = Bounds(
                lower=None if "lower" in domain.leaks else repr(domain.lower),
                upper=None if "upper" in domain.leaks else repr(domain.upper),
                source=domain.source,
                from_data=domain.from_data,
                public_because=domain.reasons,
            )
    measurements = tuple(
        CertifiedMeasurement(
            name=m.name,
            budget=as_text(part),
            mechanism=quantity.family.value,
            scale=repr(made.scales[m.name]),
            sensitivity=repr(m.bound.nominal(specification.neighbours, m.where.everyone)),
            formula=m.bound.formula,
            proof=m.bound.proof,
        )
        for m, part, quantity in zip(design.measurements, plan.budgets, design.metric.sources, strict=True)
    )
    return StatisticsCertificate(
        tool=f"coterie {__version__}",
        issued=datetime.now(UTC).isoformat(timespec="seconds"),
        release=specification.release,
        plan=plan.digest,
        specification=specification.digest,
        request=request,
        budget=str(budget),
        ledger_epsilon=as_text(budget.total) if budget.notion is Notion.PURE else None,
        guarantee=CertifiedPromise.model_validate(asdict(promise(specification, plan.as_in_paper, private))),
        bounds=bounds,
        measurements=measurements,
        expected_from=specification.expected_from,
        sampler=made.sampler,
        reproducible=not private,
        notes=tuple(notes),
        digest=Digest(over="file bytes", value=hashlib.sha256(content).hexdigest()),
    )
