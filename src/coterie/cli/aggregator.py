"""coterie aggregator: ask owners for protected tables, join them, release one."""

from __future__ import annotations

import json
import secrets
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer
from rich.markup import escape

from coterie.cli.federation_output import AGGREGATOR, AsJson, log_lines
from coterie.cli.output import console, print_json
from coterie.errors import MissingExtra, ParameterError
from coterie.federation.errors import FederationError

try:
    from coterie.cli.aggregator_studies import Database, Folder
    from coterie.cli.aggregator_studies import app as study_app
    from coterie.federation.aggregator.app import serve, tls_fingerprint
    from coterie.federation.aggregator.home import Aggregator, init
    from coterie.federation.documents.answers import Invitation
    from coterie.federation.storage.parties import invite, owner_by_name
except ImportError:
    raise MissingExtra.named("federation", "The aggregator") from None

from coterie.federation.documents.wire import now, stamp, validated
from coterie.federation.secrets.keys import write_private

app = typer.Typer(help=AGGREGATOR, no_args_is_help=True, rich_markup_mode="markdown")
app.add_typer(study_app, name="study")


@app.command("init")
def init_command(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A new folder for keys, chunks and releases.")
    ],
    url: Annotated[str, typer.Option(help="How owners reach it, such as https://aggregator.example:8443.")],
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Make keys, a self-signed TLS certificate (owners pin it) and the database. Prints the token of the status page.

    Example: coterie aggregator init ./aggregator --url https://aggregator.example:8443
    """
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname or parts.path.strip("/"):
        raise ParameterError(
            "The URL is not of the form https://HOST:PORT.", "Give the address that owners use."
        )
    aggregator, token = init(folder, url, [parts.hostname, "localhost"], database)
    try:
        content = {
            "folder": str(folder),
            "key": aggregator.fingerprint,
            "url": aggregator.url,
            "status_token": token,
        }
    finally:
        aggregator.close()
    if as_json:
        print_json(content)
        return
    console.print(
        f"The aggregator's key is [bold]{escape(content['key'])}[/]. Tell owners by another way than the invitation."
    )
    console.print(
        f"Status page: {escape(url)}/ with the token [bold]{escape(token)}[/]. It is shown only now."
    )
    console.print(f"Next: coterie aggregator serve {escape(str(folder))}")


@app.command("serve")
def serve_command(
    folder: Folder,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "0.0.0.0",
    port: Annotated[
        int | None, typer.Option(help="Port; default: that of the URL.", min=1, max=65535)
    ] = None,
    database: Database = None,
    client_ca: Annotated[
        Path | None,
        typer.Option(
            help="Also demand a TLS certificate from every caller, signed by one of these authorities (PEM)."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Serve owners and the status page until stopped. May be killed at any time: it resumes where it was.

    With --json, one line when it listens, then one line per event; without, log lines on standard error.

    Example: coterie aggregator serve ./aggregator
    """
    with log_lines(as_json=as_json):
        _serve(folder, host, port, database, client_ca, as_json=as_json)


def _serve(
    folder: Path, host: str, port: int | None, database: str | None, client_ca: Path | None, *, as_json: bool
) -> None:
    aggregator = Aggregator.open(folder, database)
    chosen = port or urlsplit(aggregator.url).port or 443

    def listening() -> None:
        content = {
            "event": "listening",
            "address": f"https://{f'[{host}]' if ':' in host else host}:{chosen}",
            "url": aggregator.url,
            "key": aggregator.fingerprint,
            "tls_sha256": tls_fingerprint(aggregator),
            "database": aggregator.database.shown,
            "client_certificates": "demanded" if client_ca else "not asked for",
        }
        if as_json:
            print(json.dumps(content), flush=True)
            return
        console.print(
            f"Owners reach the aggregator at [bold]{escape(aggregator.url)}[/] (listening on {chosen})."
        )
        console.print(
            f"Its key is [bold]{aggregator.fingerprint}[/]; the status page is at {escape(aggregator.url)}/"
        )
        if client_ca:
            console.print(f"Every caller must show a TLS certificate signed by {escape(str(client_ca))}.")

    try:
        with suppress(KeyboardInterrupt):
            serve(aggregator, host, chosen, client_ca, listening)
    finally:
        aggregator.close()


@app.command("invite")
def invite_command(
    folder: Folder,
    owner: Annotated[
        str, typer.Argument(metavar="OWNER", help="Name for the owner: small letters, digits, hyphens.")
    ],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File for the invitation.")] = None,
    valid: Annotated[int, typer.Option(help="Hours until it expires.", min=1, max=24 * 60)] = 72,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Make a one-time invitation. Send it over a channel that only this owner reads.

    Example: coterie aggregator invite ./aggregator hospital-a --output hospital-a.invitation
    """
    aggregator = Aggregator.open(folder, database)
    try:
        token = secrets.token_urlsafe(32)
        document = {
            "owner": owner,
            "url": aggregator.url,
            "aggregator": aggregator.keys.public,
            "tls": aggregator.tls_certificate,
            "token": token,
            "expires": stamp(now() + timedelta(hours=valid)),
        }
        invitation = validated(Invitation, document, "invitation")
        with aggregator.database.writing() as connection:
            if owner_by_name(connection, owner) is not None:
                raise FederationError(f"There is an owner '{owner}' already.", "Choose another name.")
            invite(connection, owner, token, invitation.expires)
    finally:
        aggregator.close()
    text = invitation.to_text()
    if output is not None:
        write_private(output, (text + "\n").encode())
    if as_json:
        print_json({"owner": owner, "expires": invitation.expires, "invitation": text})
    elif output is None:
        print(text)
    else:
        console.print(f"Wrote {escape(str(output))}; it works once, until {invitation.expires}.")
        console.print("The owner runs: coterie owner join FILE --home FOLDER")
