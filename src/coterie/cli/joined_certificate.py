"""The certificate of a joined release (several owners), for `coterie certificate verify` and `show`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from rich.markup import escape
from rich.panel import Panel

from coterie.cli.output import console, print_json, styled_status
from coterie.errors import CertificateError
from coterie.federation.certificate import FederatedCertificate
from coterie.federation.composition import MEMBERSHIP
from coterie.federation.envelope import signed_from
from coterie.federation.errors import FederationError
from coterie.federation.keys import fingerprint
from coterie.federation.verifying import is_federated, verified


@dataclass(frozen=True)
class Joined:
    certificate: FederatedCertificate
    signer: str  # fingerprint of the aggregator's key, which must be compared with one that was told


def read_joined(path: Path) -> Joined | None:
    """Checked in all its parts; None if this is no certificate of a joined release."""
    try:
        data = path.read_bytes()
        if not is_federated(json.loads(data)):
            return None
        signed = signed_from(data)
        return Joined(verified(signed, signed.key), fingerprint(signed.key))
    except (OSError, ValueError, RecursionError):
        return None  # whoever reads one table's certificate says what is wrong with the file
    except FederationError as error:
        raise CertificateError(error.problem, error.advice) from None


def outdated(joined: Joined) -> str | None:
    """What an earlier version did not say where it added up the owners' ε."""
    if joined.certificate.coterie_federated_certificate > 1 or joined.certificate.guarantee.status not in (
        "proved", "bounded",
    ):  # fmt: skip
        return None
    return (
        f"an earlier version wrote '{joined.certificate.guarantee.status}'; today it is 'conditional', because it holds "
        f"only if {MEMBERSHIP}"
    )


def show_joined(joined: Joined, *, as_json: bool) -> None:
    certificate, promise = joined.certificate, joined.certificate.guarantee
    if as_json:
        print_json(certificate.content())
        return
    asked = certificate.study.document
    lines = [
        ("Study", f"{asked['title']}: {asked['fragmentation']}, {asked['method']}, k = {asked['k']}"),
        ("Promise", promise.label),
        ("Covers", promise.scope),
        ("Neighbours", promise.neighbours),
        ("Budget", f"ε = {certificate.epsilon} in all; {certificate.rule}"),
        *(
            ("Owner", f"{part.owner}: ε = {part.epsilon}{'' if part.rows is None else f', {part.rows} rows'}")
            for part in certificate.owners
        ),
        ("Absent", ", ".join(certificate.absent) or "nobody"),
        ("Release", f"{certificate.rows} rows, sha256 {certificate.digest.value}"),
        ("Signed by", f"aggregator {joined.signer}"),
        *(("Assumes", assumption) for assumption in promise.assumptions),
        *(("Learned", f"by the aggregator: {learned}") for learned in certificate.aggregator_learned),
        *(("Note", note) for note in certificate.notes),
        *(("Today", note) for note in [outdated(joined)] if note),
    ]
    text = "\n".join(
        f"[bold]{heading:11}[/] {f'{styled_status(promise.status)}: ' if heading == 'Promise' else ''}{escape(content)}"
        for heading, content in lines
    )
    console.print(Panel(text, title=f"Certificate of {escape(certificate.issued)}", expand=False))
