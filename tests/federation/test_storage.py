"""One conformance suite over both databases: migrations, compare-and-set, nonces, sessions, the diary."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from federation_world import STUDY as ASKED
from sqlalchemy import Connection, delete, insert, select, text, update

from coterie.federation.aggregator.home import Aggregator, init
from coterie.federation.documents.signed import Signed
from coterie.federation.documents.states import (
    CONTRIBUTION,
    STUDY,
    ContributionState,
    StudyState,
    is_final,
    may_follow,
)
from coterie.federation.documents.study_file import study_from
from coterie.federation.errors import Conflict, FederationError
from coterie.federation.secrets.keys import Keys
from coterie.federation.storage import database as tables
from coterie.federation.storage import parties, studies
from coterie.federation.storage import parties as audit
from coterie.federation.storage.database import Database, invitations, metadata, owners
from coterie.federation.storage.database import audit as audit_table
from coterie.publication.ledger.seals import first_broken


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.database)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'aggregator.sqlite'}"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def database(address: str) -> Iterator[Database]:
    opened = Database.open(address)
    yield opened
    opened.close()


def joined(database: Database, *names: str) -> dict[str, Keys]:
    made = {}
    for name in names:
        keys = Keys.generate()
        with database.writing() as connection:
            parties.invite(connection, name, f"token-of-{name}-{'x' * 20}", "2100-01-01T00:00:00Z")
            found = parties.enrol(connection, f"token-of-{name}-{'x' * 20}", keys.public, keys.sealing_public)
        assert found == name
        made[name] = keys
    return made


def published(database: Database, aggregator: Keys) -> str:
    content = {**ASKED, "owners": ["a", "b"]}
    with database.writing() as connection:
        study = study_from(content, aggregator.public, lambda name: parties.owner_by_name(connection, name))
        studies.add_study(connection, Signed.of(study, aggregator), study)
    return study.id


def test_the_migrations_make_the_tables_that_the_code_knows(database: Database) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with database.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert connection.scalar(text("SELECT version_num FROM alembic_version")) == tables.VERSION


@pytest.mark.parametrize("version", ["0001", "0002", "0003"])
def test_an_older_database_is_brought_up_to_date(address: str, database: Database, version: str) -> None:
    with database.writing() as connection:
        for table, name in (
            ("owners", "suspended"),
            ("owners", "witness"),
            ("studies", "opening"),
            ("contributions", "delivery"),
            ("contributions", "part_key"),
            *([("contributions", "closed")] if version < "0003" else []),
        ):
            connection.execute(text(f"ALTER TABLE {table} DROP COLUMN {name}"))
        if version == "0001":
            connection.execute(text("DROP TABLE parcels"))
            for name in ("faults", "attention"):
                connection.execute(text(f"ALTER TABLE studies DROP COLUMN {name}"))
        connection.execute(text(f"UPDATE alembic_version SET version_num = '{version}'"))
    again = Database.open(address)
    test_the_migrations_make_the_tables_that_the_code_knows(again)
    again.close()


def test_opening_again_changes_nothing(address: str, database: Database) -> None:
    joined(database, "a")
    again = Database.open(address)
    with again.reading() as connection:
        assert parties.owner_by_name(connection, "a") is not None
    again.close()


def test_of_two_who_move_a_study_one_comes_too_late(database: Database) -> None:
    joined(database, "a", "b")
    name = published(database, Keys.generate())
    with database.reading() as connection:
        row = studies.known_study(connection, name)
    with database.writing() as connection:
        studies.move_study(connection, row, StudyState.PUBLISHED)
    with pytest.raises(Conflict, match="first"), database.writing() as connection:
        studies.move_study(connection, row, StudyState.CANCELLED)
    with database.reading() as connection:
        after = studies.known_study(connection, name)
    assert (after.state, after.version) == (StudyState.PUBLISHED, row.version + 1)


def test_a_state_that_cannot_follow(database: Database) -> None:
    joined(database, "a", "b")
    name = published(database, Keys.generate())
    with database.writing() as connection:
        row = studies.known_study(connection, name)
        with pytest.raises(Conflict, match="cannot become RELEASED"):
            studies.move_study(connection, row, StudyState.RELEASED)
        [first, _] = studies.contributions_of(connection, name)
        with pytest.raises(Conflict, match="cannot become ACCEPTED"):
            studies.move_contribution(connection, first, ContributionState.ACCEPTED)


def broken(connection: Connection) -> int | None:
    lines = select(audit_table.c.number, audit_table.c.content, audit_table.c.seal)
    rows = connection.execute(lines.order_by(audit_table.c.number))
    return first_broken(((number, text, mark) for number, text, mark in rows), audit.GENESIS)


def test_many_writers_make_one_chain(database: Database) -> None:
    def write(number: int) -> None:
        for step in range(5):
            with database.writing() as connection:
                audit.note(connection, "test", writer=number, step=step)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    with database.reading() as connection:
        assert broken(connection) is None
        assert len(audit.entries(connection)) == 40
        assert connection.scalar(select(tables.clock.c.ticks)) >= 40


def test_a_changed_line_of_the_diary_is_found(database: Database) -> None:
    for step in range(3):
        with database.writing() as connection:
            audit.note(connection, "test", step=step)
    with database.writing() as connection:
        connection.execute(
            update(audit_table).where(audit_table.c.number == 2).values(content='{"event":"other"}')
        )
        assert broken(connection) == 2


def test_nonces_and_sessions(database: Database) -> None:
    joined(database, "a")
    with database.writing() as connection:
        owner = parties.owner_by_name(connection, "a")
        assert owner is not None
        assert parties.fresh(connection, owner.key, "nonce-number-one")
        assert not parties.fresh(connection, owner.key, "nonce-number-one")
        assert parties.fresh(connection, "another key", "nonce-number-one")
        assert parties.hold_session(connection, owner, "one", "", busy=False)
        assert not parties.hold_session(connection, owner, "two", "", busy=False)
        assert not parties.hold_session(connection, owner, "two", "one", busy=True)
        assert parties.hold_session(connection, owner, "two", "one", busy=False)
        # Silence for long: the key may be used by whoever has it now.
        long_ago = "2020-01-01T00:00:00Z"
        connection.execute(update(owners).where(owners.c.id == owner.id).values(session_seen=long_ago))
        assert parties.hold_session(connection, owner, "three", "", busy=False)


def test_a_transaction_that_fails_leaves_nothing(database: Database) -> None:
    def failing() -> None:
        with database.writing() as connection:
            audit.note(connection, "test")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        failing()
    with database.reading() as connection:
        assert connection.execute(select(audit_table)).first() is None


def test_one_table_of_transitions() -> None:
    """Everything is reachable, and what is final has no exit."""
    for table, start in ((STUDY, StudyState.DRAFT), (CONTRIBUTION, ContributionState.INVITED)):
        reached: set[Any] = {start}
        while True:
            further = reached | {new for old in reached for new in table[old]}
            if further == reached:
                break
            reached = further
        assert reached == set(table)
    assert {s for s in StudyState if is_final(s)} == {
        StudyState.RELEASED,
        StudyState.CANCELLED,
        StudyState.EXPIRED,
        StudyState.FAILED,
    }
    # Sealed parts only, and only until the others open theirs: storage.studies.may_withdraw.
    assert may_follow(ContributionState.DELIVERED, ContributionState.WITHDRAWN)
    assert not may_follow(ContributionState.ACCEPTED, ContributionState.WITHDRAWN)
    assert not may_follow(StudyState.RELEASED, StudyState.FAILED)


@pytest.mark.parametrize("address", ["mysql://x/y", "not an address"], indirect=False)
def test_other_databases_are_refused(address: str) -> None:
    with pytest.raises(FederationError, match="neither"):
        Database.open(address)


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(FederationError) as error:
        Database.open("postgresql://somebody:secret-word@127.0.0.1:9/nowhere?connect_timeout=2")
    assert "secret-word" not in str(error.value)


@pytest.mark.database
def test_a_study_over_postgresql(postgres_url: str, tmp_path: Path) -> None:
    from federation_world import people, world

    with world(tmp_path, postgres_url) as made:
        made.serve()
        homes = [made.join(name) for name in ("a", "b")]
        for home in homes:
            made.give(home, people(30, 2))
        study = made.study(["a", "b"])
        made.finish(study, homes)
        assert made.shown(study)["state"] == "RELEASED"
        assert not list(made.aggregator.folder.glob("*.sqlite*"))


def test_an_sqlite_file_anywhere_is_for_the_administrator_alone(tmp_path: Path) -> None:
    earlier = os.umask(0o022)
    try:
        database = Database.open(f"sqlite:///{tmp_path}/elsewhere.sqlite")
        with database.writing():
            modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
        database.close()
    finally:
        os.umask(earlier)
    assert set(modes.values()) == {0o600}
    assert "elsewhere.sqlite-wal" in modes


def test_what_was_erased_cannot_be_read_in_the_files(tmp_path: Path) -> None:
    """The key of the row order, and parcels: gone from the file and from SQLite's log, not only from the tables."""
    database = Database.open(f"sqlite:///{tmp_path}/erased.sqlite")
    key, sealed = secrets.token_hex(32), secrets.token_hex(4000)
    with database.writing() as connection:
        connection.execute(
            insert(tables.parcels).values(
                study="s", owner=1, step="blinded", number=0, count=1, signed=sealed
            )
        )
        connection.execute(
            insert(tables.studies).values(
                id="s", signed="", state="ASSEMBLING", version=1, created="", changed="", shuffle_key=key
            )
        )

    def held() -> bytes:
        return b"".join(path.read_bytes() for path in tmp_path.iterdir())

    assert key.encode() in held()
    with database.writing() as connection:
        connection.execute(update(tables.studies).values(shuffle_key=None))
        connection.execute(delete(tables.parcels))
    with database.reading() as connection:
        connection.execute(select(tables.studies.c.id)).all()
        database.scrub()
        assert database.holds_erased, "somebody reads: later"
        with database.noting() as other:
            assert other.scalar(text("PRAGMA busy_timeout")) == 30_000, "a writer is as patient as before"
    database.scrub()
    assert not database.holds_erased
    assert key.encode() not in held()
    assert sealed[:200].encode() not in held()
    database.close()


def test_a_folder_that_was_moved_finds_its_own_database(tmp_path: Path) -> None:
    made, _ = init(tmp_path / "here", "https://127.0.0.1:1", ["127.0.0.1"], None)
    made.close()
    shutil.copytree(tmp_path / "here", tmp_path / "copy")
    copy = Aggregator.open(tmp_path / "copy")
    with copy.database.writing() as connection:
        parties.invite(connection, "only-here", "t" * 43, "2030-01-01T00:00:00.000Z")
    copy.close()
    original = Aggregator.open(tmp_path / "here")
    with original.database.reading() as connection:
        assert not connection.execute(select(invitations.c.name)).all(), (
            "a copy does not write into its original"
        )
    original.close()
