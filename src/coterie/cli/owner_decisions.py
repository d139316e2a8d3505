"""coterie owner inspect, approve, refuse: what is asked, and the owner's word on it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from coterie.cli.federation_output import AsJson, styled
from coterie.cli.output import console, print_json
from coterie.federation.errors import FederationError
from coterie.federation.owner.client import Client
from coterie.federation.owner.deciding import note_approval, note_refusal, shown_study
from coterie.federation.owner.home import OwnerHome
from coterie.federation.owner.policy import OwnerSource

HomeFolder = Annotated[
    Path, typer.Option("--home", envvar="COTERIE_OWNER_HOME", help="The owner's folder, made by `join`.")
]
StudyName = Annotated[
    str, typer.Argument(metavar="STUDY", help="The study's id, or its first characters (at least 6).")
]
CaBundle = Annotated[
    Path | None,
    typer.Option(
        help="Certificate authorities of a proxy that inspects TLS. Answers are still checked end to end."
    ),
]


def inspect_command(
    home: HomeFolder,
    study: Annotated[
        str | None, typer.Argument(metavar="STUDY", help="Id or its beginning; default: all.")
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Show what the running process last heard.")
    ] = False,
    ca_bundle: CaBundle = None,
    as_json: AsJson = False,
) -> None:
    """What is asked of you: attributes, epsilon, k, what is left of the budget. Changes nothing.

    Example: coterie owner inspect 5f2c81 --home ./owner
    """
    opened = OwnerHome.open(home)
    known = (
        opened.journal.seen()
    )  # with those that have ended and are closed: the aggregator tells of them no more
    if not offline:
        with owner_client(opened, ca_bundle) as client:
            known |= {wanted["id"]: wanted for wanted in client.get("/v1/desired?after=&wait=0")["studies"]}
    chosen = [wanted for wanted in known.values() if study is None or wanted["id"].startswith(study)]
    shown = [shown_study(opened, wanted) for wanted in chosen]
    if as_json:
        print_json({"owner": opened.owner, "studies": shown})
        return
    if not shown:
        console.print("Nothing is asked of you." if study is None else "There is no such study for you.")
    for content in shown:
        _print(content)


def approve_command(
    study: StudyName,
    home: HomeFolder,
    data: Annotated[
        str, typer.Option(help="Your table: CSV, Parquet, Arrow or Excel file, or database URL.")
    ],
    population: Annotated[str, typer.Option(help="Whose lifetime budget your ledger charges.")],
    ledger: Annotated[Path | None, typer.Option(help="Default: ledger.sqlite in the owner's folder.")] = None,
    table: Annotated[str | None, typer.Option(help="Table to read, for a database URL.")] = None,
    query: Annotated[str | None, typer.Option(help="Query to read instead of a table.")] = None,
    identifier: Annotated[
        str | None, typer.Option(help="Your name of the id column (vertical studies).")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option(help="ATTRIBUTE=COLUMN where your name differs.")
    ] = None,
    disjoint: Annotated[
        bool,
        typer.Option(
            "--disjoint",
            help="Sign that your people are at no other owner of the study, and that who is yours does not depend on the "
            "attributes. Only if every owner does, the largest epsilon counts instead of the sum.",
        ),
    ] = False,
    rows_public: Annotated[
        bool,
        typer.Option(
            "--rows-public",
            help="Your number of rows is no secret: the joined certificate may print it, with your own certificate.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Agree to a study. Table and budget are looked at now; the running process (`coterie owner run`) computes and sends.

    Example: coterie owner approve 5f2c81 --home ./owner --data patients.parquet --population patients --disjoint
    """
    opened = OwnerHome.open(home)
    wanted = _wanted(opened, study)
    columns = {}
    for pair in column or []:
        attribute, found, own = pair.partition("=")
        if not found:
            raise FederationError(f"--column {pair} has no '='.", "Write --column ATTRIBUTE=COLUMN.")
        columns[attribute] = own
    source = OwnerSource(
        data=_absolute(data),
        table=table,
        query=query,
        population=population,
        ledger=str(ledger.resolve()) if ledger else None,
        identifier=identifier,
        columns=columns,
        disjoint=disjoint,
        rows_public=rows_public,
    )
    note_approval(opened, wanted, source)
    _said(wanted["id"], "approve", as_json)


def refuse_command(
    study: StudyName,
    home: HomeFolder,
    reason: Annotated[
        str, typer.Option(help="Goes to the aggregator, signed.")
    ] = "the owner does not take part",
    as_json: AsJson = False,
) -> None:
    """Do not take part, or no longer: possible until your part is delivered. What was charged by then stays charged.

    Example: coterie owner refuse 5f2c81 --home ./owner --reason "not covered by our ethics vote"
    """
    opened = OwnerHome.open(home)
    wanted = _wanted(opened, study)
    note_refusal(opened, wanted, reason)
    _said(wanted["id"], "refuse", as_json)


def owner_client(home: OwnerHome, ca_bundle: Path | None, session: str = "", replaces: str = "") -> Client:
    return Client(
        home.url,
        home.aggregator,
        home.tls,
        home.keys,
        session=session,
        replaces=replaces,
        ca_bundle=ca_bundle,
        shown=home.tls_client,
    )


def _absolute(data: str) -> str:
    """The running process may stand in another folder."""
    return data if "://" in data else os.path.abspath(data)


def _wanted(home: OwnerHome, study: str) -> dict[str, Any]:
    """What is asked, as the running process has last seen it, else from the aggregator."""
    known = home.journal.seen()
    if not any(name.startswith(study) for name in known):
        with owner_client(home, None) as client:
            found = client.get("/v1/desired?after=&wait=0")["studies"]
        known = {wanted["id"]: wanted for wanted in found}
    matches = [name for name in known if len(study) >= 6 and name.startswith(study)]
    if len(matches) != 1:
        raise FederationError(
            "There is no such study for you." if not matches else "Several studies begin like that.",
            "`coterie owner inspect` lists them.",
        )
    return known[matches[0]]


def _print(content: dict[str, Any]) -> None:
    reason = content["contribution_reason"] or content["reason"] or ""
    console.print(
        f"[bold]{escape(content.get('title', 'unacceptable study'))}[/]  {styled(content['state'])} · yours: "
        f"{styled(content['contribution'])} {escape(reason)}"
    )
    for name, value in content.items():
        if name not in ("title", "state", "contribution", "reason", "contribution_reason") and value not in (
            None,
            {},
        ):
            console.print(f"  {name.replace('_', ' ')}: {escape(_words(value))}")


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name}: {content}" for name, content in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _said(study: str, word: str, as_json: bool) -> None:
    if as_json:
        print_json({"study": study, "decision": word})
    else:
        console.print(f"Noted: {word} {study[:12]}. `coterie owner run` tells the aggregator.")
