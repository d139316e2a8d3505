"""The certificate of the joined release: the study, every owner's certificate, and what they come to together."""

from __future__ import annotations

from typing import Any, Literal

from coterie._version import __version__
from coterie.budget import as_text
from coterie.certificate import Certificate, Digest, Promised
from coterie.federation.answers import Answer
from coterie.federation.composition import composed, nominal
from coterie.federation.envelope import Document, Signed
from coterie.federation.study import Study
from coterie.federation.wire import now, stamp

KIND = "federated certificate"


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
    coterie_federated_certificate: Literal[1, 2] = 2
    tool: str
    issued: str
    study: Signed
    epsilon: str
    rule: str
    guarantee: Promised
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
    answers: dict[str, tuple[Signed, Answer]],
    certificates: dict[str, Certificate],
    rows: int,
    columns: tuple[str, ...],
    digest: Digest,
) -> FederatedCertificate:
    disjoint = {owner: answer.disjoint for owner, (_, answer) in answers.items()}
    epsilon, rule = nominal(study, disjoint)
    parts, promises = [], {}
    for owner, (envelope, answer) in answers.items():
        certificate = certificates[owner]
        shown = answer.rows_public or answer.promise is None
        promises[owner] = answer.promise or certificate.guarantee
        parts.append(
            OwnerPart(
                owner=owner,
                epsilon=as_text(study.charge(owner)),
                rows=certificate.release.rows if shown else None,
                answer=envelope,
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
        notes=_notes(study, answers),
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
    elif study.vertical:
        learned += [
            "how many people the owners have in common, and which protected rows belong to one person",
            "nothing about ids: rows were joined by keyed pseudonyms, dropped before publication; "
            "but the aggregator together with any owner (who holds the group key) can test ids",
        ]
    return tuple(learned)


def _notes(study: Study, answers: dict[str, tuple[Signed, Answer]]) -> tuple[str, ...]:
    notes = ["rows were put in random order; the order was drawn by the aggregator and then forgotten"]
    if study.seed is not None:
        notes.append("reproducible: not private (the study names a seed)")
    absent = len(study.roster) - len(answers)
    if absent:
        notes.append(f"{absent} owner(s) of the roster did not contribute")
    if study.blinded:
        notes.append(
            "each owner learned which of its own people the other one holds too, and how many it holds"
        )
    if study.vertical:
        notes.append("only people held by every contributing owner are in the release")
    return tuple(notes)
