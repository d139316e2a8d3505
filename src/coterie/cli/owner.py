"""coterie owner: decide about studies, protect your own table, send only the protected one."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from coterie.cli.federation_output import OWNER, AsJson
from coterie.cli.ledger import accounts, print_population
from coterie.cli.output import console, errors, print_json
from coterie.errors import MissingExtra
from coterie.federation.errors import FederationError, Untrusted

try:
    from coterie.cli.owner_decisions import (
        CaBundle,
        HomeFolder,
        approve_command,
        inspect_command,
        owner_client,
        refuse_command,
    )
    from coterie.federation.owner.agent import Agent
    from coterie.federation.owner.client import Client
    from coterie.federation.owner.deciding import approval_page
    from coterie.federation.owner.home import Journal, OwnerHome, keep_tls_client, prepare, settle
    from coterie.studio.planning import JOURNAL
except ImportError:
    raise MissingExtra.named("federation", "An owner of a federation") from None

from coterie.federation.documents.answers import Enrolment, Invitation
from coterie.federation.secrets.keys import fingerprint
from coterie.publication.ledger import Book, Ledger

app = typer.Typer(help=OWNER, no_args_is_help=True, rich_markup_mode="markdown")


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
    client_certificate: Annotated[
        Path | None,
        typer.Option(
            help="PEM file with a TLS certificate and its key, if the aggregator demands one. A copy is kept here."
        ),
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
    shown = keep_tls_client(home, client_certificate) if client_certificate else None
    form = Enrolment(token=opened.token, key=keys.public, sealing_key=keys.sealing_public)
    with Client(opened.url, opened.aggregator, opened.tls, keys, ca_bundle=ca_bundle, shown=shown) as client:
        owner = str(client.post("/v1/enrol", form.content())["owner"])
    Journal(home / JOURNAL).note("joined", owner=owner, aggregator=fingerprint(opened.aggregator))
    settle(home, opened, owner)  # last: until it is there, joining can be repeated
    if as_json:
        print_json({"owner": owner, "aggregator": fingerprint(opened.aggregator), "home": str(home)})
        return
    console.print(
        f"Joined as [bold]{escape(owner)}[/]; aggregator {fingerprint(opened.aggregator)} is pinned."
    )
    console.print(f"Next: coterie owner run --home {escape(str(home))}")


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
    opened = OwnerHome.open(home)

    def say(event: str, study: str | None, text: str) -> None:
        if as_json:
            print(json.dumps({"event": event, "study": study, "text": text}), flush=True)
        else:
            console.print(f"{escape(event):12} {study[:12] if study else '':12}  {escape(text)}")

    with (
        opened.running() as (session, previous),
        owner_client(opened, ca_bundle, session, previous) as client,
    ):
        try:
            Agent(opened, client, say, unattended=unattended).run(once=once, until_done=until_done)
        except KeyboardInterrupt:
            errors.print("Stopped. Nothing is lost; run it again to go on.")


@app.command("page")
def page_command(
    home: HomeFolder,
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1; 0 takes a free one.", min=0, max=65535)] = 0,
    as_json: AsJson = False,
) -> None:
    """Decide in a browser instead: a page on this machine only (127.0.0.1), opened by the secret in its address.

    Example: coterie owner page --home ./owner
    """
    opened = OwnerHome.open(home)

    def said(study: str, decision: str) -> None:
        if as_json:
            print(json.dumps({"event": "decided", "study": study, "decision": decision}), flush=True)
        else:
            console.print(f"You said: {decision} {study[:12]}. `coterie owner run` tells the aggregator.")

    with approval_page(opened, port, said) as (server, address):
        if as_json:
            print(json.dumps({"event": "listening", "address": address, "owner": opened.owner}), flush=True)
        else:
            print(f"Open {address}", flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


@app.command("ledger")
def ledger_command(home: HomeFolder, as_json: AsJson = False) -> None:
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
    opened = OwnerHome.open(home)
    if not yes:
        typer.confirm(f"Leave {opened.url} as {opened.owner}? This cannot be undone.", abort=True)
    with (
        opened.running() as (session, previous),
        owner_client(opened, ca_bundle, session, previous) as client,
    ):
        client.post("/v1/leave")
    opened.journal.note("left")
    print_json({"owner": opened.owner, "state": "left"}) if as_json else console.print("Left.")


app.command("inspect")(inspect_command)
app.command("approve")(approve_command)
app.command("refuse")(refuse_command)
