"""coterie aggregator: ask owners for protected tables, join them, release one."""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from rich.markup import escape
from sqlalchemy import Connection
from typer import Argument, Option

from coterie.cli import aggregator_administration as administration
from coterie.cli.federation_output import AGGREGATOR, StudyName, chosen, log_lines, print_studies, print_study
from coterie.cli.options import AsJson, Force
from coterie.cli.output import console, print_json, say, say_event
from coterie.errors import OutputError, ParameterError
from coterie.federation.aggregator.administration import Webhook
from coterie.federation.aggregator.app import serve, tls_fingerprint
from coterie.federation.aggregator.home import Aggregator, init
from coterie.federation.aggregator.status_page import board, detail
from coterie.federation.documents.messages import Invitation
from coterie.federation.documents.signed import Signed, validated
from coterie.federation.documents.states import StudyState
from coterie.federation.documents.study_file import read_study
from coterie.federation.documents.wire import now, stamp
from coterie.federation.errors import FederationError, StudyEnded
from coterie.federation.secrets.keys import write_private
from coterie.federation.storage import parties, studies
from coterie.publication.publishing import place
from coterie.publication.staged_files import stage_file
from coterie.publication.staging import stage_bytes

app = typer.Typer(help=AGGREGATOR, no_args_is_help=True, rich_markup_mode="markdown")
study_commands = typer.Typer(
    help="Begin a study, look at it, cancel it, take its release.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
app.add_typer(study_commands, name="study")
app.add_typer(administration.owners, name="owners")
app.add_typer(administration.invitations, name="invitations")
app.add_typer(administration.rotate, name="rotate")

app.command("backup")(administration.backup_command)
app.command("restore")(administration.restore_command)


@app.command("init")
def init_command(
    folder: Annotated[Path, Argument(metavar="FOLDER", help="A new folder for keys, chunks and releases.")],
    url: Annotated[str, Option(help="How owners reach it, such as https://aggregator.example:8443.")],
    database: administration.Database = None,
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
    with closing(aggregator):
        key = aggregator.fingerprint
        content = {"folder": str(folder), "key": key, "url": aggregator.url, "status_token": token}
    say(
        content,
        f"The aggregator's key is [bold]{escape(key)}[/]. Tell owners by another way than the invitation.",
        f"Status page: {escape(url)}/ with the token [bold]{escape(token)}[/]. It is shown only now.",
        f"Next: coterie aggregator serve {escape(str(folder))}",
        as_json=as_json,
    )


@app.command("serve")
def serve_command(
    folder: administration.Folder,
    host: Annotated[str, Option(help="Address to listen on.")] = "0.0.0.0",
    port: Annotated[int | None, Option(help="Port; default: that of the URL.", min=1, max=65535)] = None,
    database: administration.Database = None,
    client_ca: Annotated[
        Path | None,
        Option(
            help="Also demand a TLS certificate from every caller, signed by one of these authorities (PEM)."
        ),
    ] = None,
    webhook: Annotated[
        str | None,
        Option(envvar="COTERIE_WEBHOOK", help="Address that gets a POST (JSON) for what needs a person."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Serve owners and the status page until stopped. May be killed at any time: it resumes where it was.

    With --json, one line when it listens, then one line per event; without, log lines on standard error.

    Example: coterie aggregator serve ./aggregator
    """

    def listening() -> None:
        content = {
            "event": "listening",
            "address": f"https://{f'[{host}]' if ':' in host else host}:{taken}",
            "url": aggregator.url,
            "key": aggregator.fingerprint,
            "tls_sha256": tls_fingerprint(aggregator),
            "database": aggregator.database.shown,
            "client_certificates": "demanded" if client_ca else "not asked for",
        }
        url, shown = escape(aggregator.url), f"signed by {escape(str(client_ca))}"
        say_event(
            content,
            f"Owners reach the aggregator at [bold]{url}[/] (listening on {taken}).",
            f"Its key is [bold]{aggregator.fingerprint}[/]; the status page is at {url}/",
            *([f"Every caller must show a TLS certificate {shown}."] if client_ca else []),
            as_json=as_json,
        )

    with (
        log_lines(as_json=as_json),
        closing(Aggregator.open(folder, database)) as aggregator,
        aggregator.serving(),
        suppress(KeyboardInterrupt),
    ):
        taken = port or urlsplit(aggregator.url).port or 443
        serve(aggregator, host, taken, client_ca, listening, Webhook(webhook) if webhook else None)


@app.command("invite")
def invite_command(
    folder: administration.Folder,
    owner: Annotated[
        str, Argument(metavar="OWNER", help="Name for the owner: small letters, digits, hyphens.")
    ],
    output: Annotated[Path | None, Option("--output", "-o", help="File for the invitation.")] = None,
    valid: Annotated[int, Option(help="Hours until it expires.", min=1, max=24 * 60)] = 72,
    database: administration.Database = None,
    as_json: AsJson = False,
) -> None:
    """Make a one-time invitation. Send it over a channel that only this owner reads.

    Example: coterie aggregator invite ./aggregator hospital-a --output hospital-a.invitation
    """
    with closing(Aggregator.open(folder, database)) as aggregator:
        token = secrets.token_urlsafe(32)
        document = {
            "owner": owner,
            "url": aggregator.url,
            "aggregator": aggregator.keys.public,
            "tls": aggregator.tls_certificate,
            "token": token,
            "expires": stamp(now() + timedelta(hours=valid)),
        }
        invitation = validated(Invitation, document)
        with aggregator.database.writing() as connection:
            known = parties.owner_by_name(connection, owner)
            if known is not None and known.left is None:
                raise FederationError(f"There is an owner '{owner}' already.", "Choose another name.")
            parties.invite(connection, owner, token, invitation.expires)
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


@study_commands.command("new")
def new_command(
    folder: administration.Folder,
    spec: Annotated[Path, Argument(metavar="SPEC", help="The study as YAML; see docs/how-to/federate.md.")],
    database: administration.Database = None,
    as_json: AsJson = False,
) -> None:
    """Sign a study and ask its owners. It can never be changed: a change is a new study.

    Example: coterie aggregator study new ./aggregator study.yaml
    """
    with closing(Aggregator.open(folder, database)) as aggregator:
        with aggregator.database.writing() as connection:
            study = read_study(
                spec, aggregator.keys.public, lambda name: parties.owner_by_name(connection, name)
            )
            studies.add_study(connection, Signed.of(study, aggregator.keys), study)
            studies.move_study(connection, studies.known_study(connection, study.id), StudyState.PUBLISHED)
        content = detail(aggregator, study.id)
    assert content is not None
    if as_json:
        print_json(content["study"])
    else:
        print_study(content["study"])


@study_commands.command("show")
def show_command(
    folder: administration.Folder,
    study: Annotated[str | None, Argument(metavar="STUDY", help="Id or its beginning; default: all.")] = None,
    database: administration.Database = None,
    as_json: AsJson = False,
) -> None:
    """Print states, deadlines and the diary. Changes nothing.

    Example: coterie aggregator study show ./aggregator 5f2c81
    """
    with closing(Aggregator.open(folder, database)) as aggregator:
        content: Any = board(aggregator) if study is None else _found(aggregator, study)
    if as_json:
        print_json(content)
    elif study is None:
        print_studies(content["studies"])
    else:
        print_study(content["study"], content["diary"])


@contextmanager
def _changing(
    folder: Path, database: str | None, study: str
) -> Iterator[tuple[Connection, studies.StudyRow]]:
    """The study in one transaction: what the caller does to it happens whole or not at all."""
    with closing(Aggregator.open(folder, database)) as aggregator:
        name = _found(aggregator, study)["study"]["id"]
        with aggregator.database.writing() as connection:
            yield connection, studies.known_study(connection, name)


@study_commands.command("cancel")
def cancel_command(
    folder: administration.Folder,
    study: StudyName,
    database: administration.Database = None,
    as_json: AsJson = False,
) -> None:
    """End a study that is not being assembled yet. What owners have spent stays spent.

    Example: coterie aggregator study cancel ./aggregator 5f2c81
    """
    with _changing(folder, database, study) as (connection, row):
        # While it assembles, an end would come too late; unless that is just what does not work.
        stuck = row.state is StudyState.ASSEMBLING and row.attention is not None
        state = StudyState.FAILED if stuck else StudyState.CANCELLED
        studies.move_study(connection, row, state, reason="cancelled by the administrator")
    say({"study": row.id, "state": state.value}, f"Cancelled {row.id[:12]}.", as_json=as_json)


@study_commands.command("retry")
def retry_command(
    folder: administration.Folder,
    study: StudyName,
    database: administration.Database = None,
    as_json: AsJson = False,
) -> None:
    """Let the aggregator try again, after you have mended what made a study need attention.

    Example: coterie aggregator study retry ./aggregator 5f2c81
    """
    with _changing(folder, database, study) as (connection, row):
        studies.try_again(connection, row)
    told = f"The running aggregator tries {row.id[:12]} again."
    say({"study": row.id, "state": row.state.value}, told, as_json=as_json)


@study_commands.command("release")
def release_command(
    folder: administration.Folder,
    study: StudyName,
    output: Annotated[Path, Option("--output", "-o", help="Where to put the joined table (.parquet).")],
    wait: Annotated[int, Option(help="Seconds to wait for the release.", min=0)] = 0,
    force: Force = False,
    database: administration.Database = None,
    as_json: AsJson = False,
) -> None:
    """Take the joined table and its certificate. The running aggregator makes them as soon as all owners have delivered.

    Example: coterie aggregator study release ./aggregator 5f2c81 --output release.parquet --wait 600
    """
    certificate = output.with_name(output.name + ".certificate.json")
    for path in (output, certificate):
        if path.exists() and not force:
            raise OutputError(f"{path} exists already.", "Choose another name, or replace it with --force.")
    with closing(Aggregator.open(folder, database)) as aggregator:
        name = _found(aggregator, study)["study"]["id"]
        end = time.monotonic() + wait
        while True:
            with aggregator.database.reading() as connection:
                row = studies.known_study(connection, name)
            if row.state is StudyState.RELEASED:
                break
            if row.state in (StudyState.FAILED, StudyState.EXPIRED, StudyState.CANCELLED):
                raise StudyEnded(
                    f"The study is {row.state}: {row.reason or 'no reason given'}.", "There is no release."
                )
            if row.attention is not None:
                raise FederationError(f"The study needs attention: {row.attention}.", "Then ask again.")
            if time.monotonic() >= end:
                raise FederationError(
                    f"The study is {row.state}; nothing is released yet.", "Wait: give --wait SECONDS."
                )
            time.sleep(0.5)
        assert row.certificate is not None
        with aggregator.release(name).open("rb") as source:
            data = stage_file(output, lambda sink: shutil.copyfileobj(source, sink), force=force)
        try:
            beside = stage_bytes((row.certificate + "\n").encode(), certificate, force=force)
        except BaseException:
            data.discard()
            raise
        place([beside, data])  # last: data beside another certificate could be taken for its release
        promise = _found(aggregator, name)["study"]["guarantee"]
    say(
        {"output": str(output), "certificate": str(certificate), **promise},
        f"Wrote {promise['rows']:,} rows to [bold]{escape(str(output))}[/], certificate beside it.",
        f"Promise: {promise['status']}. {escape(promise['label'])}.",
        as_json=as_json,
    )


def _found(aggregator: Aggregator, study: str) -> dict[str, Any]:
    """Find a study by its id or the beginning of it."""
    with aggregator.database.reading() as connection:
        ids = [row.id for row in studies.all_studies(connection)]
    content = detail(aggregator, chosen(ids, study, "coterie aggregator study show FOLDER"))
    assert content is not None
    return content
