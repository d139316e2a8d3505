"""coterie certificate: verify, show, make a signing key, print the JSON Schema."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from typer import Argument, Option

import coterie
from coterie.cli.options import AsJson, TableOfRelease
from coterie.cli.output import console, print_certificate, print_json, say
from coterie.errors import counted
from coterie.federation.documents.certificate import FederatedCertificate
from coterie.federation.documents.verification import read_any, superseded
from coterie.methods.guarantee import beside_in_words
from coterie.schema.exact import brief

app = typer.Typer(
    help="A certificate says what was promised, under which assumptions, over which bytes.",
    no_args_is_help=True,
)
CertificateFile = Annotated[Path, Argument(metavar="CERTIFICATE", help="The certificate's JSON file.")]


@app.command("verify")
def verify(
    released: Annotated[str, Argument(metavar="OUT", help="The released file, or a database URL.")],
    certificate_file: CertificateFile,
    table: TableOfRelease = None,
    key: Annotated[
        str | None,
        Option(
            help="The issuer's public key (.pub) or its fingerprint (SHA256:…); then the signature must be theirs."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say whether a release and a certificate belong together; of one owner, or of several. Exit code 7 if they do not."""
    found = coterie.verify(released, certificate_file, table=table, key=key)
    certificate, signer = found.certificate, found.signer
    if as_json:
        told = {} if found.outdated is None else {"outdated": found.outdated}
        print_json({"match": True, "signer": signer, "signer_trusted": found.signer_trusted, **told})
        return
    console.print("[bold #009E73]They belong together:[/] the release has the bytes that were certified.")
    if isinstance(certificate, FederatedCertificate):
        owners = escape(", ".join(part.owner for part in certificate.owners))
        console.print(f"The parts of {owners} are signed by them, and the promise is what they come to.")
    if found.outdated is not None:
        console.print(f"But {escape(found.outdated)}.")
    if signer is None:
        console.print("The certificate is not signed: this does not show who issued it.")
    elif key is None:
        console.print(f"Signed by {signer}. Give --key to check that this is the issuer you trust.")
    else:
        console.print(f"Signed by the key you trust ({signer}).")


@app.command("show")
def show(certificate_file: CertificateFile, as_json: AsJson = False) -> None:
    """Print a certificate in words."""
    certificate, signer, _ = read_any(certificate_file)
    if isinstance(certificate, FederatedCertificate):
        if as_json:
            print_json(certificate.content())
        else:
            _show_joined(certificate, signer)
        return
    if as_json or not isinstance(certificate, coterie.Certificate):
        print_json(certificate.model_dump(mode="json"))
        return
    promise = certificate.guarantee
    lines = [
        ("Method", f"{certificate.method}: {certificate.method_title} ({certificate.papers})"),
        ("Promise", promise.label),
        ("Covers", promise.scope),
        *(("Beside it", line) for line in beside_in_words(promise.beside)),
        ("Neighbours", promise.neighbours),
        ("Budget", _budget(certificate)),
        ("Noise", certificate.sampler),
        ("Dropped", ", ".join(certificate.dropped) or "nothing"),
        ("Untouched", ", ".join(certificate.kept) or "nothing"),
        ("Release", f"{counted(certificate.release.rows, 'row')}, sha256 {certificate.release.digest.value}"),
    ]
    lines += [("Rule", f"every row satisfies: {rule}") for rule in certificate.rules]
    lines += [("Assumes", assumption) for assumption in promise.assumptions]
    lines += [
        ("Beside it", f"assumes that {assumption}")
        for other in promise.beside
        for assumption in other.assumptions
        if assumption not in promise.assumptions
    ]
    lines += [("Note", note) for note in (superseded(certificate), *certificate.notes) if note]
    print_certificate(certificate.issued, promise.status, lines)


def _budget(certificate: coterie.Certificate) -> str:
    """ε, with δ and ρ where there is a δ; and the groups, where there are any."""
    promise = certificate.guarantee
    spent = f"ε = {certificate.epsilon} in all" if certificate.epsilon else "no noise, so no ε"
    if promise.delta is not None and promise.rho is not None:
        delta, rho = (brief(Fraction(text)) for text in (promise.delta, promise.rho))
        spent = f"ε = {certificate.epsilon}, δ = {delta} in all; noise for ρ = {rho}"
    if certificate.k == 1:
        return f"{spent}; nobody is grouped"
    count = certificate.clusters.count
    return (
        f"{spent}; k = {certificate.k:,}, {'some clusters' if count is None else counted(count, 'cluster')}"
    )


@app.command("key")
def key_command(
    path: Annotated[Path, Argument(metavar="FILE", help="Where the private key goes; FILE.pub is public.")],
    as_json: AsJson = False,
) -> None:
    """Make an Ed25519 key pair to sign certificates with (`coterie protect --sign FILE`)."""
    mark = coterie.make_key(path)
    shown = escape(str(path))
    say(
        {"private": str(path), "public": f"{path}.pub", "fingerprint": mark},
        f"Wrote {shown} (keep it secret) and {shown}.pub (give it to those who verify). Fingerprint {mark}.",
        as_json=as_json,
    )


@app.command("schema")
def schema_command(as_json: Annotated[bool, Option("--json", help="It is JSON anyway.")] = True) -> None:
    """Print the JSON Schema of certificates."""
    print_json(coterie.Certificate.model_json_schema())


def _show_joined(certificate: FederatedCertificate, signer: str | None) -> None:
    """The release of several owners."""
    promise, asked = certificate.guarantee, certificate.study.document
    lines = [
        ("Study", f"{asked['title']}: {asked['fragmentation']}, {asked['method']}, k = {asked['k']}"),
        ("Promise", promise.label),
        ("Covers", promise.scope),
        ("Neighbours", promise.neighbours),
        ("Budget", f"ε = {certificate.epsilon} in all; {certificate.rule}"),
        *(("Owner", f"{part.owner}: ε = {part.epsilon}{_of_rows(part.rows)}") for part in certificate.owners),
        ("Absent", ", ".join(certificate.absent) or "nobody"),
        ("Release", f"{counted(certificate.rows, 'row')}, sha256 {certificate.digest.value}"),
        ("Signed by", f"aggregator {signer}"),
        *(("Assumes", assumption) for assumption in promise.assumptions),
        *(("Learned", f"by the aggregator: {learned}") for learned in certificate.aggregator_learned),
        *(("Note", note) for note in certificate.notes),
        *(("Today", note) for note in [superseded(certificate)] if note),
    ]
    print_certificate(certificate.issued, promise.status, lines)


def _of_rows(rows: int | None) -> str:
    return "" if rows is None else f", {counted(rows, 'row')}"
