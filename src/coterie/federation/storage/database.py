"""Open the database: SQLite in WAL by default, PostgreSQL by URL; brought up to date by Alembic."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text, update
from sqlalchemy.exc import OperationalError

from coterie.federation.errors import FederationError
from coterie.federation.storage.tables import VERSION, clock
from coterie.table.address import without_credentials
from coterie.table.hidden_files import ensure_private

_WAIT_SECONDS = 30
_SCRUB_PATIENCE_MILLISECONDS = 100  # a look of the service lasts a few


class Database:
    """Two ways in: `reading()` sees one moment, `writing()` is alone and durable when it returns."""

    def __init__(self, engine: Engine, url: str) -> None:
        self.engine = engine
        self.shown = without_credentials(url)
        self.holds_erased = True  # of a process before this one, perhaps

    @classmethod
    def open(cls, url: str) -> Database:
        engine = create_engine(_with_driver(url), **_options(url))
        if engine.dialect.name == "sqlite":
            _for_sqlite(engine)
        database = cls(engine, url)
        try:
            with _full_told():
                database._migrate()
        except OperationalError as error:
            raise FederationError(
                f"The database {database.shown} cannot be opened.",
                "Check that the server runs, that the address is right and that you may write there.",
            ) from error
        return database

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with _full_told(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One writer at a time on both engines: SQLite by BEGIN IMMEDIATE, PostgreSQL by the lock of the clock's row."""
        with self.noting() as connection:
            connection.execute(update(clock).values(ticks=clock.c.ticks + 1))
            yield connection

    @contextmanager
    def noting(self) -> Iterator[Connection]:
        """A small write that nobody waits for, such as a nonce: it does not wake anyone."""
        with (
            _full_told(),
            self.engine.connect().execution_options(coterie_writes=True) as connection,
            connection.begin(),
        ):
            yield connection

    def scrub(self) -> None:
        """SQLite keeps old pages in its log until they are overwritten: what was erased must not be read there."""
        if self.engine.dialect.name != "sqlite" or not self.holds_erased:
            return
        with self.engine.connect() as connection:
            driver = connection.connection.driver_connection
            assert driver is not None
            # Outside of a transaction. While somebody reads it is `busy`, and keeps every writer waiting: it comes back
            # at the next look rather than wait as long as a writer would.
            driver.execute(f"PRAGMA busy_timeout = {_SCRUB_PATIENCE_MILLISECONDS}")
            try:
                busy = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            finally:
                driver.execute(f"PRAGMA busy_timeout = {_WAIT_SECONDS * 1000}")
        self.holds_erased = bool(busy)

    def close(self) -> None:
        self.engine.dispose()

    def _migrate(self) -> None:
        with self.reading() as connection:
            made = inspect(connection).has_table("alembic_version")
            if made and connection.scalar(text("SELECT version_num FROM alembic_version")) == VERSION:
                return
        from alembic import command  # slow to import, and almost always all is up to date
        from alembic.config import Config

        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        with self.engine.connect().execution_options(coterie_writes=True) as connection, connection.begin():
            config.attributes["connection"] = connection
            command.upgrade(config, "head")


@contextmanager
def _full_told() -> Iterator[None]:
    """A full disk is the same trouble whoever met it: a file or the database."""
    try:
        yield
    except OperationalError as error:
        text = str(error.orig).lower()
        if "full" in text or "no space" in text:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None
        raise


def _with_driver(url: str) -> str:
    for scheme in ("postgresql://", "postgres://"):
        if url.startswith(scheme):
            return "postgresql+psycopg://" + url.removeprefix(scheme)
    if url.startswith("sqlite:///"):
        return url
    raise FederationError(
        "The database address is neither sqlite:///… nor postgresql://….",
        "Leave --database out for SQLite, or give postgresql://user@host/name.",
    )


def _options(url: str) -> dict[str, Any]:
    if url.startswith("sqlite"):
        return {"connect_args": {"timeout": _WAIT_SECONDS}}
    return {"pool_pre_ping": True, "pool_size": 10, "max_overflow": 20}


def _for_sqlite(engine: Engine) -> None:
    with suppress(OSError):  # SQLite meets the same obstacle when it connects, and it is told there
        ensure_private(Path(engine.url.database or ""))

    @event.listens_for(engine, "connect")
    def _connected(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions are begun below, not by the driver's guess
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # a receipt must survive a power cut
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # keys and parcels that were erased are overwritten

    @event.listens_for(engine, "begin")
    def _begun(connection: Connection) -> None:
        writes = connection.get_execution_options().get("coterie_writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
