"""coterie owner recover, rotate, trust, leave, backup, restore: who this owner is, whom it knows, what it had spent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from typer import Argument, Option

from coterie.cli.options import AsJson
from coterie.cli.output import say
from coterie.federation.backup import backup_owner, restore_owner
from coterie.federation.owner.client import Client, rotate_keys
from coterie.federation.owner.contribution import give_back, held_studies
from coterie.federation.owner.home import OwnerHome
from coterie.federation.owner.peers import own_fingerprint, pin_peer
from coterie.federation.owner.rollback import recover
from coterie.federation.secrets.keys import peer_fingerprint

HomeFolder = Annotated[
    Path, Option("--home", envvar="COTERIE_OWNER_HOME", help="The owner's folder, made by `join`.")
]
CaBundle = Annotated[
    Path | None,
    Option(
        help="Certificate authorities of a proxy that inspects TLS. Answers are still checked end to end."
    ),
]


@contextmanager
def acting(home: OwnerHome, ca_bundle: Path | None) -> Iterator[Client]:
    """Act as the one process in this folder, with a client."""
    with home.running() as names, Client.of(home, ca_bundle, *names) as client:
        yield client


def recover_command(
    home: HomeFolder,
    population: Annotated[
        str | None, Option(help="Whose budget was used, where the journal does not say.")
    ] = None,
    ca_bundle: CaBundle = None,
    as_json: AsJson = False,
) -> None:
    """After a restore from a backup: charge again every study for which the aggregator could read your part.

    Example: coterie owner recover --home ./owner
    """
    opened = OwnerHome.open(home)
    with acting(opened, ca_bundle) as client, opened.still():
        charged = recover(opened, client, population)
    told = f"Charged {len(charged)} again; this owner can run."
    say({"owner": opened.owner, "charged": charged}, told, as_json=as_json)


def rotate_command(home: HomeFolder, ca_bundle: CaBundle = None, as_json: AsJson = False) -> None:
    """Make new keys for this owner, and tell the aggregator. Studies under way go on with the old ones.

    Stop `run` first. Afterwards tell the other owners your new fingerprint: they pin it for new studies.

    Example: coterie owner rotate --home ./owner
    """
    opened = OwnerHome.open(home)
    with opened.running() as (session, previous), opened.still():
        keys = rotate_keys(
            opened, lambda keys: Client.of(replace(opened, keys=keys), ca_bundle, session, previous)
        )
    key = peer_fingerprint(keys.public, keys.sealing_public)
    say(
        {"owner": opened.owner, "fingerprint": key},
        "The aggregator knows your new keys; studies under way go on with the old ones.",
        f"Your new fingerprint, for other owners to pin: {key}",
        as_json=as_json,
    )


def trust_command(
    peer: Annotated[str, Argument(metavar="OWNER", help="The other owner's name in the roster.")],
    key: Annotated[str, Argument(metavar="FINGERPRINT", help="SHA256:…, as its people told you themselves.")],
    home: HomeFolder,
    as_json: AsJson = False,
) -> None:
    """Pin another owner's keys, after you have compared the fingerprint by telephone or letter. Vertical studies need it.

    Example: coterie owner trust registry SHA256:0123456789abcdef0123456789abcdef --home ./owner
    """
    opened = OwnerHome.open(home)
    pin_peer(opened, peer, key.strip())
    told = f"Pinned [bold]{escape(peer)}[/]. Your own fingerprint: {own_fingerprint(opened)}"
    say(
        {"peer": peer, "key": key.strip(), "your_fingerprint": own_fingerprint(opened)}, told, as_json=as_json
    )


def leave_command(
    home: HomeFolder,
    yes: Annotated[bool, Option("--yes", help="Do not ask.")] = False,
    ca_bundle: CaBundle = None,
    as_json: AsJson = False,
) -> None:
    """Withdraw from every study whose key has not left; the aggregator never accepts this key again.

    Example: coterie owner leave --home ./owner
    """
    opened = OwnerHome.open(home)
    if not yes:
        typer.confirm(f"Leave {opened.url} as {opened.owner}? This cannot be undone.", abort=True)
    with acting(opened, ca_bundle) as client:
        client.post("/v1/leave")
    for study in held_studies(opened):
        give_back(opened, study)
    opened.journal.note("left")
    say({"owner": opened.owner, "state": "left"}, "Left.", as_json=as_json)


def backup_command(
    output: Annotated[Path, Argument(metavar="OUTPUT", help="A new folder for the copy.")],
    home: HomeFolder,
    as_json: AsJson = False,
) -> None:
    """Copy keys, diary, ledger and finished parts as they stand at one moment. `run` may go on meanwhile.

    The copy holds private keys: keep it like the folder itself. Your table is not in it.

    Example: coterie owner backup /backup/2026-11-19 --home ./owner
    """
    elsewhere = backup_owner(OwnerHome.open(home), output)
    told = [f"Copied to [bold]{escape(str(output))}[/]."]
    if elsewhere:
        told.append(f"These ledgers stand elsewhere; copy them too: {escape(', '.join(elsewhere))}")
    say({"backup": str(output), "ledgers_elsewhere": elsewhere}, *told, as_json=as_json)


def restore_command(
    backup: Annotated[Path, Argument(metavar="BACKUP", help="A folder that `backup` made.")],
    home: HomeFolder,
    as_json: AsJson = False,
) -> None:
    """Make an owner's folder of a copy, at the path where it stood. Then `recover` charges what was spent since.

    Example: coterie owner restore /backup/2026-11-19 --home ./owner
    """
    restore_owner(backup, home)
    told = f"Restored. Next: coterie owner recover --home {escape(str(home))}"
    say({"home": str(home)}, told, as_json=as_json)
