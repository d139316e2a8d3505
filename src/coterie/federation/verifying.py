"""Is the certificate of a joined release what it says? Every signature in it, and that the whole follows from the parts."""

from __future__ import annotations

import json
from typing import Any

from coterie.budget import as_text
from coterie.certificate import Certificate, Promised
from coterie.errors import CertificateError, CoterieError
from coterie.federation.answers import Answer
from coterie.federation.certificate import KIND, FederatedCertificate, OwnerPart
from coterie.federation.composition import composed, nominal
from coterie.federation.envelope import Signed
from coterie.federation.study import KIND as STUDY
from coterie.federation.study import Study
from coterie.signing import check_signature


def is_federated(content: Any) -> bool:
    """Whether this JSON is a joined release's certificate (signed, by an aggregator) and not one table's."""
    document = content.get("document") if isinstance(content, dict) else None
    return isinstance(document, dict) and "coterie_federated_certificate" in document


def verified(signed: Signed, aggregator: str) -> FederatedCertificate:
    """The certificate, if the aggregator with this key signed it, the owners signed theirs, and they fit together."""
    certificate = signed.opened(KIND, FederatedCertificate, key=aggregator)
    study = certificate.study.opened(STUDY, Study, key=aggregator)
    keys = {entry.owner: entry.key for entry in study.roster}
    names = [part.owner for part in certificate.owners]
    if sorted([*names, *certificate.absent]) != sorted(keys):
        raise _wrong("it does not name every owner of the study once")
    answers = {part.owner: _answer(part, study, keys[part.owner]) for part in certificate.owners}
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


def _answer(part: OwnerPart, study: Study, key: str) -> Answer:
    answer = part.answer.opened("answer", Answer, key=key)
    if (answer.study, answer.owner, answer.decision) != (study.id, part.owner, "approve"):
        raise _wrong(f"the answer of {part.owner} is no approval of this study")
    return answer


def _part(part: OwnerPart, answer: Answer, study: Study) -> Promised:
    """What this owner signed that its part promises."""
    charge = as_text(study.charge(part.owner))
    if part.epsilon != charge:
        raise _wrong(f"the part of {part.owner} is not what the study asked for")
    if part.certificate is None:
        if answer.promise is None or part.rows is not None:
            raise _wrong(f"the promise of {part.owner} is not signed by it")
        return answer.promise
    certificate = _certificate(part, study, charge)
    return answer.promise or certificate.guarantee


def _certificate(part: OwnerPart, study: Study, charge: str) -> Certificate:
    certificate = Certificate.from_json(json.dumps(part.certificate))
    entry = study.entry(part.owner)
    assert entry is not None
    try:
        check_signature(certificate, None)
    except CoterieError:
        raise _wrong(f"the signature of {part.owner} does not fit its part") from None
    if certificate.signature is None or certificate.signature.public_key != entry.key:
        raise _wrong(f"the part of {part.owner} is not signed by it")
    said = (certificate.method, certificate.epsilon, certificate.k, certificate.release.rows)
    if said != (study.method, charge, study.k, part.rows):
        raise _wrong(f"the part of {part.owner} is not what the study asked for")
    return certificate


def _wrong(reason: str) -> CertificateError:
    return CertificateError(
        f"The certificate contradicts itself: {reason}.", "Do not rely on it; ask its issuer."
    )
