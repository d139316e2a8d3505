"""From a promise to its certificate: the facts of a release, written down over the bytes that were released."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from coterie._version import __version__
from coterie.chain.noise.sampler import Sampler
from coterie.chain.noise.secure import GAUSSIAN
from coterie.methods import all_methods
from coterie.methods.grouping import Grouping
from coterie.methods.guarantee import Facts, Guarantee
from coterie.methods.recipe import Method
from coterie.promise.certificate import (
    Certificate,
    CertifiedAttribute,
    CertifiedClusters,
    CertifiedPromise,
    CertifiedRelease,
    ClusterSizes,
    Dependence,
    Digest,
    Multiplier,
    NumberOfRows,
)
from coterie.promise.posterior import release_warnings
from coterie.schema.attributes import Attribute, Role, Schema
from coterie.schema.declared import declared_of
from coterie.schema.exact import as_text
from coterie.schema.survey_words import is_weight, parts


def certify(
    guarantee: Guarantee,
    facts: Facts,
    schema: Schema,
    method: Method,
    shares: Mapping[str, Fraction],
    bounds: Mapping[str, Fraction],
    dependence: Fraction,
    counting: Fraction,
    sampler: Sampler,
    columns: tuple[str, ...],
    issued: datetime,
    digest: Digest,
) -> Certificate:
    """Everything that was promised, over the bytes that `digest` names."""
    cost = method.cost(facts.epsilon, len(facts.protected))
    trees = dict(facts.taxonomies)
    declared = {a.name: declared_of(a, trees.get(a.name)) for a in schema.protected}
    return Certificate(
        tool=f"coterie {__version__}",
        issued=issued.astimezone(UTC).isoformat(timespec="seconds"),
        method=method.name,
        method_title=method.title,
        papers=method.papers,
        epsilon=as_text(cost) if method.adds_noise else None,
        k=facts.k,
        clusters=_clusters(method.grouping, facts),
        guarantee=CertifiedPromise.model_validate(asdict(guarantee)),
        effective_multiplier=_multiplier(method, facts),
        attributes=_attributes(schema.attributes, declared, method, facts, shares, bounds),
        dependence=_dependence(method, dependence, facts),
        number_of_rows=_number_of_rows(counting, facts),
        dropped=tuple(attribute.name for attribute in schema.with_role(Role.IDENTIFIER)),
        kept=facts.kept,
        rules=facts.rules if facts.rules_hold else (),
        sampler=_noise(method, sampler, facts),
        reproducible=not facts.private_noise,
        notes=(
            *_notes(facts, method),
            *(note for a in schema.protected for note in a.stated),
            *release_warnings(
                method,
                cost,
                shares,
                frozenset(facts.labelled),
                facts.records,
                facts.k,
                guarantee,
            ),
        ),
        release=CertifiedRelease(
            rows=facts.released or facts.records, columns=columns, shuffled=facts.shuffled, digest=digest
        ),
    )


def _noise(method: Method, sampler: Sampler, facts: Facts) -> str:
    if not method.adds_noise:
        return "none: no noise was added"
    return GAUSSIAN if facts.rho is not None and sampler.private else sampler.name


def _dependence(method: Method, epsilon: Fraction, facts: Facts) -> Dependence | None:
    if not method.synthetic:
        return None
    stages = "every attribute in a random order of its own"
    return Dependence(
        mechanism=method.whole_table.stages if method.whole_table else stages,
        **_parts({"": epsilon}, facts)[""],
    )


def _number_of_rows(counting: Fraction, facts: Facts) -> NumberOfRows | None:
    if facts.unit is None:
        return None
    noise = "one count · discrete Laplace or Gaussian noise"
    return NumberOfRows(found=facts.records, mechanism=noise, **_parts({"": counting}, facts)[""])


def _parts(shares: Mapping[str, Fraction], facts: Facts) -> dict[str, dict[str, str | None]]:
    """Parts of the budget in the currency that adds up."""
    if facts.rho is None:
        return {name: {"epsilon": as_text(share)} for name, share in shares.items()}
    per_epsilon = facts.rho / facts.epsilon
    return {name: {"epsilon": None, "rho": as_text(per_epsilon * share)} for name, share in shares.items()}


def _clusters(grouping: Grouping, facts: Facts) -> CertifiedClusters:
    if grouping.sizes is None:
        return CertifiedClusters(grouping=grouping.name, count=None, sizes=None)
    sizes = [
        ClusterSizes(size=size, clusters=count) for size, count in grouping.sizes(facts.records, facts.k)
    ]
    return CertifiedClusters(
        grouping=grouping.name, count=sum(entry.clusters for entry in sizes), sizes=tuple(sizes)
    )


def _multiplier(method: Method, facts: Facts) -> Multiplier | None:
    if method.understated is None or facts.sizes_from_data:
        return None
    lower, upper = method.understated(facts.clusters)
    return Multiplier(clusters=facts.clusters, lower=as_text(lower), upper=as_text(upper))


def _attributes(
    attributes: Iterable[Attribute],
    declared: Mapping[str, dict[str, Any]],
    method: Method,
    facts: Facts,
    shares: Mapping[str, Fraction],
    bounds: Mapping[str, Fraction],
) -> tuple[CertifiedAttribute, ...]:
    """Each as it is declared, and what the method does to it. `bounds`: what finding them cost."""
    derived = dict(facts.derived)
    parts = _parts(shares, facts) if method.adds_noise else {}
    paid = {name: as_text(epsilon) for name, epsilon in bounds.items()}
    # Of numbers and of labels.
    stages = [f"{method.grouping.name} · {each.stages}" for each in (method.numeric, method.categorical)]
    cautions = [each.caution for each in (method.numeric, method.categorical)]
    found = []
    for attribute in attributes:
        name = attribute.name
        entries: dict[str, Any] = {"name": name, "role": attribute.role, "type": attribute.type}
        entries["unit"] = attribute.unit
        if attribute.role is Role.WEIGHT and facts.totals:
            entries["mechanism"] = "raked to public totals: not read, without ε"
        elif name in declared:
            entries |= declared[name]
            labelled = name in facts.labelled
            if name in derived:
                entries["mechanism"] = f"not measured: {derived[name]}"
            else:
                entries |= {"mechanism": stages[labelled], "caution": cautions[labelled]}
                entries |= parts.get(name, {})
            if name in paid:
                entries["domain"] = {**entries["domain"], "epsilon": paid[name]}
        found.append(CertifiedAttribute(**entries))
    return tuple(found)


def _notes(facts: Facts, method: Method) -> tuple[str, ...]:
    notes = [f"recoded before anything else: {words}" for words in facts.recoded]
    if not method.splits_budget:
        each = as_text(facts.epsilon)
        notes.append(f"as published, each attribute gets the whole ε = {each}, whatever its weight")
    if not facts.private_noise:
        notes.append("reproducible: not private")
    if not facts.clipped:
        notes.append("released numbers are not cut to their domain")
    if facts.bounds_from_data:
        notes.append(
            f"{', '.join(facts.bounds_from_data)} taken from the data: this discloses extremes or labels"
        )
    if facts.bounds_paid:
        notes.append(
            f"bounds of {', '.join(facts.bounds_paid)} found by a DP quantile, paid from their part of ε"
        )
    if facts.order_from_data:
        notes.append(
            f"category order of {', '.join(facts.order_from_data)} taken from the data (Del Vasto-Terrientes et al., §5.1)"
        )
    if facts.parameters_from_data:
        notes.append(
            "method, ε and k chosen by comparing results on these data: the choice shows something of them"
        )
    if facts.parameters_public_because:
        notes.append(facts.parameters_public_because)
    if facts.synthetic:
        notes.append(
            "rows are synthetic: no row stands for a record, and kept columns, if any, are unrelated to them"
        )
    notes += facts.raking
    if facts.unit is not None:
        notes.append(
            f"the number of rows was measured with noise, and drawn rows are as many unless another number was asked for; "
            f"they form no {facts.unit.word}s"
        )
    if facts.unit is not None and facts.unit.at_most > 1:
        share = "s/{0} of ε" if facts.rho is None else "s²/{0}² of ρ"
        notes.append(
            f"a {facts.unit.word} with fewer rows is promised more: of s rows, {share.format(facts.unit.at_most)}"
        )
    if facts.kept:
        notes.append(f"released untouched: {', '.join(facts.kept)}")
    weights = [name for name in facts.kept if is_weight(parts(name))]
    if linking := [name for name in facts.linking if name not in weights]:
        notes.append(
            f"{', '.join(linking)}: released untouched, with so many possible values that equal ones probably mark the rows "
            "of one household or person, and that whoever knows a value finds its row; protect or drop such a column, or "
            "declare its few labels"
        )
    if weights:
        notes.append(
            f"{', '.join(weights)} looks like a survey weight and is released untouched: rows with equal weights probably "
            "belong to one household"
        )
    if facts.households:
        notes.append(
            f"{', '.join(facts.households)} looks like the number of a household, but the schema names no unit: the promise "
            "is to single rows"
        )
    if not facts.shuffled and not facts.synthetic:
        notes.append(
            "rows stand in the order of the table: whoever knows that order knows whose row is whose"
        )
    if facts.rules and not facts.rules_hold:
        notes.append(
            "the schema's rules are not enforced: noise is drawn value by value, so rows of the release violate some"
        )
    if facts.marked:
        notes.append(f"read as missing, although the domain holds it: {'; '.join(facts.marked)}")
    if facts.gaps:
        notes.append(
            f"missing is an outcome of {', '.join(facts.gaps)}: measured and released like another, an empty cell"
        )
    return tuple(notes)


def warnings_on(certificate: Certificate) -> tuple[str, ...]:
    """The notes of a certificate that warn of its budget, told from the others."""
    if certificate.epsilon is None or certificate.method not in all_methods():
        return ()
    whole, sizes = Fraction(certificate.epsilon), certificate.clusters.sizes
    per_rho = whole / Fraction(certificate.guarantee.rho or 1)
    shares = {
        a.name: Fraction(a.epsilon) if a.epsilon is not None else Fraction(a.rho or 0) * per_rho
        for a in certificate.attributes
        if a.epsilon is not None or a.rho is not None
    }
    found = release_warnings(
        all_methods()[certificate.method],
        whole,
        shares,
        frozenset(a.name for a in certificate.attributes if a.type.labelled),
        # Synthetic rows may be more or fewer than the records were.
        sum(entry.size * entry.clusters for entry in sizes) if sizes else certificate.release.rows,
        certificate.k,
        certificate.guarantee,
    )
    return tuple(warning for warning in found if warning in certificate.notes)
