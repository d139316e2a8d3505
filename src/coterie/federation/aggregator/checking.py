"""Step 3 of 003 over the answers, and the content of what was delivered. Reasons name columns only."""

from __future__ import annotations

from coterie.errors import CoterieError
from coterie.federation.aggregator.home import Aggregator
from coterie.federation.documents.answers import Answer, Manifest
from coterie.federation.documents.chunks import arrow_schema, require_domain, unpacked
from coterie.federation.documents.study import Study
from coterie.federation.errors import FederationError
from coterie.federation.secrets.blinding import COLUMN
from coterie.federation.storage.studies import Contribution
from coterie.promise.certificate import Certificate
from coterie.promise.signing import check_signature
from coterie.schema.exact import as_text


def disagreement(study: Study, answers: dict[str, Answer]) -> str | None:
    """A_1 = … = A_m (horizontal) or pairwise disjoint (vertical); the attributes at fault, or None."""
    offers = {owner: set(answer.attributes) for owner, answer in answers.items()}
    if study.vertical:
        taken: dict[str, str] = {}
        for owner, names in offers.items():
            for name in sorted(names):
                if name in taken:
                    both = f"{taken[name]} and {owner}"
                    return (
                        f"attribute '{name}' is offered by {both}: in a vertical study they must not overlap"
                    )
                taken[name] = owner
        expected = {owner: {a.name for a in study.asked_of(owner)} for owner in offers}
    else:
        expected = {owner: {a.name for a in study.attributes} for owner in offers}
    for owner, names in offers.items():
        wrong = sorted(names ^ expected[owner])
        if wrong:
            listed = ", ".join(f"'{name}'" for name in wrong[:10])
            return f"the attributes that {owner} is willing to share differ from the others' or the study's in {listed}"
    return None


def wrong_content(aggregator: Aggregator, study: Study, part: Contribution, key: str) -> str | None:
    """Why a delivered contribution cannot be used, or None. Chunk by chunk: memory stays small."""
    manifest = part.opened_manifest(key)
    attributes = study.asked_of(part.name)
    schema = arrow_schema(attributes, pseudonymous=study.vertical)
    try:
        _require_certificate(study, part.signed_answer(key)[1], manifest, key)
        previous = b""
        for number, claimed in enumerate(manifest.chunks):
            table = unpacked(aggregator.chunk(part.study, part.owner, number), claimed, schema)
            require_domain(table, attributes)
            if study.vertical:
                names = table.column(COLUMN).to_pylist()
                for name in names:
                    if name <= previous:
                        return "its pseudonyms are not in ascending order, each once"
                    previous = name
    except CoterieError as error:
        return f"{error.problem}"
    return None


def _require_certificate(study: Study, answer: Answer, manifest: Manifest, key: str) -> None:
    """The owner's certificate must be its own, and say what the study asked for and the owner's answer promised."""
    owner = answer.owner
    certificate = Certificate.from_json(manifest.certificate)
    check_signature(certificate, None)
    if certificate.signature is None or certificate.signature.public_key != key:
        raise FederationError("The certificate is not signed by the owner.", "Ask the owner.")
    expected = (study.method, as_text(study.charge(owner)), study.k, manifest.rows)
    found = (certificate.method, certificate.epsilon, certificate.k, certificate.release.rows)
    if found != expected or certificate.release.columns != tuple(a.name for a in study.asked_of(owner)):
        raise FederationError(
            "The certificate is about another method, epsilon, k, number of rows or set of columns.",
            "Ask the owner.",
        )
    said, promised = certificate.guarantee, answer.promise
    if promised is not None and (said.model, said.status, said.scope) != (
        promised.model, promised.status, promised.scope,
    ):  # fmt: skip
        raise FederationError(
            "The certificate and the owner's answer promise different things.", "Ask the owner."
        )
    if certificate.reproducible != (study.seed is not None):
        raise FederationError("The certificate and the study differ about the seed.", "Ask the owner.")
