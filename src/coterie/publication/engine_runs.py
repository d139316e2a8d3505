"""Where a release is made: in memory, out of core or on Spark. Publishing asks the same three things of each.

make     read the table and run the chain
stage    write the rows under a hidden name
again    take up rows that a killed run had charged and staged
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

from coterie.engines.in_memory import protect_table
from coterie.engines.out_of_core.chain import warm_up
from coterie.engines.out_of_core.columns import StreamedTable
from coterie.engines.out_of_core.release import protect_file
from coterie.engines.out_of_core.scratch import Scratch
from coterie.engines.spark.release import protect_frame
from coterie.engines.spark.session import read_parquet, session
from coterie.errors import ParameterError, nearest
from coterie.methods import get_method
from coterie.methods.recipe import Method
from coterie.publication.ledger import StagedRecord
from coterie.publication.publishing import Destination, fingerprint_of, stage_rows, table_again
from coterie.publication.spark_staging import (
    RemoteFolder,
    file_system,
    refuse_early,
    refuse_within,
    stage_parts,
)
from coterie.publication.staging import Staged
from coterie.schema.attributes import Role, Schema
from coterie.schema.document import as_schema
from coterie.schema.exact import Number, as_text, parse_epsilon
from coterie.table.address import Address, is_database
from coterie.table.digest import table_digest
from coterie.table.frames import to_arrow
from coterie.table.memory_limit import keep_what_is_freed, parse_memory
from coterie.table.reading import as_table

ENGINES = ("local", "spark")
Progress = Callable[[str, float, float], None]  # what is being done, how much is done, how much there is

_LARGE = 10**7  # bytes of a file whose table will need compiled code


def quiet(what: str, done: float, total: float) -> None:
    """Nobody watches."""


@dataclass(frozen=True)
class ProtectRequest:
    """What is asked for: a table, its schema, and a method with its parameters."""

    data: Any  # a path or an address; or a frame
    schema: Schema
    method: str | Method
    epsilon: Number | None = None
    k: int | None = None
    grouping: str = "equal"
    seed: int | None = None
    shuffle: bool | None = None
    clip: bool = True
    table: str | None = None
    query: str | None = None
    delta: Number | None = None
    rows: int | None = None
    target: str | None = None
    progress: Progress = field(default=quiet, repr=False, compare=False)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> ProtectRequest:
        """The arguments of a function, `locals()` of its first line."""
        named = {entry.name: given[entry.name] for entry in fields(cls)}
        return cls(**named | {"schema": as_schema(given["schema"]), "progress": given["progress"] or quiet})

    @property
    def source(self) -> str | None:
        """The file or address that is read; None for a frame."""
        return str(self.data) if isinstance(self.data, str | Path) else None

    @cached_property
    def recipe(self) -> Method:
        return get_method(self.method).grouped(self.grouping)

    @property
    def shuffles(self) -> bool:
        """Whether rows are shuffled: as asked; else where order tells something. Experiments with a seed compare rows."""
        if self.shuffle is not None:
            return self.shuffle
        told = not self.recipe.synthetic or bool(self.schema.with_role(Role.KEEP))
        return told and self.seed is None

    @property
    def parameters(self) -> dict[str, Any]:
        """What every engine is told."""
        names = ("epsilon", "k", "seed", "delta", "rows", "target")
        return {"method": self.recipe} | {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Run:
    """One request, in memory; other engines differ in how rows are made and where they wait."""

    request: ProtectRequest
    parts: ClassVar[bool] = False  # the release is a folder of part files
    streamed: ClassVar[bool] = False  # the release is written piece by piece
    in_order: ClassVar[bool] = False  # rows stay where they are, whatever is asked

    def refuse_early(self, where: Destination) -> None:
        """A file or table says so itself."""

    def make(self, *, forget: bool) -> Any:
        asked, source = self.request, self.request.source
        if source is not None and Path(source).is_file() and Path(source).stat().st_size > _LARGE:
            keep_what_is_freed()
            Thread(target=warm_up).start()  # the compiled code is loaded while Arrow reads
        # In a list, so that nobody else holds the table. A frame goes in as it is: the same kind comes out.
        table = [asked.data]
        if source is not None or asked.table or asked.query:
            table = [as_table(asked.data, asked.schema, table=asked.table, query=asked.query)]
        whole = asked.recipe.whole_table is not None
        done, total = count(1), len(asked.schema.protected) * (3 if whole else 1)  # read, modelled, drawn
        return protect_table(
            table.pop(),
            asked.schema,
            **asked.parameters,
            shuffle=asked.shuffles,
            clip=asked.clip,
            forget=forget,
            progress=lambda _: asked.progress("Protecting", next(done), total),
        )

    def stage(self, release: Any, where: Destination, temporary: Path | str | None) -> Staged:
        return stage_rows(release, where, temporary)

    def again(self, where: Destination, record: StagedRecord) -> Staged:
        return table_again(where, record)


@dataclass(frozen=True)
class OutOfCore(Run):
    streamed: ClassVar[bool] = True
    in_order: ClassVar[bool] = True
    memory: int | str
    folder: Path | None = None  # for intermediate files
    scratch: Scratch | None = None  # None: a private place in that folder, gone with the release

    def make(self, *, forget: bool) -> Any:
        asked, done = self.request, 0.0
        total = len(asked.schema.protected)

        def advance(share: float) -> None:
            nonlocal done
            done += share
            asked.progress("Protecting", done, total)

        make = partial(
            protect_file,
            str(asked.source),
            asked.schema,
            **asked.parameters,
            memory=self.memory,
            advance=advance,
        )
        if self.scratch is not None:
            return make(scratch=self.scratch)
        place = Scratch.fresh(self.folder or Path(tempfile.gettempdir()))
        try:
            release = make(scratch=place)
        except BaseException:  # nobody can go on with it
            place.discard()
            raise
        weakref.finalize(release, place.discard)
        return release

    def stage(self, release: Any, where: Destination, temporary: Path | str | None) -> Staged:
        written = 0

        def advance(rows: int) -> None:
            nonlocal written
            written += rows
            self.request.progress("Writing", written, release.records)

        return stage_rows(release.watched(advance), where, temporary)


@dataclass(frozen=True)
class OnSpark(Run):
    """A Spark frame, or Parquet at a path or address, in; a folder of part files out."""

    master: str | None = None
    parts: ClassVar[bool] = True
    in_order: ClassVar[bool] = True

    @cached_property
    def spark(self) -> Any:
        return self.request.data.sparkSession if self.request.source is None else session(self.master)

    def refuse_early(self, where: Destination) -> None:
        if self.request.source is not None:
            refuse_within(where.data, self.request.source)
        refuse_early(self.spark, where.data, force=where.force)

    def make(self, *, forget: bool) -> Any:
        asked, frame = self.request, self.request.data
        if asked.source is not None:
            if "://" in asked.source:
                file_system(self.spark, asked.source)
            frame = read_parquet(self.spark, asked.source)
        return protect_frame(frame, asked.schema, **asked.parameters)

    def stage(self, release: Any, where: Destination, temporary: Path | str | None) -> Staged:
        return stage_parts(self.spark, release.data, where.data, force=where.force, temporary=temporary)

    def again(self, where: Destination, record: StagedRecord) -> Staged:
        """A folder in a remote storage that was charged before its driver died."""
        return RemoteFolder(
            where.data.rstrip("/"), record.temporary, record.sha256, 0, where.force, self.spark
        )


def run_of(
    request: ProtectRequest,
    *,
    engine: str = "local",
    memory: int | str | None = None,
    scratch: str | Path | None = None,
    master: str | None = None,
    output_table: str | None = None,
) -> Run:
    """The engine that was asked for, or a sentence about what it cannot do."""
    source = request.source
    if source is None and type(request.data).__module__.startswith("pyspark."):
        engine = "spark"
    if engine not in ENGINES:
        raise ParameterError(f"There is no engine '{engine}'.", nearest(engine, ENGINES))
    if master is not None and engine != "spark":
        raise ParameterError("--master belongs to Spark.", "Add --engine spark, or leave it out.")
    if engine == "spark":
        if memory is not None:
            raise ParameterError(
                "--memory limits the local engine.", "Spark's own settings limit its executors."
            )
        _require_streamable(request, engine)
        if request.table or request.query or output_table:
            raise ParameterError(
                "Spark reads and writes Parquet, no tables of databases.",
                "Leave out --table, --query and --output-table, or --engine.",
            )
        return OnSpark(request, master)
    if memory is None:
        if scratch is not None:
            raise ParameterError("--scratch belongs to --memory.", "Give both, or leave it out.")
        return Run(request)
    parse_memory(memory)
    _require_streamable(request, engine)
    if source is None:
        raise ParameterError(
            "A frame is in memory already.", "Leave out the limit, or give the path of a Parquet file."
        )
    # What is impossible is said before where it would have been written.
    request.recipe.check_schema(request.schema)
    StreamedTable(Path(source), request.schema)
    return OutOfCore(request, memory, None if scratch is None else Path(scratch))


def _require_streamable(request: ProtectRequest, engine: str) -> None:
    """Nothing that needs the whole table in memory, and no database that is read into it."""
    for given, name in (
        (request.shuffle, "--shuffle"),
        (request.grouping != "equal", "--grouping"),
        (not request.clip, "--no-clip"),
    ):
        if given:
            raise ParameterError(
                f"{name} needs the whole table in memory.", f"Leave out {name}, or --memory and --engine."
            )
    source = request.source
    if source is not None and is_database(source) and (engine != "spark" or Address.knows(source)):
        raise ParameterError("A database table is read into memory.", "Leave out --memory and --engine.")


def request_fingerprint(asked: ProtectRequest) -> str:
    """Tells one request from another, so that one that is made again after a kill is recognised."""
    epsilon = asked.epsilon
    if epsilon is not None and not isinstance(epsilon, str):
        epsilon = as_text(parse_epsilon(epsilon))
    source = asked.source
    if source is None:
        source = f"a frame with the digest {table_digest(to_arrow(asked.data, asked.schema)[0])}"
    named = (asked.recipe.name, epsilon, asked.k, asked.grouping, asked.shuffles, asked.clip)
    request: tuple[object, ...] = (*named, asked.schema.to_yaml(), source, asked.table, asked.query)
    options = (None if asked.delta is None else str(asked.delta), asked.rows, asked.target)
    if options != (None, None, None):  # without them, a request of an older version stays the same request
        request = (*request, *options)
    return fingerprint_of(source, request)
