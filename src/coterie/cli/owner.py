"""coterie owner: decide about studies, protect your own table, send only the protected one."""

from __future__ import annotations

import json
import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from coterie.budget import as_text
from coterie.cli.federation_guides import OWNER
from coterie.cli.federation_output import AsJson, styled
from coterie.cli.output import console, errors, print_json
from coterie.errors import MissingExtra
from coterie.federation.errors import FederationError, Untrusted

try:
    from coterie.federation.owner.agent import Agent
    from coterie.federation.owner.client import Client
    from coterie.federation.owner.home import Home, prepare, settle
    from coterie.federation.owner.page import approval_page
except ImportError:
    raise MissingExtra.named("federation", "An owner of a federation") from None

from coterie.federation.invitation import Enrolment, Invitation
from coterie.federation.keys import fingerprint
from coterie.federation.owner.policy import Source
from coterie.federation.owner.showing import shown_study
from coterie.ledger import Ledger

app = typer.Typer(help=OWNER, no_args_is_help=True, rich_markup_mode="markdown")
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


@app.command("join")
def join_command(
    invitation: Annotated[
        str, typer.Argument(metavar="INVITATION", help="The invitation's file, or its text.")
    ],
    home: HomeFolder,
    expect: Annotated[
        str | None,
        typer.Option(help="The aggregator's key (SHA256:…) as its administrator told you by another way."),
    ] = None,
    ca_bundle: CaBundle = None,
    as_json: AsJson = False,
) -> None:
    """Make keys here, pin the aggregator's, and enrol. The private keys never leave this folder.

    Example: coterie owner join hospital-a.invitation --home ./owner
    """
    path = Path(invitation)
    text = path.read_text() if len(invitation) < 500 and path.is_file() else invitation
    opened = Invitation.from_text(text)
    if expect is not None and expect.strip() != fingerprint(opened.aggregator):
        raise Untrusted("The invitation is of another aggregator than you expect.", "Do not join; ask.")
    keys = prepare(home)
    form = Enrolment(token=opened.token, key=keys.public, sealing_key=keys.sealing_public)
    with Client(opened.url, opened.aggregator, opened.tls, keys, ca_bundle=ca_bundle) as client:
        owner = str(client.post("/v1/enrol", form.content())["owner"])
    settle(home, opened, owner)
    Home.open(home).journal.note("joined", owner=owner, aggregator=fingerprint(opened.aggregator))
    if as_json:
        print_json({"owner": owner, "aggregator": fingerprint(opened.aggregator), "home": str(home)})
        return
    console.print(
        f"Joined as [bold]{escape(owner)}[/]; aggregator {fingerprint(opened.aggregator)} is pinned."
    )
    console.print(f"Next: coterie owner run --home {escape(str(home))}")


@app.command("inspect")
def inspect_command(
    home: HomeFolder,
    study: Annotated[
        str | None, typer.Argument(metavar="[STUDY]", help="Id or its beginning; default: all.")
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
    opened = Home.open(home)
    if offline:
        found = list(opened.journal.seen().values())
    else:
        with _client(opened, ca_bundle) as client:
            found = client.get("/v1/desired?after=&wait=0")["studies"]
    chosen = [wanted for wanted in found if study is None or wanted["id"].startswith(study)]
    shown = [shown_study(opened, wanted) for wanted in chosen]
    if as_json:
        print_json({"owner": opened.owner, "studies": shown})
        return
    if not shown:
        console.print("Nothing is asked of you." if study is None else "There is no such study for you.")
    for content in shown:
        _print(content)


@app.command("approve")
def approve_command(
    study: StudyName,
    home: HomeFolder,
    data: Annotated[str, typer.Option(help="Your table: CSV, Parquet, Arrow file, or database URL.")],
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
    as_json: AsJson = False,
) -> None:
    """Agree to a study. The running process (`coterie owner run`) checks the table and the budget, then computes and sends.

    Example: coterie owner approve 5f2c81 --home ./owner --data patients.parquet --population patients --disjoint
    """
    opened = Home.open(home)
    name = _full_name(opened, study)
    columns = {}
    for pair in column or []:
        attribute, found, own = pair.partition("=")
        if not found:
            raise FederationError(f"--column {pair} has no '='.", "Write --column ATTRIBUTE=COLUMN.")
        columns[attribute] = own
    source = Source(
        data=_absolute(data),
        table=table,
        query=query,
        population=population,
        ledger=str(ledger.resolve()) if ledger else None,
        identifier=identifier,
        columns=columns,
        disjoint=disjoint,
    )
    opened.journal.decide(name, {"decision": "approve", "source": source.content()})
    _said(name, "approve", as_json)


@app.command("refuse")
def refuse_command(
    study: StudyName,
    home: HomeFolder,
    reason: Annotated[
        str, typer.Option(help="Goes to the aggregator, signed.")
    ] = "the owner does not take part",
    as_json: AsJson = False,
) -> None:
    """Do not take part. Possible until your table is protected; afterwards use `coterie owner leave`.

    Example: coterie owner refuse 5f2c81 --home ./owner --reason "not covered by our ethics vote"
    """
    opened = Home.open(home)
    name = _full_name(opened, study)
    opened.journal.decide(name, {"decision": "refuse", "reason": reason[:2000]})
    _said(name, "refuse", as_json)


@app.command("run")
def run_command(
    home: HomeFolder,
    unattended: Annotated[
        bool, typer.Option("--unattended", help="Nobody decides by hand: what no policy allows is refused.")
    ] = False,
    once: Annotated[bool, typer.Option("--once", help="Do what is due now, then stop.")] = False,
    until_done: Annotated[
        bool, typer.Option("--until-done", help="Stop when all known studies have ended.")
    ] = False,
    ca_bundle: CaBundle = None,
    as_json: AsJson = False,
) -> None:
    """Ask the aggregator what is wanted and do it, until stopped. May be killed at any time: it resumes where it was.

    Example: coterie owner run --home ./owner
    """
    logging.getLogger("httpx").setLevel(logging.WARNING)
    opened = Home.open(home)

    def say(event: str, study: str | None, text: str) -> None:
        if as_json:
            print(json.dumps({"event": event, "study": study, "text": text}), flush=True)
        else:
            console.print(f"{escape(event):12} {study[:12] if study else '':12}  {escape(text)}")

    with opened.running() as (session, previous), _client(opened, ca_bundle, session, previous) as client:
        try:
            Agent(opened, client, say, unattended=unattended).run(once=once, until_done=until_done)
        except KeyboardInterrupt:
            errors.print("Stopped. Nothing is lost; run it again to go on.")


@app.command("page")
def page_command(
    home: HomeFolder,
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1; 0 takes a free one.", min=0, max=65535)] = 0,
) -> None:
    """Decide in a browser instead: a page on this machine only (127.0.0.1), opened by the secret in its address.

    Example: coterie owner page --home ./owner
    """
    with approval_page(Home.open(home), port) as (server, address):
        print(f"Open {address}", flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


@app.command("ledger")
def ledger_command(home: HomeFolder, as_json: AsJson = False) -> None:
    """What your populations have spent, and the diary of this owner with its seal.

    Example: coterie owner ledger --home ./owner
    """
    opened = Home.open(home)
    broken = opened.journal.first_broken()
    if broken is not None:
        raise FederationError(f"Line {broken} of the diary was changed.", "Compare with a backup.")
    book = Ledger.inspect(opened.default_ledger) if opened.default_ledger.exists() else None
    diary = opened.journal.diary()
    balances = [book.balance(name) for name in sorted(book.lifetimes)] if book else []
    figures = [
        {
            "population": b.population,
            **{n: as_text(getattr(b, n)) for n in ("lifetime", "spent", "held", "remaining")},
        }
        for b in balances
    ]
    if as_json:
        print_json({"owner": opened.owner, "populations": figures, "diary": diary})
        return
    for row in figures:
        console.print(
            f"[bold]{escape(row['population'])}[/]: lifetime {row['lifetime']} · spent {row['spent']} · "
            f"held {row['held']} · [bold]remaining {row['remaining']}[/]"
        )
    for entry in diary:
        rest = " · ".join(f"{n} {v}" for n, v in entry.items() if n not in ("number", "at", "event", "seal"))
        console.print(f"  {entry['at']}  {escape(entry['event'])}  {escape(rest)}")
    if diary:
        console.print(f"Seal: {diary[-1]['seal']}")


@app.command("leave")
def leave_command(
    home: HomeFolder,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    ca_bundle: CaBundle = None,
    as_json: AsJson = False,
) -> None:
    """Withdraw from every study that is not delivered yet; the aggregator never accepts this key again.

    Example: coterie owner leave --home ./owner
    """
    opened = Home.open(home)
    if not yes:
        typer.confirm(f"Leave {opened.url} as {opened.owner}? This cannot be undone.", abort=True)
    with opened.running() as (session, previous), _client(opened, ca_bundle, session, previous) as client:
        client.post("/v1/leave")
    opened.journal.note("left")
    print_json({"owner": opened.owner, "state": "left"}) if as_json else console.print("Left.")


def _client(home: Home, ca_bundle: Path | None, session: str = "", replaces: str = "") -> Client:
    return Client(
        home.url,
        home.aggregator,
        home.tls,
        home.keys,
        session=session,
        replaces=replaces,
        ca_bundle=ca_bundle,
    )


def _absolute(data: str) -> str:
    """The running process may stand in another folder."""
    return data if "://" in data else os.path.abspath(data)


def _full_name(home: Home, study: str) -> str:
    """From what the running process has seen, else from the aggregator."""
    known = list(home.journal.seen())
    if not any(name.startswith(study) for name in known):
        with _client(home, None) as client:
            known = [wanted["id"] for wanted in client.get("/v1/desired?after=&wait=0")["studies"]]
    matches = [name for name in known if len(study) >= 6 and name.startswith(study)]
    if len(matches) != 1:
        raise FederationError(
            "There is no such study for you." if not matches else "Several studies begin like that.",
            "`coterie owner inspect` lists them.",
        )
    return matches[0]


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
            shown = ", ".join(map(str, value)) if isinstance(value, list) else value
            console.print(f"  {name.replace('_', ' ')}: {escape(str(shown))}")


def _said(study: str, word: str, as_json: bool) -> None:
    if as_json:
        print_json({"study": study, "decision": word})
    else:
        console.print(f"Noted: {word} {study[:12]}. `coterie owner run` tells the aggregator.")
