"""coterie aggregator owners, invitations, rotate, backup, restore: who takes part, secrets, copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from sqlalchemy import Connection
from typer import Argument, Option

from coterie.cli.options import AsJson
from coterie.cli.output import say, table_of
from coterie.federation.aggregator import administration
from coterie.federation.aggregator.home import Aggregator
from coterie.federation.backup import backup_aggregator, restore_aggregator
from coterie.federation.secrets.keys import fingerprint
from coterie.federation.storage.parties import note

owners = typer.Typer(help="List, suspend, resume and remove owners.", no_args_is_help=True)
invitations = typer.Typer(help="List and cancel invitations.", no_args_is_help=True)
rotate = typer.Typer(help="New status token, TLS certificate, signing key.", no_args_is_help=True)

Folder = Annotated[Path, Argument(metavar="FOLDER", help="The aggregator's folder, made by `init`.")]
Database = Annotated[
    str | None, Option(envvar="COTERIE_DATABASE", help="postgresql://… instead of SQLite in the folder.")
]
OwnerName = Annotated[str, Argument(metavar="OWNER", help="The owner's name.")]


@contextmanager
def connected(folder: Path, database: str | None, *, write: bool = True) -> Iterator[Connection]:
    """One transaction beside a running `serve`."""
    with closing(Aggregator.open(folder, database)) as aggregator:
        found = aggregator.database
        with found.writing() if write else found.reading() as connection:
            yield connection


@owners.command("list")
def list_command(folder: Folder, database: Database = None, as_json: AsJson = False) -> None:
    """Everybody who has joined, with state and fingerprint.

    Example: coterie aggregator owners list ./aggregator
    """
    with connected(folder, database, write=False) as connection:
        found = administration.listed_owners(connection)
    rows = ((escape(o["owner"]), o["state"], o["fingerprint"], o["enrolled"], o["seen"] or "") for o in found)
    headings = ("owner", "state", "fingerprint", "enrolled", "last seen")
    say({"owners": found}, table_of(rows, headings), as_json=as_json)


def _about_an_owner(name: str, state: str, do: Callable[[Connection, str], None], said: str) -> None:
    def act(folder: Folder, owner: OwnerName, database: Database = None, as_json: AsJson = False) -> None:
        with connected(folder, database) as connection:
            do(connection, owner)
        say({"owner": owner, "state": state}, f"{escape(owner)} is {state}.", as_json=as_json)

    owners.command(name, help=f"{said}\n\nExample: coterie aggregator owners {name} ./aggregator hospital-a")(
        act
    )


_about_an_owner(
    "suspend",
    "suspended",
    partial(administration.suspend, suspended=True),
    "Answer this owner 403 until it is resumed. It keeps its identity, its place in studies, and waits.",
)
_about_an_owner(
    "resume", "active", partial(administration.suspend, suspended=False), "Let a suspended owner in again."
)
_about_an_owner(
    "remove",
    "removed",
    administration.remove,
    "End an owner's key, as if it had left. It withdraws from what it has not delivered; its name can be invited again.",
)


@invitations.command("list")
def list_invitations_command(folder: Folder, database: Database = None, as_json: AsJson = False) -> None:
    """Invitations that nobody has used.

    Example: coterie aggregator invitations list ./aggregator
    """
    with connected(folder, database, write=False) as connection:
        found = administration.listed_invitations(connection)
    rows = ((escape(i["owner"]), i["expires"], "expired" if i["expired"] else "open") for i in found)
    say({"invitations": found}, table_of(rows, ("owner", "expires", "state")), as_json=as_json)


@invitations.command("cancel")
def cancel_invitations_command(
    folder: Folder,
    owner: Annotated[
        str | None, Argument(metavar="OWNER", help="Whose; default: all that have expired.")
    ] = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Make open invitations of a name worthless; without a name, sweep those that have expired.

    Example: coterie aggregator invitations cancel ./aggregator hospital-a
    """
    with connected(folder, database) as connection:
        count = administration.cancel_invitations(connection, owner)
    say({"cancelled": count}, f"Cancelled {count}.", as_json=as_json)


@rotate.command("token")
def token_command(folder: Folder, database: Database = None, as_json: AsJson = False) -> None:
    """A new token for the status page and the metrics. All earlier tokens are worthless from now on.

    Example: coterie aggregator rotate token ./aggregator
    """
    with connected(folder, database) as connection:
        token = administration.rotate_token(connection, "rotated")
    told = f"The new token is [bold]{escape(token)}[/]. It is shown only now."
    say({"status_token": token}, told, as_json=as_json)


@rotate.command("key")
def key_command(folder: Folder, database: Database = None, as_json: AsJson = False) -> None:
    """A new signing key, signed by the old one. Stop `serve` first. Owners follow by themselves.

    Studies under way are finished with the key that they name. Tell owners who have not joined yet the new key.

    Example: coterie aggregator rotate key ./aggregator
    """
    with closing(Aggregator.open(folder, database)) as aggregator, aggregator.serving():
        old, new = aggregator.fingerprint, fingerprint(aggregator.rotate_keys().public)
        with aggregator.database.writing() as connection:
            note(connection, "new key", old=old, new=new)
    say(
        {"key": new, "followed": old},
        f"The key is now [bold]{new}[/], signed by {old}. Start `coterie aggregator serve` again.",
        as_json=as_json,
    )


@rotate.command("tls")
def tls_command(
    folder: Folder,
    use: Annotated[bool, Option("--use", help="Use the announced one now. Then start `serve` anew.")] = False,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Announce a new TLS certificate to the owners; with --use, some days later, put it in place.

    Example: coterie aggregator rotate tls ./aggregator
    """
    with closing(Aggregator.open(folder, database)) as aggregator:
        (administration.use_next_tls if use else administration.rotate_tls)(aggregator)
    announced = "Announced. When every owner has been seen since (`owners list`), run this again with --use."
    told = "In place. Start `coterie aggregator serve` anew." if use else announced
    say({"state": "in use" if use else "announced"}, told, as_json=as_json)


def backup_command(
    folder: Folder,
    output: Annotated[Path, Argument(metavar="OUTPUT", help="A new folder for the copy.")],
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Copy keys, database, parts and releases as they stand at one moment. `serve` may go on meanwhile.

    The copy holds private keys: keep it like the folder itself. A PostgreSQL database is copied too, as SQLite.

    Example: coterie aggregator backup ./aggregator /backup/2026-11-19
    """
    with closing(Aggregator.open(folder, database)) as aggregator:
        backup_aggregator(aggregator, output)
    say({"backup": str(output)}, f"Copied to [bold]{escape(str(output))}[/].", as_json=as_json)


def restore_command(
    backup: Annotated[Path, Argument(metavar="BACKUP", help="A folder that `backup` made.")],
    folder: Annotated[Path, Argument(metavar="FOLDER", help="A new folder for the aggregator.")],
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Make an aggregator of a copy. Owners notice that it is older than what they remember, and say so.

    Example: coterie aggregator restore /backup/2026-11-19 ./aggregator
    """
    restore_aggregator(backup, folder, database)
    told = f"Restored. Next: coterie aggregator serve {escape(str(folder))}"
    say({"folder": str(folder)}, told, as_json=as_json)
