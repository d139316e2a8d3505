"""coterie aggregator study: begin a study, look at it, cancel it, take its release."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from sqlalchemy import Connection

from coterie.cli.federation_output import AsJson, print_studies, print_study
from coterie.cli.output import console, print_json
from coterie.errors import OutputError
from coterie.federation.aggregator.home import Aggregator
from coterie.federation.aggregator.status_page import board, detail
from coterie.federation.documents.study import KIND
from coterie.federation.documents.study_file import read_study
from coterie.federation.documents.wire import Signed, StudyState
from coterie.federation.errors import FederationError, StudyEnded
from coterie.federation.storage.parties import owner_by_name
from coterie.federation.storage.studies import StudyRow, add_study, move_study, study_row, try_again
from coterie.publication.publishing import place
from coterie.publication.staged_files import stage_file
from coterie.publication.staging import stage_bytes

app = typer.Typer(
    help="Begin a study, look at it, cancel it, take its release.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The aggregator's folder, made by `init`.")]
Database = Annotated[
    str | None,
    typer.Option(envvar="COTERIE_DATABASE", help="postgresql://… instead of SQLite in the folder."),
]
StudyName = Annotated[
    str, typer.Argument(metavar="STUDY", help="The study's id, or its first characters (at least 6).")
]


@app.command("new")
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


@app.command("show")
def show_command(
    folder: Folder,
    study: Annotated[
        str | None, typer.Argument(metavar="STUDY", help="Id or its beginning; default: all.")
    ] = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Print states, deadlines and the diary. Changes nothing.

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


@contextmanager
def _changing(folder: Path, database: str | None, study: str) -> Iterator[tuple[Connection, StudyRow]]:
    """The study in one transaction: what the caller does to it happens whole or not at all."""
    aggregator = Aggregator.open(folder, database)
    try:
        name = _found(aggregator, study)["study"]["id"]
        with aggregator.database.writing() as connection:
            row = study_row(connection, name)
            assert row is not None
            yield connection, row
    finally:
        aggregator.close()


@app.command("cancel")
def cancel_command(
    folder: Folder, study: StudyName, database: Database = None, as_json: AsJson = False
) -> None:
    """End a study that is not being assembled yet. What owners have spent stays spent.

    Example: coterie aggregator study cancel ./aggregator 5f2c81
    """
    with _changing(folder, database, study) as (connection, row):
        # While it assembles, an end would come too late; unless that is just what does not work.
        stuck = row.state is StudyState.ASSEMBLING and row.attention is not None
        state = StudyState.FAILED if stuck else StudyState.CANCELLED
        move_study(connection, row, state, reason="cancelled by the administrator")
    if as_json:
        print_json({"study": row.id, "state": state.value})
    else:
        console.print(f"Cancelled {row.id[:12]}.")


@app.command("retry")
def retry_command(
    folder: Folder, study: StudyName, database: Database = None, as_json: AsJson = False
) -> None:
    """Let the aggregator try again, after you have mended what made a study need attention.

    Example: coterie aggregator study retry ./aggregator 5f2c81
    """
    with _changing(folder, database, study) as (connection, row):
        try_again(connection, row)
    if as_json:
        print_json({"study": row.id, "state": row.state.value})
    else:
        console.print(f"The running aggregator tries {row.id[:12]} again.")


@app.command("release")
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
