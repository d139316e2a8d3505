"""coterie certificate: verify, show, make a signing key, print the JSON Schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.panel import Panel

from coterie.cli.federation_output import outdated, read_joined, show_joined
from coterie.cli.output import console, print_json, styled_status
from coterie.errors import CertificateError
from coterie.methods.guarantee import beside_in_words
from coterie.promise.certificate import Certificate, json_schema
from coterie.promise.signing import check_signature, make_key, require_signer
from coterie.promise.verification import digest_like

app = typer.Typer(
    help="A certificate says what was promised, under which assumptions, over which bytes.",
    no_args_is_help=True,
)
AsJson = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
CertificateFile = Annotated[Path, typer.Argument(metavar="CERTIFICATE", help="The certificate's JSON file.")]


def read_certificate(path: Path) -> Certificate:
    try:
        return Certificate.from_json(path.read_bytes())
    except OSError as error:
        raise CertificateError(
            f"The certificate cannot be read ({error.strerror}).", "Check the path of the certificate."
        ) from None


def superseded(certificate: Certificate) -> str | None:
    """An earlier version gave rows the status of the list of group means, and said so in the scope alone."""
    promise = certificate.guarantee
    if not promise.scope.endswith(", not the rows it is put back on"):
        return None
    return (
        f"an earlier version wrote '{promise.status}' of the list of group means; today the released rows have a status "
        f"of their own, which is weaker (`coterie methods show {certificate.method}`)"
    )


@app.command("verify")
def verify(
    released: Annotated[str, typer.Argument(metavar="OUT", help="The released file, or a database URL.")],
    certificate_file: CertificateFile,
    table: Annotated[str | None, typer.Option(help="The released table, for a database URL.")] = None,
    key: Annotated[
        str | None,
        typer.Option(
            help="The issuer's public key (.pub) or its fingerprint (SHA256:…); then the signature must be theirs."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say whether a release and a certificate belong together; of one owner, or of several. Exit code 7 if they do not."""
    joined = read_joined(certificate_file)
    if joined is not None:
        signer: str | None = joined.signer
        digest = joined.certificate.digest
    else:
        certificate = read_certificate(certificate_file)
        signer, digest = check_signature(certificate, None), certificate.release.digest
    note = outdated(joined) if joined is not None else superseded(certificate)
    if key is not None:
        require_signer(signer, key)
    if digest_like(released, table, digest) != digest.value:
        raise CertificateError(
            "The release and the certificate do not belong together: the digests differ.",
            "The file was changed after it was certified, or this is another release's certificate.",
        )
    if as_json:
        told = {} if note is None else {"outdated": note}
        print_json({"match": True, "signer": signer, "signer_trusted": key is not None, **told})
        return
    console.print("[bold #009E73]They belong together:[/] the release has the bytes that were certified.")
    if joined is not None:
        owners = ", ".join(part.owner for part in joined.certificate.owners)
        console.print(
            f"The parts of {escape(owners)} are signed by them, and the promise is what they come to."
        )
    if note is not None:
        console.print(f"But {escape(note)}.")
    if signer is None:
        console.print("The certificate is not signed: this does not show who issued it.")
    elif key is None:
        console.print(f"Signed by {signer}. Give --key to check that this is the issuer you trust.")
    else:
        console.print(f"Signed by the key you trust ({signer}).")


@app.command("show")
def show(certificate_file: CertificateFile, as_json: AsJson = False) -> None:
    """Print a certificate in words."""
    joined = read_joined(certificate_file)
    if joined is not None:
        show_joined(joined, as_json=as_json)
        return
    certificate = read_certificate(certificate_file)
    if as_json:
        print_json(certificate.model_dump(mode="json"))
        return
    promise = certificate.guarantee
    spent = f"ε = {certificate.epsilon} in all" if certificate.epsilon else "no noise, so no ε"
    status = styled_status(promise.status)
    # A certificate is a file from elsewhere, and names of columns may hold brackets: all of it is escaped.
    lines = [
        ("Method", f"{certificate.method}: {certificate.method_title} ({certificate.papers})"),
        ("Promise", promise.label),
        ("Covers", promise.scope),
        *(("Beside it", line) for line in beside_in_words(promise.beside)),
        ("Neighbours", promise.neighbours),
        ("Budget", f"{spent}; k = {certificate.k}, {certificate.clusters.count or 'some'} clusters"),
        ("Noise", certificate.sampler),
        ("Dropped", ", ".join(certificate.dropped) or "nothing"),
        ("Untouched", ", ".join(certificate.kept) or "nothing"),
        ("Release", f"{certificate.release.rows} rows, sha256 {certificate.release.digest.value}"),
    ]
    lines += [("Assumes", assumption) for assumption in promise.assumptions]
    lines += [
        ("Beside it", f"assumes that {assumption}")
        for other in promise.beside
        for assumption in other.assumptions
        if assumption not in promise.assumptions
    ]
    lines += [("Note", note) for note in (superseded(certificate), *certificate.notes) if note]
    text = "\n".join(
        f"[bold]{heading:11}[/] {f'{status}: ' if heading == 'Promise' else ''}{escape(content)}"
        for heading, content in lines
    )
    console.print(Panel(text, title=f"Certificate of {escape(certificate.issued)}", expand=False))


@app.command("key")
def key_command(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="Where the private key goes; FILE.pub is public.")
    ],
    as_json: AsJson = False,
) -> None:
    """Make an Ed25519 key pair to sign certificates with (`coterie protect --sign FILE`)."""
    mark = make_key(path)
    if as_json:
        print_json({"private": str(path), "public": f"{path}.pub", "fingerprint": mark})
        return
    console.print(
        f"Wrote {escape(str(path))} (keep it secret) and {escape(str(path))}.pub (give it to those who verify). "
        f"Fingerprint {mark}."
    )


@app.command("schema")
def schema_command(
    as_json: Annotated[bool, typer.Option("--json", help="It is JSON anyway.")] = True,
) -> None:
    """Print the JSON Schema of certificates."""
    print_json(json_schema())
