"""From what a person typed to a plan of the release: everything that can be refused is refused here, before any noise.

The plan lies in PROJECT/release.json, with no value of the data and no password:

    planned ──▶ begun ──▶ done       the files are in place, the ledger is charged once
                  │  ├──▶ nothing    nothing was published, nothing is charged
                  │  ├──▶ waiting    charged, not all in place yet; finishing costs nothing
                  │  └──▶ lost       charged, the files are gone
                  ▼
       a plan is begun at most once; which end it came to is read from the ledger, never guessed
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Literal

from coterie.chain.noise.secure import SecureSampler
from coterie.errors import DataError, LedgerError, OutputError, ParameterError
from coterie.methods import get_method
from coterie.methods.recipe import Method
from coterie.promise.certificate import Certificate, Digest
from coterie.promise.terms import promise, total_epsilon
from coterie.publication.ledger import Ledger, Purpose, journal_purpose, without_credentials
from coterie.publication.publishing import Destination, fingerprint_of, purpose_of
from coterie.schema.attributes import Schema
from coterie.schema.exact import as_text
from coterie.studio.forms import Sent
from coterie.studio.ledgers import last_account
from coterie.studio.project import Choice, Project, ReleaseOrder, store
from coterie.studio.promise import promised
from coterie.studio.table_cache import stamp
from coterie.table.address import Address, is_database
from coterie.table.checked import Checked, check
from coterie.table.reading import WRITERS

FORMATS = tuple(ending for ending in WRITERS if ending != ".feather")


class ReleasePlan(ReleaseOrder):
    id: str
    state: Literal["planned", "begun", "done", "nothing", "waiting", "lost"] = "planned"
    made_from: str  # table, description and choice: what was confirmed is what is released
    cost: str | None  # ε; None for a method without noise
    fingerprint: str
    draft: Certificate  # what the certificate will say, but for the bytes and the time
    problem: str = ""
    advice: str = ""

    @classmethod
    def read(cls, project: Project) -> ReleasePlan | None:
        path = project.folder / "release.json"
        return cls.model_validate_json(path.read_bytes()) if path.exists() else None

    def write(self, project: Project) -> None:
        store(project.folder / "release.json", self)

    def book(self, project: Project) -> Path:
        """The ledger, or the studio's own journal of releases that none counts."""
        return Path(self.ledger) if self.ledger else project.folder / "journal.sqlite"

    def purpose(self, schema: Schema, target: str) -> Purpose:
        """What the ledger is charged for; without one, an entry in the journal, which counts no ε."""
        choice = self.choice
        if self.ledger is None:
            return replace(journal_purpose(choice.method, target, self.fingerprint), despite=self.despite)
        asked = purpose_of(
            *recipe_of(choice),
            schema,
            choice.k,
            population=str(self.population),
            target=target,
            fingerprint=self.fingerprint,
            shuffled=choice.shuffle,
            clipped=choice.clip,
            delta=choice.delta or None,
        )
        return replace(asked, despite=self.despite)

    def place(self, address: str | None) -> str:
        """Where the data are. `address`: of a database, with its password, which no plan holds."""
        return (address if self.table else "") or self.data

    def destination(self, project: Project, address: str | None) -> Destination:
        return destination_of(
            project, self.place(address), self.table, self.certificate, self.internal, self.key
        )

    def ended(self, state: str, problem: str = "", advice: str = "") -> ReleasePlan:
        return self.model_copy(update={"state": state, "problem": problem, "advice": advice})


def made_from(project: Project) -> str:
    """Changes when the table is read again, also in the moment before the project's state says so."""
    state, table = project.state, project.table_path.stat()
    parts = [
        state.loaded.digest if state.loaded else "",
        [table.st_ino, table.st_mtime_ns, table.st_size],
        stamp(project.source) if project.source else None,
        project.schema_path.read_text(encoding="utf-8"),
        state.choice.model_dump() if state.choice else {},
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ReleaseForm:
    """The form of the release, as typed."""

    kind: str = "file"  # or "database"
    folder: str = ""
    name: str = ""
    format: str = ".csv"
    address: str = ""
    table: str = ""
    counted: str = "ledger"  # or "none"
    ledger: str = ""
    population: str = ""
    lifetime: str = ""
    delta: str = ""  # of the lifetime
    key: str = ""
    internal: bool = False

    @classmethod
    def sent(cls, form: Sent) -> ReleaseForm:
        texts = {name: form.text(name) for name in cls.__dataclass_fields__ if name != "internal"}
        return cls(**texts, internal=form.flag("internal"))

    @classmethod
    def first(cls, project: Project) -> ReleaseForm:
        """Propose a place beside the source or in the home folder, a name that is free, and the ledger of last time."""
        origin, folder = project.state.origin, folder_beside(project)
        source = Path(origin.shown) if origin.kind in ("file", "upload") else Path(project.state.name)
        stem = source.name.split(".")[0].strip().replace(" ", "-").lower() or "table"
        name, number = f"{stem}-released", 1
        while any(os.path.exists(folder / f"{name}{ending}") for ending in FORMATS):
            number += 1
            name = f"{stem}-released-{number}"
        ledger, population = last_account(project)
        return cls(
            folder=str(folder),
            name=name,
            ledger=ledger or str(folder / "ledger.sqlite"),
            population=population,
        )

    @classmethod
    def again(cls, plan: ReleasePlan) -> ReleaseForm:
        """What was asked for before, to begin anew; a database's password has to be typed again."""
        place = Path(plan.certificate.removesuffix(".certificate.json"))
        ending = "" if plan.table else place.suffix
        return cls(
            kind="database" if plan.table else "file",
            folder=str(place.parent),
            name=place.name.removesuffix(ending),
            format=ending or ".csv",
            address=plan.data if plan.table else "",
            table=plan.table or "",
            counted="ledger" if plan.ledger else "none",
            ledger=plan.ledger or "",
            population=plan.population or "",
            key=plan.key or "",
            internal=plan.internal is not None,
        )

    @property
    def ledger_path(self) -> Path:
        if not self.ledger:
            raise ParameterError("No ledger was named.", "Give the path of its file.")
        return Path(self.ledger).expanduser().absolute()

    def destination(self, project: Project) -> Destination:
        """Nothing is ever overwritten here."""
        require_plain(self.name)
        if self.format not in FORMATS:
            raise ParameterError("There is no such format.", f"Choose one of {', '.join(FORMATS)}.")
        if not self.folder:
            raise ParameterError("No folder was named.", "Give the folder for the release.")
        folder = Path(self.folder).expanduser().absolute()
        database = self.kind == "database"
        data = self.address if database else str(folder / f"{self.name}{self.format}")
        if database and not (is_database(data) and self.table):
            raise ParameterError(
                "A database as output needs its address and the name of a new table.",
                "Write postgresql://… or sqlite:///… and a table.",
            )
        stem = folder / self.name if database else Path(data)
        table, internal = self.table if database else None, f"{stem}.internal.json" if self.internal else None
        key = str(Path(self.key).expanduser().absolute()) if self.key else None
        return destination_of(project, data, table, f"{stem}.certificate.json", internal, key)


def folder_beside(project: Project) -> Path:
    """Where a release is proposed to go: beside the source, or into the home folder."""
    origin = project.state.origin
    return Path(origin.shown).parent if origin.kind == "file" else Path.home()


def require_plain(name: str) -> None:
    if not name or Path(name).name != name:
        raise ParameterError("The release has no name, or one with a slash.", "Write a plain name.")


def require_free(*paths: Path | str) -> None:
    for path in paths:
        if os.path.exists(path):  # unlike Path.exists, it does not stumble over a name that is too long
            raise OutputError(
                f"{path} exists already.", "Choose another name: the studio never overwrites a release."
            )


def destination_of(
    project: Project, data: str, table: str | None, certificate: str, internal: str | None, key: str | None
) -> Destination:
    """The destination, with the files that a release must never overwrite."""
    origin = project.state.origin
    inputs: list[str | Path | tuple[str, str]] = [project.schema_path, project.table_path]
    if project.source is not None:
        inputs.append(project.source)
    elif origin.kind == "database" and origin.table:
        inputs.append((origin.shown, origin.table))
    return Destination(
        data=data,
        table=table,
        certificate=Path(certificate),
        internal=Path(internal) if internal else None,
        key=Path(key) if key else None,
        schema=project.schema(),
        inputs=tuple(inputs),
    )


def plan_of(project: Project, asked: ReleaseForm) -> ReleasePlan:
    """Checked against the table, the places and the ledger. Draws no noise, writes nothing."""
    state, destination = project.state, asked.destination(project)
    if state.choice is None:
        raise ParameterError("No method was chosen.", "Choose one first.")
    if project.source is not None and state.loaded and stamp(project.source) != state.loaded.stamp:
        raise DataError(
            f"{project.source} was changed or removed since it was read.",
            "Read it again on the page 'Load', so that you release what lies there.",
        )
    require_free(*destination.files)
    destination.refuse_early()
    if destination.table is not None:
        Address.parse(destination.data)
    source = made_from(project)
    schema = project.schema()
    recipe, total = recipe_of(state.choice)
    draft = draft_of(check(project.typed_table(), schema), schema, state.choice)
    if made_from(project) != source:
        raise DataError("The table was read again in the meantime.", "Look at it, then plan the release.")
    identity = secrets.token_hex(16)
    plan = ReleasePlan(
        id=identity,
        made_from=source,
        data=without_credentials(destination.data),
        table=destination.table,
        certificate=str(destination.certificate_path),
        internal=str(destination.internal) if destination.internal else None,
        key=str(destination.key) if destination.key else None,
        ledger=str(asked.ledger_path) if asked.counted == "ledger" else None,
        population=asked.population if asked.counted == "ledger" else None,
        choice=state.choice,
        cost=as_text(recipe.cost(total, len(schema.protected))) if recipe.adds_noise else None,
        # With the plan's own mark: whatever else is released, this one can be found in the ledger.
        fingerprint=fingerprint_of("", (identity, source)),
        draft=draft,
    )
    if plan.ledger is not None:
        if not os.path.exists(plan.ledger):
            raise LedgerError(
                f"There is no ledger at {plan.ledger}.",
                "Name one that exists, or write a population and its lifetime ε and press 'Make it'.",
            )
        Ledger.inspect(plan.ledger).afford(plan.purpose(schema, destination.shown))
    return plan


def recipe_of(choice: Choice) -> tuple[Method, Fraction]:
    recipe = get_method(choice.method).grouped(choice.grouping)
    return recipe, total_epsilon(choice.epsilon or None, recipe)


def draft_of(checked: Checked, schema: Schema, choice: Choice) -> Certificate:
    """What the certificate of a real release will say. Only its bytes, its time and paid bounds are not known yet."""
    found = promised(choice, schema, checked.records)
    will_be = promise(
        schema,
        found.recipe,
        found.budget,
        checked.records,
        found.k,
        SecureSampler(),
        checked.columns.values(),
        shuffled=choice.shuffle or schema.unit is not None,
        clipped=choice.clip,
    )
    return will_be.certify(Digest(over="file bytes", value="0" * 64))
