"""Copies of an aggregator's or an owner's folder as it stands at one moment, taken while it serves; and back again.

A copy holds private keys, and what was erased since: keep it as the folder itself. Whoever is restored is older than the
others remember, and they notice (`owner.rollback`).
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from sqlalchemy import select

from coterie.federation.aggregator.home import DATABASE, SETTINGS, Aggregator
from coterie.federation.errors import FederationError
from coterie.federation.owner.home import JOURNAL, LEDGER, OwnerHome
from coterie.federation.owner.policy import read_policy
from coterie.federation.secrets.keys import keep_private, private_folder
from coterie.federation.storage.database import Database, audit, copy_rows
from coterie.federation.storage.parties import note

_OF_BOTH = ("*.json", "*.pem", "*.key", "keys-next", "former")
_OF_AGGREGATOR = (*_OF_BOTH, "tls-next", "chunks", "releases", "quarantine")
_OF_OWNER = (*_OF_BOTH, "*.yaml", "studies")


def backup_aggregator(aggregator: Aggregator, output: Path) -> None:
    """Nothing is written meanwhile; that is short, because files, which never change, are only named a second time."""
    private_folder(output, "Give a new name.", new=True)
    with closing(Database.open(f"sqlite:///{output / DATABASE}")) as copy:
        with aggregator.database.writing() as source, copy.noting() as target:
            copy_rows(source, target)
            linked = aggregator.workspace("backup")
            shutil.rmtree(linked, ignore_errors=True)
            _copy(aggregator.folder, linked, _OF_AGGREGATOR, os.link)
        try:
            _copy(linked, output, _OF_AGGREGATOR, shutil.copy2)
        finally:
            shutil.rmtree(linked)
    settings = json.loads((output / SETTINGS).read_bytes())
    keep_private(output / SETTINGS, json.dumps({**settings, "database": None}, indent=2).encode())


def restore_aggregator(backup: Path, folder: Path, database: str | None) -> None:
    """Into a new folder; and into an empty database, if it is not to be SQLite in the folder."""
    Aggregator.open(backup).close()  # says what is wrong with it; an older one is brought up to date
    private_folder(folder, "Give a new name.", new=True)
    try:
        _fill(backup, folder, database)
    except BaseException:
        shutil.rmtree(folder)  # half an aggregator would stand in the way of the next attempt
        raise


def _fill(backup: Path, folder: Path, database: str | None) -> None:
    for part in ("chunks", "releases", "work"):
        (folder / part).mkdir(mode=0o700)
    _copy(backup, folder, (*_OF_AGGREGATOR, DATABASE), shutil.copy2)
    if database is not None:
        settings = json.loads((folder / SETTINGS).read_bytes())
        keep_private(folder / SETTINGS, json.dumps({**settings, "database": database}, indent=2).encode())
        source, target = Database.open(f"sqlite:///{folder / DATABASE}"), Database.open(database)
        with closing(source), closing(target), source.reading() as old, target.noting() as new:
            if new.execute(select(audit.c.number)).first() is not None:
                raise FederationError("This database is not empty.", "Restore into a new one.")
            copy_rows(old, new)
        for path in folder.glob(f"{DATABASE}*"):
            path.unlink()
    with closing(Aggregator.open(folder)) as opened, opened.database.writing() as connection:
        note(connection, "restored")


def backup_owner(home: OwnerHome, output: Path) -> list[str]:
    """Between two steps of the running process. Names the ledgers that stand elsewhere, and are not in it."""
    private_folder(output, "Give a new name.", new=True)
    with home.still():
        for name in (JOURNAL, LEDGER):
            if (home.folder / name).exists():
                source, target = sqlite3.connect(home.folder / name), sqlite3.connect(output / name)
                with closing(source), closing(target):
                    source.backup(target)
                (output / name).chmod(0o600)
        _copy(home.folder, output, _OF_OWNER, shutil.copy2)
    said = [home.journal.decision(study) or {} for study in home.journal.seen()]
    used = {content["source"]["ledger"] for content in said if content.get("source")}
    policy = read_policy(home.policy_file)
    return sorted(filter(None, used | {policy.ledger if policy else None}))


def restore_owner(backup: Path, folder: Path) -> None:
    """Restore an owner to the path where it stood: the ledger knows the files of releases by their paths."""
    OwnerHome.open(backup)
    private_folder(folder, "Give a new name.", new=True)
    _copy(backup, folder, (*_OF_OWNER, JOURNAL, LEDGER), shutil.copy2)
    OwnerHome.open(folder).journal.note("restored")


def _copy(source: Path, target: Path, names: Iterable[str], copy: object) -> None:
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in {found for name in names for found in source.glob(name)}:
        if path.is_dir():
            shutil.copytree(path, target / path.name, copy_function=copy, dirs_exist_ok=True)  # type: ignore[arg-type]
        else:
            copy(path, target / path.name)  # type: ignore[operator]
