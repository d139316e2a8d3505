"""The statistics of a project: specification, split and releases. The data are no part of it.

PROJECT/statistics-desk.json is the truth; statistics.yaml and split.yaml are written beside it for the command.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field

from coterie.errors import CoterieError
from coterie.schema.attributes import Schema
from coterie.schema.exact import as_text, parse_epsilon
from coterie.statistics import Plan, Specification, plan, read_specification, resplit
from coterie.statistics.planning.by_hand import BY_HAND, moved
from coterie.statistics.planning.plan import split_text
from coterie.studio.project import Project, Stale, StoredPart, store
from coterie.table.hidden_files import FileLock

EVEN = "uniform"


class ReleasedStatistics(StoredPart):
    id: str  # of what was confirmed: it is recorded once, however often that is asked for
    release: str
    data: str
    certificate: str
    at: str
    cost: str  # an ε; or text with its sign, such as ρ = 0.1
    status: str
    label: str
    plan: str
    command: str
    again: bool = False  # it was stored before, and nothing was spent
    ledger: str | None = None
    population: str | None = None

    @property
    def costs(self) -> str:
        return self.cost if "=" in self.cost else f"ε = {self.cost}"


class OnDesk(StoredPart):
    version: int = 0
    text: str = ""  # the specification; empty before the first statistic
    rule: str = EVEN  # the allocator that made the split, or "by hand"
    split: dict[str, str] = Field(default_factory=dict)
    locked: tuple[str, ...] = ()
    released: tuple[ReleasedStatistics, ...] = ()


class Desk:
    def __init__(self, project: Project) -> None:
        self.project = project
        self.state = self._read()

    @property
    def path(self) -> Path:
        return self.project.folder / "statistics-desk.json"

    @property
    def specification_path(self) -> Path:
        return self.project.folder / "statistics.yaml"

    @property
    def split_path(self) -> Path:
        return self.project.folder / "split.yaml"

    def data_path(self) -> Path:
        """The records as the release reads them: labels as text, as the table is described."""
        as_described = self.project.typed_table().schema != self.project.table().schema
        return self.project.folder / "typed.arrow" if as_described else self.project.table_path

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = yaml.safe_load(self.state.text) if self.state.text else {}
        return found

    def specification(self) -> Specification:
        return _specification(self.state.text, self.project.schema_path, self._described)

    @property
    def _described(self) -> str:
        return self.project.schema_path.read_text(encoding="utf-8")

    def even_plan(self) -> Plan:
        """The plan with an equal split. It is cached, so that a slider answers at once."""
        return _even_plan(self.state.text, self.project.schema_path, self._described)

    def plan(self) -> Plan:
        """The plan as the sliders stand; its errors are the library's."""
        base = self.even_plan()
        return resplit(base, self.split) if set(self.split) == set(base.split) else base

    @property
    def split(self) -> dict[str, Fraction]:
        return {name: parse_epsilon(text, name) for name, text in self.state.split.items()}

    def write(self, seen: int, document: Mapping[str, Any], entry: str = "") -> None:
        """A changed specification, if it can be planned. The split keeps its proportions where it still fits.

        One that was broken already (the description of the table has changed) may be mended `entry` by entry.
        """
        text = specification_text(self.project, document)
        split: dict[str, str] = {}
        rule = EVEN
        try:
            if document.get("statistics"):
                split, rule = self._fitted(_even_plan(text, self.project.schema_path, self._described))
        except CoterieError as error:
            if not self.broken or (entry and f"'{entry}" in error.problem):
                raise
        self.change(seen, text=text, split=split, rule=rule, locked=())

    @property
    def broken(self) -> bool:
        """Whether what lies here cannot be planned, though something was asked for."""
        try:
            return bool(self.document.get("statistics")) and self.even_plan() is None
        except CoterieError:
            return True

    def _fitted(self, base: Plan) -> tuple[dict[str, str], str]:
        if set(self.state.split) != set(base.split):
            return _texts(base.split), EVEN
        kept = moved(base.design, self.split)
        return _texts(kept), self.state.rule if kept == self.split else BY_HAND

    def move(self, seen: int, name: str, value: Fraction, locked: tuple[str, ...]) -> None:
        split = moved(self.even_plan().design, self.split, name, value, locked)
        self.change(seen, split=_texts(split), rule=BY_HAND, locked=locked)

    def use(self, seen: int, document: Mapping[str, Any], chosen: Plan, rule: str) -> None:
        """The split that an allocator found, and the specification with the budget that it is for."""
        text = specification_text(self.project, document)
        self.change(seen, text=text, split=_texts(chosen.split), rule=rule, locked=())

    def change(self, seen: int | None, **updates: Any) -> None:
        with FileLock.waited(self.project.folder / "statistics-lock"):
            current = self._read()
            if seen is not None and seen != current.version:
                self.state = current
                raise Stale
            changed = {**dict(current), **updates, "version": current.version + 1}
            self.state = OnDesk.model_validate(changed)
            store(self.path, self.state)
            if self.state.text != current.text or not self.specification_path.exists():
                store(self.specification_path, self.state.text)
            store(self.split_path, split_text(self.split))

    def _read(self) -> OnDesk:
        try:
            return OnDesk.model_validate_json(self.path.read_bytes())
        except FileNotFoundError:
            return OnDesk()


def specification_text(project: Project, document: Mapping[str, Any]) -> str:
    content = {**document, "schema": project.schema_path.name}
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1000))


@lru_cache(maxsize=8)
def _specification(text: str, schema_path: Path, described: str) -> Specification:
    """Parsed once, not at every step of a slider; `described` is what the schema's file holds now."""
    return read_specification(text, Schema.load(schema_path))


@lru_cache(maxsize=8)
def _even_plan(text: str, schema_path: Path, described: str) -> Plan:
    return plan(_specification(text, schema_path, described), EVEN, report_losses=False)


def _texts(split: Mapping[str, Fraction]) -> dict[str, str]:
    return {name: as_text(budget) for name, budget in split.items()}
