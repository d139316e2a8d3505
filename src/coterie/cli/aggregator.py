"""coterie aggregator: ask owners for protected tables, join them, release one."""

from __future__ import annotations

import secrets
import shutil
import time
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from rich.markup import escape

from coterie.cli.federation_guides import AGGREGATOR
from coterie.cli.federation_output import AsJson, print_studies, print_study
from coterie.cli.output import console, print_json
from coterie.errors import MissingExtra, OutputError, ParameterError
from coterie.federation.errors import FederationError, StudyEnded

try:
    from coterie.federation.aggregator.board import board, detail
    from coterie.federation.aggregator.home import Aggregator, init
    from coterie.federation.aggregator.serving import serve
    from coterie.federation.invitation import Invitation
    from coterie.federation.storage.parties import invite, owner_by_name
    from coterie.federation.storage.studies import add_study, move_study, study_row
    from coterie.federation.study_file import read_study
except ImportError:
    raise MissingExtra.named("federation", "The aggregator") from None

from coterie.federation.envelope import Signed, validated
from coterie.federation.keys import write_private
from coterie.federation.states import StudyState
from coterie.federation.study import KIND
from coterie.federation.wire import now, stamp

app = typer.Typer(help=AGGREGATOR, no_args_is_help=True, rich_markup_mode="markdown")
study_app = typer.Typer(
    help="Begin a study, look at it, cancel it, take its release.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
app.add_typer(study_app, name="study")

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The aggregator's folder, made by `init`.")]
Database = Annotated[
    str | None,
    typer.Option(envvar="COTERIE_DATABASE", help="postgresql://… instead of SQLite in the folder."),
]
StudyName = Annotated[
    str, typer.Argument(metavar="STUDY", help="The study's id, or its first characters (at least 6).")
]


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
        typer.Option(help="Also demand TLS certificates from owners, signed by these authorities."),
    ] = None,
) -> None:
    """Serve owners and the status page until stopped. May be killed at any time: it resumes where it was.

    Example: coterie aggregator serve ./aggregator
    """
    aggregator = Aggregator.open(folder, database)
    try:
        serve(aggregator, host, port or urlsplit(aggregator.url).port or 443, client_ca)
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


@study_app.command("new")
def new_command(
    folder: Folder,
    spec: Annotated[
        Path, typer.Argument(metavar="SPEC", help="The study as YAML; see docs/how-to/federate.md.")
    ],
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Sign a study and ask its owners. It can never be changed: a change is a new study.

    Example: coterie aggregator study new ./aggregator study.yaml
    """
    aggregator = Aggregator.open(folder, database)
    try:
        with aggregator.database.writing() as connection:
            study = read_study(spec, aggregator.keys.public, lambda name: owner_by_name(connection, name))
            add_study(connection, Signed.of(study, KIND, aggregator.keys), study)
            row = study_row(connection, study.id)
            assert row is not None
            move_study(connection, row, StudyState.PUBLISHED)
        content = detail(aggregator, study.id)
    finally:
        aggregator.close()
    assert content is not None
    if as_json:
        print_json(content["study"])
    else:
        print_study(content["study"])


@study_app.command("show")
def show_command(
    folder: Folder,
    study: Annotated[
        str | None, typer.Argument(metavar="[STUDY]", help="Id or its beginning; default: all.")
    ] = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Print states, deadlines, sizes and the diary. Changes nothing.

    Example: coterie aggregator study show ./aggregator 5f2c81
    """
    aggregator = Aggregator.open(folder, database)
    try:
        content: Any = board(aggregator) if study is None else _found(aggregator, study)
    finally:
        aggregator.close()
    if as_json:
        print_json(content)
    elif study is None:
        print_studies(content["studies"])
    else:
        print_study(content["study"], content["diary"])


@study_app.command("cancel")
def cancel_command(
    folder: Folder, study: StudyName, database: Database = None, as_json: AsJson = False
) -> None:
    """End a study that is not being assembled yet. What owners have spent stays spent.

    Example: coterie aggregator study cancel ./aggregator 5f2c81
    """
    aggregator = Aggregator.open(folder, database)
    try:
        name = _found(aggregator, study)["study"]["id"]
        with aggregator.database.writing() as connection:
            row = study_row(connection, name)
            assert row is not None
            move_study(connection, row, StudyState.CANCELLED, reason="cancelled by the administrator")
    finally:
        aggregator.close()
    print_json({"study": name, "state": "CANCELLED"}) if as_json else console.print(f"Cancelled {name[:12]}.")


@study_app.command("release")
def release_command(
    folder: Folder,
    study: StudyName,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to put the joined table (.parquet).")],
    wait: Annotated[int, typer.Option(help="Seconds to wait for the release.", min=0)] = 0,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing outputs.")] = False,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Take the joined table and its certificate. The running aggregator makes them as soon as all owners have delivered.

    Example: coterie aggregator study release ./aggregator 5f2c81 --output release.parquet --wait 600
    """
    certificate = output.with_name(output.name + ".certificate.json")
    for path in (output, certificate):
        if path.exists() and not force:
            raise OutputError(f"{path} exists already.", "Choose another name, or replace it with --force.")
    aggregator = Aggregator.open(folder, database)
    try:
        name = _found(aggregator, study)["study"]["id"]
        end = time.monotonic() + wait
        while True:
            with aggregator.database.reading() as connection:
                row = study_row(connection, name)
            assert row is not None
            if row.state is StudyState.RELEASED:
                break
            if row.state in (StudyState.FAILED, StudyState.EXPIRED, StudyState.CANCELLED):
                raise StudyEnded(
                    f"The study is {row.state}: {row.reason or 'no reason given'}.", "There is no release."
                )
            if time.monotonic() >= end:
                raise FederationError(
                    f"The study is {row.state}; nothing is released yet.", "Wait: give --wait SECONDS."
                )
            time.sleep(0.5)
        assert row.certificate is not None
        certificate.write_text(row.certificate + "\n")
        shutil.copyfile(aggregator.release(name), output)
        content = _found(aggregator, name)["study"]
    finally:
        aggregator.close()
    if as_json:
        print_json({"output": str(output), "certificate": str(certificate), **content["guarantee"]})
        return
    console.print(
        f"Wrote {content['guarantee']['rows']:,} rows to [bold]{escape(str(output))}[/], certificate beside it."
    )
    console.print(f"Promise: {content['guarantee']['status']}. {escape(content['guarantee']['label'])}.")


def _found(aggregator: Aggregator, study: str) -> dict[str, Any]:
    """By its id or the beginning of it."""
    matches = [
        entry["id"]
        for entry in board(aggregator)["studies"]
        if len(study) >= 6 and entry["id"].startswith(study)
    ]
    content = detail(aggregator, matches[0]) if len(matches) == 1 else None
    if content is None:
        raise FederationError(
            "There is no such study." if not matches else "Several studies begin like that.",
            "`coterie aggregator study show FOLDER` lists them.",
        )
    return content
