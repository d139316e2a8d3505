"""The certificate of the joined release: the study, every owner's certificate, and what they come to together."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Any, Literal

from coterie._version import __version__
from coterie.chain.noise.secure import SecureSampler
from coterie.chain.noise.seeded import SeededSampler, owner_seed
from coterie.errors import CertificateError, CoterieError
from coterie.federation.documents.messages import Answer
from coterie.federation.documents.signed import Document, Signed
from coterie.federation.documents.study import Study
from coterie.federation.documents.wire import now, stamp
from coterie.federation.errors import FederationError
from coterie.methods import WITHDRAWN, get_method
from coterie.methods.guarantee import Guarantee, settle
from coterie.promise.certificate import Certificate, CertifiedPromise, Digest
from coterie.promise.signing import check_signature
from coterie.promise.terms import facts_of
from coterie.schema.exact import as_text, parse_epsilon

# What the joined release promises, from what each owner promised (Del Vasto-Terrientes et al., §3.2, Theorems 1 and 2).
#
# Owners protect under *replace one record*: each owner's number of records is fixed. So nothing is proved about a change
# that moves a person from one owner to another, and every joined promise rests on the condition that which owner holds
# a person does not depend on the attributes. Nobody can check that from here: no joined promise is `proved`.
#
# Horizontal: the largest ε_j, but only when *every* owner has signed that condition and that its people are nowhere else;
# otherwise one person may be in every part, and the ε_j add up. Vertical: everybody is in every part, so they add up, and
# the join shows ties across attributes. Nothing here can make the promise stronger than the weakest of its parts.

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
    rule = "Σ ε_j: not every owner signed that its people are at no other owner"
    if study.vertical:
        rule = "Σ ε_j: sequential composition (Del Vasto-Terrientes et al., Theorem 1)"
    elif owners and all(owners.values()):
        rule = "max ε_j: parallel composition (Del Vasto-Terrientes et al., Theorem 2), disjointness signed by all"
        return max(charges), rule
    return sum(charges, Fraction(0)), rule


def composed(
    study: Study,
    owners: Mapping[str, bool],
    promises: Mapping[str, CertifiedPromise],
    *,
    membership: bool = True,
) -> CertifiedPromise:
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
    condition = JOINED if study.matched else DISJOINT if parallel else MEMBERSHIP if membership else None
    status = weakest.status
    if condition and status in ("proved", "bounded"):
        status = "conditional"
    label = (
        f"composed over {len(parts)} owners: privacy loss {value} ({weakest.model}), calibrated ε = {as_text(epsilon)}; "
        f"{rule}. {_parts(owners, promises)}"
    )
    if study.matched and weakest.scope != "the released rows":
        label += ". The join shows which records share groups across owners; no promise covers that"
    assumptions = dict.fromkeys(text for part in parts for text in part.assumptions)
    return CertifiedPromise(
        model=weakest.model,
        value=value,
        status=status,
        scope=weakest.scope,
        label=label + (f"; only if: {condition}" if condition else ""),
        assumptions=(*assumptions, *((condition,) if condition else ())),
        citation=f"{weakest.citation}; composition: Del Vasto-Terrientes et al., Theorems 1 and 2",
        neighbours=_AT_ITS_OWNER if parallel else _AT_ALL_OWNERS,
        rests_on_noise=weakest.rests_on_noise,
    )


def _parts(owners: Mapping[str, bool], promises: Mapping[str, CertifiedPromise]) -> str:
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


class OwnerPart(Document):
    """One owner's share. `answer` carries its signature on what its part promises and on the disjointness statement.

    `rows` and the owner's own certificate, which tells them too, are there only if the owner's answer says that they are
    public, or if the study is of protocol 1.
    """

    owner: str
    epsilon: str
    rows: int | None = None
    answer: Signed
    certificate: dict[str, Any] | None = None


class FederatedCertificate(Document):
    kind = "federated certificate"
    coterie_federated_certificate: Literal[1, 2] = 2
    tool: str
    issued: str
    study: Signed
    epsilon: str
    rule: str
    guarantee: CertifiedPromise
    owners: tuple[OwnerPart, ...]
    absent: tuple[str, ...]
    rows: int
    columns: tuple[str, ...]
    digest: Digest
    aggregator_learned: tuple[str, ...]
    notes: tuple[str, ...]


def certify(
    study: Study,
    signed: Signed,
    signed_answers: dict[str, Signed],
    certificates: dict[str, Certificate],
    rows: int,
    columns: tuple[str, ...],
    digest: Digest,
) -> FederatedCertificate:
    answers = {owner: Answer.opened(envelope, study, owner) for owner, envelope in signed_answers.items()}
    disjoint = {owner: answer.disjoint for owner, answer in answers.items()}
    epsilon, rule = nominal(study, disjoint)
    parts, promises = [], {}
    for owner, answer in answers.items():
        certificate = certificates[owner]
        shown = answer.rows_public or answer.promise is None
        promises[owner] = answer.promise or certificate.guarantee
        parts.append(
            OwnerPart(
                owner=owner,
                epsilon=as_text(study.charge(owner)),
                rows=certificate.release.rows if shown else None,
                answer=signed_answers[owner],
                certificate=certificate.model_dump(mode="json") if shown else None,
            )
        )
    return FederatedCertificate(
        tool=f"coterie {__version__}",
        issued=stamp(now()),
        study=signed,
        epsilon=as_text(epsilon),
        rule=rule,
        guarantee=composed(study, disjoint, promises),
        owners=tuple(parts),
        absent=tuple(entry.owner for entry in study.roster if entry.owner not in answers),
        rows=rows,
        columns=columns,
        digest=digest,
        aggregator_learned=_learned(study),
        notes=_notes(study, len(study.roster) - len(answers)),
    )


def _learned(study: Study) -> tuple[str, ...]:
    learned = ["the protected table of each owner, and how many rows it has"]
    if study.blinded:
        learned += [
            "how many people the two owners have in common, how many each of them holds (from the size of what it "
            "carried), and which protected rows belong to one person",
            "nothing about ids: the owners blinded them for each other; one owner and the aggregator together "
            "cannot test an id that this owner did not blind itself",
        ]
    elif study.matched:
        learned += [
            "how many people the owners have in common, and which protected rows belong to one person",
            "nothing about ids: rows were joined by keyed pseudonyms, dropped before publication; "
            "but the aggregator together with any owner (who holds the group key) can test ids",
        ]
    return tuple(learned)


def _notes(study: Study, absent: int) -> tuple[str, ...]:
    notes = ["rows were put in random order; the order was drawn by the aggregator and then forgotten"]
    if study.seed is not None:
        notes.append("reproducible: not private (the study names a seed)")
    if absent:
        notes.append(f"{absent} owner(s) of the roster did not contribute")
    if study.blinded:
        notes.append(
            "each owner learned which of its own people the other one holds too, and how many it holds"
        )
    if study.matched:
        notes.append("only people held by every contributing owner are in the release")
    elif study.vertical:
        notes.append(
            "each owner's columns are synthetic on their own and stand side by side: the release shows no relation "
            "between columns of different owners; it has as many rows as the owner with the fewest"
        )
    return tuple(notes)


# Is the certificate of a joined release what it says? Every signature in it, and that the whole follows from the parts.


def is_federated(content: Any) -> bool:
    """Whether this JSON is a joined release's certificate (signed, by an aggregator) and not one table's."""
    document = content.get("document") if isinstance(content, dict) else None
    return isinstance(document, dict) and "coterie_federated_certificate" in document


def verified(signed: Signed, aggregator: str) -> FederatedCertificate:
    """The certificate, if the aggregator with this key signed it, the owners signed theirs, and they fit together."""
    certificate = signed.opened(FederatedCertificate, key=aggregator)
    study = certificate.study.opened(Study, key=aggregator)
    names = [part.owner for part in certificate.owners]
    if sorted([*names, *certificate.absent]) != sorted(study.keys):
        raise _wrong("it does not name every owner of the study once")
    answers = {part.owner: _answer(part, study) for part in certificate.owners}
    parts = {part.owner: _part(part, answers[part.owner], study) for part in certificate.owners}
    disjoint = {owner: answer.disjoint for owner, answer in answers.items()}
    epsilon, _ = nominal(study, disjoint)
    stated = certificate.coterie_federated_certificate > 1 or study.protocol > 1
    expected, found = composed(study, disjoint, parts, membership=stated), certificate.guarantee
    # The words may be another version's; what is promised may not.
    if certificate.epsilon != as_text(epsilon) or (found.model, found.value, found.status, found.scope) != (
        expected.model, expected.value, expected.status, expected.scope,
    ):  # fmt: skip
        raise _wrong("the promise is not what the owners' parts come to")
    return certificate


def _answer(part: OwnerPart, study: Study) -> Answer:
    answer = Answer.opened(part.answer, study, part.owner)
    if answer.decision != "approve":
        raise _wrong(f"the answer of {part.owner} is no approval of this study")
    return answer


def _part(part: OwnerPart, answer: Answer, study: Study) -> CertifiedPromise:
    """What this owner signed that its part promises."""
    charge = as_text(study.charge(part.owner))
    if part.epsilon != charge:
        raise _wrong(f"the part of {part.owner} is not what the study asked for")
    if part.certificate is None:
        if answer.promise is None or part.rows is not None:
            raise _wrong(f"the promise of {part.owner} is not signed by it")
        return answer.promise
    certificate = Certificate.from_json(json.dumps(part.certificate))
    require_own(certificate, study, part.owner, part.rows)
    return answer.promise or certificate.guarantee


def require_own(certificate: Certificate, study: Study, owner: str, rows: int | None) -> None:
    """An owner's certificate must be its own, and about what the study asked for."""
    try:
        check_signature(certificate, None)
    except CoterieError:
        raise _wrong(f"the signature of {owner} does not fit its part") from None
    if certificate.signature is None or certificate.signature.public_key != study.keys[owner]:
        raise _wrong(f"the part of {owner} is not signed by it")
    said = (certificate.method, certificate.epsilon, certificate.k, certificate.release.rows)
    if said != (study.method, as_text(study.charge(owner)), study.part_k, rows):
        asked = "what the study asked for (method, epsilon, k, number of rows)"
        raise _wrong(f"the part of {owner} is not {asked}")


def _wrong(reason: str) -> CertificateError:
    return CertificateError(
        f"The certificate contradicts itself: {reason}.", "Do not rely on it; ask its issuer."
    )


# What one owner's part promises, in words that do not tell how many rows it has.

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
            study.part_k,
            SecureSampler() if study.seed is None else SeededSampler(owner_seed(study.seed, owner)),
            shuffled=not study.matched,
        ),
    )


def part_promise(study: Study, owner: str, records: int) -> CertifiedPromise:
    """Every entry that would differ for another number of rows is withheld, whichever method wrote it."""
    found = asdict(part_guarantee(study, owner, records))
    others = [asdict(part_guarantee(study, owner, number)) for number in (2 * study.k, 2 * records + study.k)]
    for other in others:
        found = _common(found, other)
    return CertifiedPromise.model_validate(found)


def require_no_stronger(study: Study, owner: str, said: CertifiedPromise) -> None:
    """An owner cannot promise more than its method does: the joined promise would rest on that."""
    if study.method in WITHDRAWN:
        return
    ours = part_promise(study, owner, 2 * study.k)
    least, claimed = _number(ours.value), _number(said.value)
    rank, own = _WEAKEST_LAST.index(said.status), _WEAKEST_LAST.index(ours.status)
    if rank > max(own, _WEAKEST_LAST.index("conditional")):
        return  # it claims no proof at all, and then the whole has none
    if (
        said.model != ours.model
        or said.scope != ours.scope
        or rank < own
        or (claimed is None) != (least is None)  # words in the place of a number would pass for any number
        or (claimed is not None and least is not None and claimed < least)
    ):
        raise FederationError(
            "The answer promises more than the method does.", "Install the version of the aggregator."
        )


def _common(one: Any, other: Any) -> Any:
    if isinstance(one, dict):
        return {name: _common(value, other[name]) for name, value in one.items()}
    if isinstance(one, tuple | list) and len(one) == len(other):
        return tuple(_common(*pair) for pair in zip(one, other, strict=True))
    return one if one == other else WITHHELD
