"""One table on its way to a release: a folder that holds everything the pages show, written whole or not at all.

state.json   where the table came from, what was chosen, what was released (no value of the data)
table.arrow  the table as it was read, mapped into memory rather than loaded
typed.arrow  the same with its labels as text, where types were guessed and the description says otherwise
schema.yaml  its description, the same file that the command reads
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, ValidationError

from coterie.errors import CoterieError, DataError, ParameterError
from coterie.methods import get_method
from coterie.publication.staging import stage_bytes
from coterie.schema.attributes import Schema
from coterie.schema.document import read_schema
from coterie.schema.provenance import Taken, marked, remembered
from coterie.studio.forms import Sent
from coterie.studio.table_cache import kept, typed
from coterie.table.hidden_files import FileLock
from coterie.table.reading import ending


class Stale(ParameterError):
    """A form of an older version of the project, sent from another tab."""

    def __init__(self) -> None:
        super().__init__(
            "This project was changed in another tab since this page was opened; nothing was saved.",
            "Look at what stands here now, and make your change again.",
        )


class StoredPart(BaseModel):
    """What the studio keeps in its files."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Origin(StoredPart):
    """Where the table came from, as a person would name it; never with credentials."""

    kind: Literal["file", "upload", "database", "demo"]
    shown: str  # a path, or a database address without its password
    table: str | None = None
    query: str | None = None


class Loaded(StoredPart):
    rows: int
    columns: int
    digest: str  # of table.arrow: tells whether a finished job still speaks of this table
    stamp: str | None = None  # of the file it was read from: tells whether that was written to since


class Choice(StoredPart):
    method: str
    epsilon: str
    k: int | None = None
    grouping: str = "equal"
    shuffle: bool = False
    clip: bool = True
    delta: str = ""  # nothing: pure ε

    @property
    def settings(self) -> dict[str, Any]:
        """The choice as the arguments of `coterie.protect`."""
        return {**self.model_dump(), "epsilon": self.epsilon or None, "delta": self.delta or None}

    @classmethod
    def sent(cls, form: Sent) -> Choice:
        """One line of a comparison or of a recommendation. A method takes of the settings what it needs."""
        recipe = get_method(form.text("method"))
        return cls(
            method=recipe.name,
            epsilon=form.text("epsilon") if recipe.adds_noise else "",
            k=None if recipe.fixed_k else form.whole("k", "k"),
            delta=form.text("delta") if recipe.whole_table is not None else "",
        )


class Wish(StoredPart):
    """What the release is for, and for whom."""

    purpose: str = "relations"
    audience: str = "everybody"
    delta: bool = False  # whether a promise that holds but for a tiny probability will do
    # From public knowledge. With a privacy unit the table's own number of rows is private.
    records: int | None = None
    unit_size: float | None = None  # rows of an average unit


class ReleaseOrder(StoredPart):
    """What is to be released, where to, and who counts it."""

    choice: Choice
    data: str  # an absolute path, or a database's address without its password
    table: str | None = None  # of a database
    certificate: str
    internal: str | None = None
    key: str | None = None
    ledger: str | None = None  # None: this release is not recorded in a ledger
    population: str | None = None
    despite: str = ""  # why it goes on although the audit found a severe risk, or the promise does not hold


class PastRelease(ReleaseOrder):
    """What left the house, and what it cost."""

    at: str
    cost: str
    status: str
    label: str
    plan: str = ""  # which plan it came from: it is recorded once, however often that is asked for


class SignedReason(StoredPart):
    """Why somebody goes on despite a severe audit, or a promise that does not hold: of that audit or release alone."""

    reason: str
    name: str
    audit: str = ""  # the key of its result; empty where the promise does not hold, audited or not

    @classmethod
    def sent(cls, form: Sent, audit: str = "") -> SignedReason:
        reason, name = form.text("reason"), form.text("name")
        if not reason or not name:
            raise ParameterError("A reason and a name are needed.", "Write both, or choose another release.")
        return cls(reason=reason[:1000], name=name[:100], audit=audit)

    def __str__(self) -> str:
        return f"{self.reason} ({self.name})"


class ProjectState(StoredPart):
    name: str
    origin: Origin
    version: int = 0  # grows with every change, also of the schema
    loaded: Loaded | None = None
    wish: Wish = Wish()
    choice: Choice | None = None
    signed: SignedReason | None = None
    released: tuple[PastRelease, ...] = ()
    dismissed: tuple[str, ...] = ()  # columns whose suggestion nobody wants to see again
    taken: Taken = {}  # what was ever filled from the data: it stays marked, whatever is typed over it


class Project:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = ProjectState.model_validate_json((folder / "state.json").read_bytes())

    @property
    def id(self) -> str:
        return self.folder.name

    @classmethod
    def new(cls, projects: Path, name: str, origin: Origin) -> Project:
        folder = projects / secrets.token_hex(4)
        folder.mkdir(mode=0o700)
        store(folder / "state.json", ProjectState(name=name, origin=origin))
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
        """Save one change, if the page that asks for it showed the current version (`seen`)."""
        # One writer at a time: the server's threads, and the worker's process.
        with FileLock.waited(self.folder / "lock"):
            current = ProjectState.model_validate_json((self.folder / "state.json").read_bytes())
            if seen is not None and seen != current.version:
                self.state = current
                raise Stale
            if schema is not None:
                new = _parsed(schema, self.folder)
                whole, updates["taken"] = self._marked(new, current.taken)
                schema = schema if whole is new else whole.to_yaml()
                if self.schema_path.exists():
                    store(self.before_path, self.schema_path.read_text(encoding="utf-8"))
                store(self.schema_path, schema)
            self.state = ProjectState.model_validate(
                {**dict(current), **updates, "version": current.version + 1}
            )
            store(self.folder / "state.json", self.state)

    def marked(self, schema: Schema) -> Schema:
        """A description with the marks of everything that came from the data before."""
        return self._marked(schema, self.state.taken)[0]

    def _marked(self, schema: Schema, taken: Taken) -> tuple[Schema, Taken]:
        before = self.schema() if self.schema_path.exists() else None
        known = remembered(taken, *([before] if before else []))
        return marked(schema, before, known), remembered(known, schema)

    @property
    def table_path(self) -> Path:
        return self.folder / "table.arrow"

    def table(self) -> pa.Table:
        """The table as it was loaded, before anybody described it: for the first look only."""
        table = kept(self.table_path)
        if table is None:
            raise DataError("This project has no table yet.", "Load one first.")
        return table

    def typed_table(self) -> pa.Table:
        """The table as the command reads it with the schema. After a change of types, the first call may take seconds."""
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

    @property
    def before_path(self) -> Path:
        """The description before its last change, to be taken back."""
        return self.folder / "schema-before.yaml"

    @property
    def records(self) -> int:
        assert self.state.loaded is not None
        return self.state.loaded.rows

    @property
    def choice(self) -> Choice:
        assert self.state.choice is not None
        return self.state.choice

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


def checked_file(project: Project, entry: PastRelease, kind: str) -> Path:
    """Where the audit or the evaluation of a released table is kept, once somebody asked for it."""
    return project.folder / f"{kind}-of-{entry.plan}.json"


@lru_cache(maxsize=32)
def _parsed(text: str, folder: Path) -> Schema:
    """Every page asks several times, and two hundred attributes are a long text."""
    return read_schema(text + "\n", folder)


def store(path: Path, content: str | BaseModel) -> None:
    """Write a file whole or not at all, readable by its owner only."""
    text = content if isinstance(content, str) else content.model_dump_json(indent=2)
    stage_bytes(text.encode(), path, force=True, private=True).publish()
