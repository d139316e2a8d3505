"""The database and its tables: SQLite in WAL by default, PostgreSQL by URL; brought up to date by Alembic."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, OperationalError

from coterie.federation.errors import FederationError
from coterie.table.address import without_credentials
from coterie.table.hidden_files import FileLock, ensure_private

# The tables, as SQLAlchemy sees them.

metadata = sa.MetaData()
# Which version of these tables a database has, in the table that Alembic keeps it in.
versions = sa.Table(
    "alembic_version", sa.MetaData(), sa.Column("version_num", sa.String(32), primary_key=True)
)

# One row. Every change of state raises it, under its row lock: writers are ordered, readers see that something moved.
clock = sa.Table(
    "clock",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("ticks", sa.BigInteger, nullable=False),
)

owners = sa.Table(
    "owners",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(40), nullable=False, unique=True),
    sa.Column("key", sa.String(44), nullable=False, unique=True),
    sa.Column("sealing_key", sa.String(44), nullable=False),
    sa.Column("enrolled", sa.String(40), nullable=False),
    sa.Column("left", sa.String(40)),
    sa.Column("session", sa.String(64)),
    sa.Column("session_seen", sa.String(40)),
    sa.Column("suspended", sa.String(40)),
    # The last line of the owner's own diary that we know of: number and seal.
    sa.Column("witness", sa.String(100)),
)
invitations = sa.Table(
    "invitations",
    metadata,
    sa.Column("token_hash", sa.String(64), primary_key=True),
    sa.Column("name", sa.String(40), nullable=False),
    sa.Column("expires", sa.String(40), nullable=False),
    sa.Column("used_by", sa.String(44)),
)
studies = sa.Table(
    "studies",
    metadata,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("signed", sa.Text, nullable=False),
    sa.Column("state", sa.String(20), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created", sa.String(40), nullable=False),
    sa.Column("changed", sa.String(40), nullable=False),
    sa.Column("reason", sa.Text),
    sa.Column("group_key", sa.Text),  # sealed to the owners; the aggregator cannot open it
    sa.Column("shuffle_key", sa.String(64)),  # drawn when assembling begins, erased when the release is out
    sa.Column("certificate", sa.Text),
    sa.Column("release_sha256", sa.String(64)),
    sa.Column("release_size", sa.BigInteger),
    # How often the aggregator itself failed in the present state; and, after too many, what to tell people.
    sa.Column("faults", sa.Integer, nullable=False, server_default="0"),
    sa.Column("attention", sa.Text),
    sa.Column(
        "opening", sa.String(40)
    ),  # when all had delivered: since then owners give the keys of their parts
)
contributions = sa.Table(
    "contributions",
    metadata,
    sa.Column("study", sa.String(64), sa.ForeignKey("studies.id"), primary_key=True),
    sa.Column("owner", sa.Integer, sa.ForeignKey("owners.id"), primary_key=True),
    sa.Column("state", sa.String(20), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("changed", sa.String(40), nullable=False),
    sa.Column("answer", sa.Text),
    sa.Column("reason", sa.Text),
    sa.Column("manifest", sa.Text),
    sa.Column("receipt", sa.Text),
    sa.Column("delivery", sa.Text),  # signed by the owner: its sealed part is here
    sa.Column("part_key", sa.Text),  # what opens it; erased when the study has ended
    # When the owner said that it knows the end, and holds its copy if there is one.
    sa.Column("closed", sa.String(40)),
)
# What two owners of a blinded study send each other, sealed: the aggregator carries it and forgets it.
parcels = sa.Table(
    "parcels",
    metadata,
    sa.Column("study", sa.String(64), primary_key=True),
    sa.Column("owner", sa.Integer, primary_key=True),  # who sent it
    sa.Column("step", sa.String(20), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("count", sa.Integer, nullable=False),
    sa.Column("signed", sa.Text, nullable=False),
)
nonces = sa.Table(
    "nonces",
    metadata,
    sa.Column("key", sa.String(44), primary_key=True),
    sa.Column("nonce", sa.String(64), primary_key=True),
    sa.Column("seen", sa.BigInteger, nullable=False, index=True),
)
tokens = sa.Table(
    "tokens",
    metadata,
    sa.Column("token_hash", sa.String(64), primary_key=True),
    sa.Column("label", sa.String(100), nullable=False),
)
audit = sa.Table(
    "audit",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("seal", sa.String(64), nullable=False),
    sa.UniqueConstraint("seal"),
)


_WAIT_SECONDS = 30
_LOG_BYTES = 128 * 1024  # what SQLite needs beside a database that it opens
_SERVING = 0x436F746572696521  # the name of the advisory lock; PostgreSQL keeps them apart by database
_SCRUB_PATIENCE_MILLISECONDS = 100  # a look of the service lasts a few


def copy_rows(source: sa.Connection, target: sa.Connection) -> None:
    """Everything, into tables that hold nothing yet. Rows only: pages keep what was erased, and would show it."""
    target.execute(clock.delete())
    for table in metadata.sorted_tables:
        for rows in (
            source.execute(sa.select(table).execution_options(yield_per=500)).mappings().partitions(500)
        ):
            target.execute(sa.insert(table), [dict(row) for row in rows])
    if target.dialect.name == "postgresql":
        target.execute(
            sa.text("SELECT setval(pg_get_serial_sequence('owners', 'id'), coalesce(max(id), 1)) FROM owners")
        )


class Database:
    """Two ways in: `reading()` sees one moment, `writing()` is alone and durable when it returns."""

    def __init__(self, engine: sa.Engine, url: str) -> None:
        self.engine = engine
        self.shown = without_credentials(url)
        self.holds_erased = True  # of a process before this one, perhaps
        self._lock: sa.Connection | None = None  # where PostgreSQL holds the lock of the process that serves

    @classmethod
    def open(cls, url: str) -> Database:
        engine = sa.create_engine(_with_driver(url), **_options(url))
        if engine.dialect.name == "sqlite":
            _for_sqlite(engine)
        database = cls(engine, url)
        try:
            with _disk_full_as_oserror():
                database._migrate()
        except OperationalError as error:
            if engine.dialect.name == "sqlite" and _no_room(Path(engine.url.database or "")):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None
            raise FederationError(
                f"The database {database.shown} cannot be opened.",
                "Check that the server runs, that the address is right and that you may write there.",
            ) from error
        return database

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        with _disk_full_as_oserror(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """One writer at a time on both engines: SQLite by BEGIN IMMEDIATE, PostgreSQL by the lock of the clock's row."""
        with self.noting() as connection:
            connection.execute(sa.update(clock).values(ticks=clock.c.ticks + 1))
            yield connection

    @contextmanager
    def noting(self) -> Iterator[sa.Connection]:
        """A small write that nobody waits for, such as a nonce: it does not wake anyone."""
        with (
            _disk_full_as_oserror(),
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
            # Outside of a transaction. While a reader is active it is `busy` and keeps every writer waiting, so it returns
            # at the next look rather than wait as long as a writer would.
            driver.execute(f"PRAGMA busy_timeout = {_SCRUB_PATIENCE_MILLISECONDS}")
            try:
                busy = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            finally:
                driver.execute(f"PRAGMA busy_timeout = {_WAIT_SECONDS * 1000}")
        self.holds_erased = bool(busy)

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Whether no other process serves this database, wherever it runs; none can begin while this lasts."""
        if self.engine.dialect.name == "sqlite":
            lock = FileLock.take(Path(f"{self.engine.url.database}.lock"), make=0o600)
            try:
                yield lock is not None
            finally:
                if lock is not None:
                    lock.let_go()
            return
        try:
            yield self._take_lock()
        finally:
            if self._lock is not None:
                self._lock.invalidate()  # closed, not given back to the pool: the lock ends with it
                self._lock.close()
                self._lock = None

    def _take_lock(self) -> bool:
        """A lock of the session: PostgreSQL lets it go when this connection ends, however that comes about."""
        self._lock = self.engine.connect()
        held = self._lock.scalar(sa.text("SELECT pg_try_advisory_lock(:name)"), {"name": _SERVING})
        self._lock.commit()
        return bool(held)

    def still_alone(self) -> bool:
        """False when another process took our place while the line to the server was cut. Takes it again if it is free."""
        if self._lock is None:
            return True
        try:
            self._lock.execute(sa.text("SELECT 1"))
            self._lock.commit()
        except DBAPIError:
            self._lock.close()
            return self._take_lock()
        return True

    def close(self) -> None:
        self.engine.dispose()

    def _migrate(self) -> None:
        """A new database has today's tables; an older one gets what was added since."""
        with self.reading() as connection:
            if _version(connection) == VERSION:
                return
        from alembic.migration import MigrationContext  # slow to import, and almost always all is up to date
        from alembic.operations import Operations

        with self.engine.connect().execution_options(coterie_writes=True) as connection, connection.begin():
            found = _version(connection)
            if found is None:
                metadata.create_all(connection)
                versions.create(connection)
                connection.execute(sa.insert(clock).values(id=1, ticks=0))
            else:
                change = Operations(MigrationContext.configure(connection))
                for added in chain.from_iterable(_ADDED[version] for version in _ADDED if found < version):
                    if isinstance(added, sa.Table):
                        added.create(connection)
                    else:
                        change.add_column(added.table.name, added._copy())
                connection.execute(versions.delete())
            connection.execute(sa.insert(versions).values(version_num=VERSION))


def _version(connection: sa.Connection) -> str | None:
    return connection.scalar(sa.select(versions)) if sa.inspect(connection).has_table(versions.name) else None


# What each version added to the tables of the one before.
_ADDED: dict[str, tuple[sa.Column[Any] | sa.Table, ...]] = {
    "0002": (studies.c.faults, studies.c.attention, parcels),
    "0003": (contributions.c.closed,),
    "0004": (
        owners.c.suspended,
        owners.c.witness,
        studies.c.opening,
        contributions.c.delivery,
        contributions.c.part_key,
    ),
}
VERSION = max(_ADDED)


@contextmanager
def _disk_full_as_oserror() -> Iterator[None]:
    """A full disk as OSError, whether a file or the database met it."""
    try:
        yield
    except OperationalError as error:
        said = str(error.orig).lower()
        if "full" in said or "no space" in said:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None
        raise


def _no_room(file: Path) -> bool:
    """SQLite calls it an input/output error when there is no room for the log beside its file."""
    try:
        return shutil.disk_usage(file.parent).free < _LOG_BYTES
    except OSError:
        return False


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


def _for_sqlite(engine: sa.Engine) -> None:
    with suppress(OSError):  # SQLite fails for the same reason when it connects, and that error is reported
        ensure_private(Path(engine.url.database or ""))

    @sa.event.listens_for(engine, "connect")
    def _connected(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions are begun below, not by the driver's guess
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # a receipt must survive a power cut
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # keys and parcels that were erased are overwritten

    @sa.event.listens_for(engine, "begin")
    def _begun(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get("coterie_writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
