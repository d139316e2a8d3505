"""Send the finished bytes, as often as needed; fetch the joined release and check it."""

from __future__ import annotations

import hashlib
import os
from typing import Any

from coterie.errors import CertificateError, CoterieError
from coterie.federation.documents.answers import Manifest, Receipt
from coterie.federation.documents.canonical import Signed, canonical, sha256, validated
from coterie.federation.documents.certificate import FederatedCertificate, verified
from coterie.federation.errors import Untrusted
from coterie.federation.owner.client import AnswerFault, Client
from coterie.federation.owner.computing import chunk_path
from coterie.federation.owner.home import Home
from coterie.federation.secrets.keys import keep_private


def deliver(home: Home, client: Client, study: str, signed: Signed) -> None:
    """Manifest, missing chunks, seal; the receipt is kept. Every step may be repeated."""
    manifest = Manifest.model_validate(signed.document)
    missing = client.put(f"/v1/studies/{study}/manifest", signed.canonical())["missing"]
    for number in missing:
        data = chunk_path(home, study, int(number)).read_bytes()
        client.put(f"/v1/studies/{study}/chunks/{int(number)}", data, "application/octet-stream")
    receipt = validated(Signed, client.post(f"/v1/studies/{study}/seal"), "receipt")
    opened = receipt.opened("receipt", Receipt, key=home.aggregator)
    if opened.manifest != sha256(signed.canonical()) or opened.study != study or opened.rows != manifest.rows:
        raise Untrusted(
            "The receipt is about other bytes than those sent.", "Ask the aggregator's administrator."
        )
    keep_private(home.study(study) / "receipt.json", receipt.canonical())
    home.journal.note("delivered", study=study, receipt=sha256(receipt.canonical()))


def copied(home: Home, study: str) -> bool:
    return (home.study(study) / "release.parquet").exists()


def fetch_release(home: Home, client: Client, study: str) -> FederatedCertificate:
    """Step 8 of 003: this owner's copy. The table is kept only if its hash is on the signed certificate."""
    signed = validated(Signed, client.get(f"/v1/studies/{study}/certificate"), "certificate")
    try:
        certificate = verified(signed, home.aggregator)
        if sha256(canonical(certificate.study.document)) != study:
            raise CertificateError("The certificate is about another study.", "Do not rely on it.")
    except CoterieError as error:
        raise Untrusted(error.problem, "Ask the aggregator's administrator; no copy was kept.") from None
    folder = home.study(study)
    temporary = folder / "release.parquet.part"
    digest = hashlib.sha256()
    try:
        with client.download(f"/v1/studies/{study}/release") as parts, temporary.open("wb") as file:
            for part in parts:
                digest.update(part)
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        if digest.hexdigest() != certificate.digest.value:
            raise Untrusted(
                "The release is not the one on its certificate.", "Ask the aggregator's administrator."
            )
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    keep_private(folder / "release.certificate.json", signed.canonical())
    os.replace(temporary, folder / "release.parquet")
    home.journal.note("copied", study=study, release=certificate.digest.value)
    return certificate


def close(client: Client, study: str) -> bool:
    """Tell the aggregator that this study need not be sent again. False from one that does not know the word."""
    try:
        client.post(f"/v1/studies/{study}/closed")
    except AnswerFault:
        return False
    return True


def report(client: Client, study: str, state: str) -> Any:
    return client.post(f"/v1/studies/{study}/progress", {"state": state})
