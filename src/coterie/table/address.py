"""Database addresses: which texts are one, what may be printed of them, and how names are quoted in SQL."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from coterie.errors import ParameterError, nearest

_SCHEMES = {"postgresql": "postgresql", "postgres": "postgresql", "sqlite": "sqlite"}
_LONGEST_NAME = 63  # bytes; PostgreSQL cuts longer names off silently

_CREDENTIALS = re.compile(r"(?P<scheme>://)(?P<user>[^/@:\s]*):[^/\s]*@(?=[^@]*$)")
_PASSWORD = re.compile(r"(?i)\b((?:ssl)?password|passwd|pwd|token|secret)=[^&\s]*")


@dataclass(frozen=True)
class Address:
    """Where a database is. `url` holds the password and is never printed; `shown` may be."""

    kind: str
    shown: str
    url: str = field(repr=False)
    path: Path | None = None  # the file, for SQLite

    @staticmethod
    def knows(text: str) -> bool:
        """A database, and not the address of an object store."""
        return text.partition("://")[0].lower() in _SCHEMES

    @classmethod
    def parse(cls, text: str) -> Address:
        scheme, _, rest = text.partition("://")
        kind = _SCHEMES.get(scheme.lower())
        if kind is None:
            raise ParameterError(
                f"Coterie does not know databases of the kind '{scheme}'.",
                f"{nearest(scheme, ['postgresql', 'sqlite'])} Write postgresql://… or sqlite:///path/to/file.db.",
            )
        if kind == "sqlite":
            if not rest.startswith("/") or len(rest) == 1:
                raise ParameterError(
                    "The SQLite address has no file.",
                    "Write sqlite:///relative/file.db, or sqlite:////absolute/file.db.",
                )
            path = Path(unquote(rest[1:]))
            return cls(kind, f"sqlite:///{path}", str(path), path)
        try:
            parts = urlsplit(text)
            if "@" in rest and "@" not in parts.netloc:
                # An unescaped / ? # in the password: a part of it would be taken for the place, and shown.
                raise ValueError
            place = parts.hostname or "localhost"
            port = f":{parts.port}" if parts.port else ""
        except ValueError:
            raise ParameterError(
                "The PostgreSQL address cannot be read.",
                "Write postgresql://user:password@host:5432/database,"
                " with %40, %2F, %3F, %23 for @ / ? # in the password.",
            ) from None
        # The query part may hold a password too, so it is not shown.
        # Without a limit, libpq waits for minutes on a host that drops packets.
        limit = (
            "" if "connect_timeout" in parts.query else ("&" if parts.query else "?") + "connect_timeout=10"
        )
        return cls(kind, f"postgresql://{place}{port}{parts.path}", f"postgresql://{rest}{limit}")

    def same_database(self, other: Address) -> bool:
        if self.path is not None and other.path is not None:
            return self.path.resolve() == other.path.resolve()
        return self.shown == other.shown


def is_database(source: str | Path) -> bool:
    """`scheme://…` is an address; a path object never is."""
    return isinstance(source, str) and "://" in source


@dataclass(frozen=True)
class TableName:
    """`name`, or `schema.name` in PostgreSQL, parted by the first dot. Quoted in SQL, so case counts."""

    name: str
    schema: str | None = None

    @classmethod
    def parse(cls, text: str, kind: str) -> TableName:
        schema, dot, name = text.partition(".") if kind == "postgresql" else ("", "", text)
        if not dot:
            schema, name = "", text
        for part in [name, *([schema] if dot else [])]:
            if not part or "\0" in part or not part.isprintable():
                raise ParameterError(
                    "The name of the table is empty or holds characters that no name has.",
                    "Write the table's name, or schema.name in PostgreSQL.",
                )
            if len(part.encode()) > _LONGEST_NAME:
                raise ParameterError(
                    f"A name of a table may have at most {_LONGEST_NAME} bytes.", "Choose a shorter one."
                )
        return cls(name, schema if dot else None)

    @property
    def sql(self) -> str:
        return ".".join(quoted(part) for part in (self.schema, self.name) if part)

    def beside(self, suffix: str) -> TableName:
        """A name in the same schema, shortened so that the suffix fits."""
        stem = self.name.encode()[: _LONGEST_NAME - len(suffix)].decode(errors="ignore")
        return TableName(stem + suffix, self.schema)

    def may_be(self, other: TableName) -> bool:
        """Whether both can be one table: a schema left out may be any, and SQLite ignores case."""
        if self.name.casefold() != other.name.casefold():
            return False
        return self.schema is None or other.schema is None or self.schema == other.schema

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}" if self.schema else self.name


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def without_credentials(address: str) -> str:
    """The same address with any password left out."""
    return _PASSWORD.sub(r"\1=***", _CREDENTIALS.sub(r"\g<scheme>\g<user>@", address))
