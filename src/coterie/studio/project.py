"""One table on its way to a release: a folder that holds everything the pages show, written whole or not at all.

state.json   where the table came from, what was chosen, what was released (no value of the data)
table.arrow  the table as it was read, mapped into memory rather than loaded
typed.arrow  the same with its labels as text, where types were guessed and the description says otherwise
schema.yaml  its description, the same file that the command reads
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, ValidationError

from coterie.errors import CoterieError, DataError, ParameterError
from coterie.publication.staging import stage_bytes
from coterie.schema.attributes import Schema
from coterie.schema.document import read_schema
from coterie.studio.origins import Taken, marked, remembered
from coterie.studio.table_cache import kept, typed
from coterie.table.hidden_files import FileLock
from coterie.table.reading import ending


class Stale(ParameterError):
    """Two tabs: the page that was sent shows an older state than the one on disk."""

    def __init__(self) -> None:
        super().__init__(
            "This project was changed in another tab since this page was opened; nothing was saved.",
            "Look at what stands here now, and make your change again.",
        )


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Origin(_Part):
    """Where the table came from, as a person would name it; never with credentials."""

    kind: Literal["file", "upload", "database", "demo"]
    shown: str  # a path, or a database address without its password
    table: str | None = None
    query: str | None = None


class Loaded(_Part):
    rows: int
    columns: int
    digest: str  # of table.arrow: tells whether a finished job still speaks of this table
    stamp: str | None = None  # of the file it was read from: tells whether that was written to since


class Choice(_Part):
    method: str
    epsilon: str
    k: int | None = None
    grouping: str = "equal"
    shuffle: bool = False
    clip: bool = True


class Released(_Part):
    """What left the house, and what it cost."""

    data: str
    certificate: str
    at: str
    choice: Choice
    cost: str
    status: str
    label: str
    ledger: str | None = None
    population: str | None = None
    plan: str = ""  # which plan it came from: it is recorded once, however often that is asked for
    table: str | None = None  # of a database
    internal: str | None = None
    key: str | None = None


class State(_Part):
    name: str
    origin: Origin
    version: int = 0  # grows with every change, also of the schema
    loaded: Loaded | None = None
    choice: Choice | None = None
    released: tuple[Released, ...] = ()
    taken: Taken = {}  # what was ever filled from the data: it stays marked, whatever is typed over it


class Project:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = State.model_validate_json((folder / "state.json").read_bytes())

    @property
    def id(self) -> str:
        return self.folder.name

    @classmethod
    def new(cls, projects: Path, name: str, origin: Origin) -> Project:
        folder = projects / secrets.token_hex(4)
        folder.mkdir(mode=0o700)
        _write(folder / "state.json", State(name=name, origin=origin))
        return cls(folder)

    @classmethod
    def all(cls, projects: Path) -> list[Project]:
        """The newest first. A folder without a readable state is not a project."""
        found = []
        for path in projects.glob("*/state.json"):
            with suppress(OSError, ValidationError):
                found.append(cls(path.parent))
        return sorted(found, key=lambda project: -(project.folder / "state.json").stat().st_mtime)

    def change(self, seen: int | None = None, *, schema: str | None = None, **updates: Any) -> None:
        """Save one change, if the page that asks for it has seen the last one."""
        with self._writing():
            current = State.model_validate_json((self.folder / "state.json").read_bytes())
            if seen is not None and seen != current.version:
                self.state = current
                raise Stale
            if schema is not None:
                new = _parsed(schema, self.folder)
                whole, updates["taken"] = self._marked(new, current.taken)
                schema = schema if whole is new else whole.to_yaml()
                stage_bytes(schema.encode(), self.schema_path, force=True, private=True).publish()
            self.state = State.model_validate({**dict(current), **updates, "version": current.version + 1})
            _write(self.folder / "state.json", self.state)

    def marked(self, schema: Schema) -> Schema:
        """A description with the marks of everything that came from the data before."""
        return self._marked(schema, self.state.taken)[0]

    def _marked(self, schema: Schema, taken: Taken) -> tuple[Schema, Taken]:
        before = self.schema() if self.schema_path.exists() else None
        known = remembered(taken, *([before] if before else []))
        return marked(schema, before, known), remembered(known, schema)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One writer at a time: the server's threads, and the worker's process."""
        with FileLock.waited(self.folder / "lock"):
            yield

    @property
    def table_path(self) -> Path:
        return self.folder / "table.arrow"

    def table(self) -> pa.Table:
        """As it was loaded, before anybody described it: for the first look only."""
        table = kept(self.table_path)
        if table is None:
            raise DataError("This project has no table yet.", "Load one first.")
        return table

    def typed_table(self) -> pa.Table:
        """As the command reads it with the project's schema. The first call after a change of types may take seconds."""
        table, source = self.table(), self.source
        if source is None or self.state.loaded is None:
            return table
        cache, sheet = self.folder / "typed.arrow", self.state.origin.table
        return typed(table, self.schema(), source, sheet, self.state.loaded.stamp, cache)

    @property
    def source(self) -> Path | None:
        """The file that the table was read from: where it lies, or the studio's copy of an upload."""
        origin = self.state.origin
        if origin.kind == "upload":
            return self.folder / f"upload{ending(Path(origin.shown))}"
        return Path(origin.shown) if origin.kind == "file" else None

    @property
    def schema_path(self) -> Path:
        return self.folder / "schema.yaml"

    def schema(self) -> Schema:
        return _parsed(self.schema_path.read_text(encoding="utf-8"), self.folder)

    @property
    def described(self) -> bool:
        """Whether the schema says everything that a release needs."""
        if not self.schema_path.exists():
            return False
        try:
            schema = self.schema()
            for attribute in schema.protected:
                attribute.require_public()
        except CoterieError:
            return False
        return bool(schema.protected)


@lru_cache(maxsize=32)
def _parsed(text: str, folder: Path) -> Schema:
    """Every page asks several times, and two hundred attributes are a long text."""
    return read_schema(text + "\n", folder)


def _write(path: Path, state: State) -> None:
    stage_bytes(state.model_dump_json(indent=2).encode(), path, force=True, private=True).publish()
