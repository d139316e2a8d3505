"""coterie owner: decide about studies, protect your own table, send only the protected one."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer import Argument, Option

from coterie.cli import owner_identity as identity
from coterie.cli.federation_output import OWNER, StudyName, chosen, print_diary, styled
from coterie.cli.ledger import accounts, print_population
from coterie.cli.options import AsJson, Query, SourceTable
from coterie.cli.output import console, errors, print_json, say, say_event
from coterie.federation.documents.messages import Enrolment, Invitation
from coterie.federation.errors import FederationError, Untrusted
from coterie.federation.owner.agent import Agent
from coterie.federation.owner.approval import note_approval, note_refusal, shown_study
from coterie.federation.owner.approval_page import approval_page
from coterie.federation.owner.client import Client
from coterie.federation.owner.home import JOURNAL, Journal, OwnerHome, keep_tls_client, prepare, settle
from coterie.federation.owner.policy import OwnerSource
from coterie.federation.secrets.keys import fingerprint, peer_fingerprint
from coterie.publication.ledger import Book, Ledger

app = typer.Typer(help=OWNER, no_args_is_help=True, rich_markup_mode="markdown")


@app.command("inspect")
def inspect_command(
    home: identity.HomeFolder,
    study: Annotated[str | None, Argument(metavar="STUDY", help="Id or its beginning; default: all.")] = None,
    offline: Annotated[bool, Option("--offline", help="Show what the running process last heard.")] = False,
    ca_bundle: identity.CaBundle = None,
    as_json: AsJson = False,
) -> None:
    """What is asked of you: attributes, epsilon, k, what is left of the budget. Changes nothing.

    Example: coterie owner inspect 5f2c81 --home ./owner
    """
    opened = OwnerHome.open(home)
    known = opened.journal.seen()  # also what has ended and is closed, of which the aggregator tells no more
    if not offline:
        with Client.of(opened, ca_bundle) as client:
            known |= _told_by(client)
    shown = [shown_study(opened, wanted) for name, wanted in known.items() if name.startswith(study or "")]
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
    home: identity.HomeFolder,
    data: Annotated[
        str,
        Option(help="Your table: CSV, Parquet, Arrow, Excel, SPSS, Stata, SAS or R file, or database URL."),
    ],
    population: Annotated[str, Option(help="Whose lifetime budget your ledger charges.")],
    ledger: Annotated[Path | None, Option(help="Default: ledger.sqlite in the owner's folder.")] = None,
    table: SourceTable = None,
    query: Query = None,
    identifier: Annotated[str | None, Option(help="Your name of the id column (vertical studies).")] = None,
    column: Annotated[list[str] | None, Option(help="ATTRIBUTE=COLUMN where your name differs.")] = None,
    disjoint: Annotated[
        bool,
        Option(
            "--disjoint",
            help="Sign that your people are at no other owner of the study, and that who is yours does not depend on the "
            "attributes. Only if every owner does, the largest epsilon counts instead of the sum.",
        ),
    ] = False,
    rows_public: Annotated[
        bool,
        Option(
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
        data=data if "://" in data else os.path.abspath(data),  # the running process may stand elsewhere
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


@app.command("refuse")
def refuse_command(
    study: StudyName,
    home: identity.HomeFolder,
    reason: Annotated[str, Option(help="Goes to the aggregator, signed.")] = "the owner does not take part",
    as_json: AsJson = False,
) -> None:
    """Do not take part, or no longer: possible until all owners have delivered. What was charged by then stays charged.

    Example: coterie owner refuse 5f2c81 --home ./owner --reason "not covered by our ethics vote"
    """
    opened = OwnerHome.open(home)
    wanted = _wanted(opened, study)
    note_refusal(opened, wanted, reason)
    _said(wanted["id"], "refuse", as_json)


def _told_by(client: Client) -> dict[str, dict[str, Any]]:
    return {wanted["id"]: wanted for wanted in client.get("/v1/desired?after=&wait=0")["studies"]}


def _wanted(home: OwnerHome, study: str) -> dict[str, Any]:
    """What is asked, as the running process has last seen it, else from the aggregator."""
    known = home.journal.seen()
    if not any(name.startswith(study) for name in known):
        with Client.of(home) as client:
            known = _told_by(client)
    return known[chosen(known, study, "coterie owner inspect")]


def _print(content: dict[str, Any]) -> None:
    reason = content["contribution_reason"] or content["reason"] or ""
    console.print(
        f"[bold]{escape(content.get('title', 'unacceptable study'))}[/]  {styled(content['state'])} · yours: "
        f"{styled(content['contribution'])} {escape(reason)}"
    )
    above = {"title", "state", "contribution", "reason", "contribution_reason"}
    for name, value in content.items():
        if name not in above and value not in (None, {}):
            console.print(f"  {name.replace('_', ' ')}: {escape(_words(value))}")


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name}: {content}" for name, content in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _said(study: str, word: str, as_json: bool) -> None:
    told = f"Noted: {word} {study[:12]}. `coterie owner run` tells the aggregator."
    say({"study": study, "decision": word}, told, as_json=as_json)


@app.command("join")
def join_command(
    invitation: Annotated[str, Argument(metavar="INVITATION", help="The invitation's file, or its text.")],
    home: identity.HomeFolder,
    expect: Annotated[
        str | None,
        Option(help="The aggregator's key (SHA256:…) as its administrator told you by another way."),
    ] = None,
    client_certificate: Annotated[
        Path | None,
        Option(
            help="PEM file with a TLS certificate and its key, if the aggregator demands one. A copy is kept here."
        ),
    ] = None,
    ca_bundle: identity.CaBundle = None,
    as_json: AsJson = False,
) -> None:
    """Make keys here, pin the aggregator's, and enrol. The private keys never leave this folder.

    Example: coterie owner join hospital-a.invitation --home ./owner
    """
    path = Path(invitation)
    text = path.read_text() if len(invitation) < 500 and path.is_file() else invitation
    opened = Invitation.from_text(text)
    key = fingerprint(opened.aggregator)
    if expect is not None and expect.strip() != key:
        raise Untrusted("The invitation is of another aggregator than you expect.", "Do not join; ask.")
    keys = prepare(home)
    shown = keep_tls_client(home, client_certificate) if client_certificate else None
    form = Enrolment(token=opened.token, key=keys.public, sealing_key=keys.sealing_public)
    with Client(opened.url, opened.aggregator, opened.tls, keys, ca_bundle=ca_bundle, shown=shown) as client:
        owner = str(client.post("/v1/enrol", form.content())["owner"])
    Journal(home / JOURNAL).note("joined", owner=owner, aggregator=key)
    settle(home, opened, owner)  # last: until it is there, joining can be repeated
    shown_key = peer_fingerprint(keys.public, keys.sealing_public)
    say(
        {"owner": owner, "aggregator": key, "home": str(home), "fingerprint": shown_key},
        f"Joined as [bold]{escape(owner)}[/]; aggregator {key} is pinned.",
        f"Your fingerprint, for other owners to pin: {shown_key}",
        f"Next: coterie owner run --home {escape(str(home))}",
        as_json=as_json,
    )


@app.command("run")
def run_command(
    home: identity.HomeFolder,
    unattended: Annotated[
        bool, Option("--unattended", help="Nobody decides by hand: what no policy allows is refused.")
    ] = False,
    once: Annotated[bool, Option("--once", help="Do what is due now, then stop.")] = False,
    until_done: Annotated[
        bool, Option("--until-done", help="Stop when all known studies have ended.")
    ] = False,
    ca_bundle: identity.CaBundle = None,
    as_json: AsJson = False,
) -> None:
    """Ask the aggregator what is wanted and do it, until stopped. May be killed at any time: it resumes where it was.

    Example: coterie owner run --home ./owner
    """
    opened = OwnerHome.open(home)

    def told(event: str, study: str | None, text: str) -> None:
        line = " ".join(text.split())  # whatever the aggregator wrote: one line per event
        shown = f"{escape(event):12} {study[:12] if study else '':12}  {escape(line)}"
        say_event({"event": event, "study": study, "text": text}, shown, as_json=as_json)

    with identity.acting(opened, ca_bundle) as client:
        try:
            Agent(opened, client, told, unattended=unattended).run(once=once, until_done=until_done)
        except KeyboardInterrupt:
            errors.print("Stopped. Nothing is lost; run it again to go on.")


@app.command("page")
def page_command(
    home: identity.HomeFolder,
    port: Annotated[int, Option(help="Port on 127.0.0.1; 0 takes a free one.", min=0, max=65535)] = 0,
    as_json: AsJson = False,
) -> None:
    """Decide in a browser instead: a page on this machine only (127.0.0.1), opened by the secret in its address.

    Example: coterie owner page --home ./owner
    """
    opened = OwnerHome.open(home)

    def decided(study: str, decision: str) -> None:
        line = f"You said: {decision} {study[:12]}. `coterie owner run` tells the aggregator."
        say_event({"event": "decided", "study": study, "decision": decision}, line, as_json=as_json)

    with approval_page(opened, port, decided) as (server, address):
        content = {"event": "listening", "address": address, "owner": opened.owner}
        say_event(content, f"Open {escape(address)}", as_json=as_json)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


@app.command("ledger")
def ledger_command(home: identity.HomeFolder, as_json: AsJson = False) -> None:
    """What your populations have spent on which promise, and the diary of this owner with its seal.

    Example: coterie owner ledger --home ./owner
    """
    opened = OwnerHome.open(home)
    broken = opened.journal.first_broken()
    if broken is not None:
        raise FederationError(f"Line {broken} of the diary was changed.", "Compare with a backup.")
    book = Ledger.inspect(opened.default_ledger) if opened.default_ledger.exists() else Book()
    diary = opened.journal.diary()
    names = sorted(book.lifetimes)
    if as_json:
        shown = [account for name in names for account in accounts(book, name)]
        print_json({"owner": opened.owner, "populations": shown, "diary": diary})
        return
    for name in names:
        print_population(book, name)
    print_diary(diary)
    if diary:
        console.print(f"Seal: {diary[-1]['seal']}")


for do in ("recover", "rotate", "trust", "leave", "backup", "restore"):
    app.command(do)(getattr(identity, f"{do}_command"))
