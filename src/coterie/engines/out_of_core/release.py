"""protect_file(): the same release from a Parquet file that is larger than memory.

Same schema, methods, certificate and, for the same seed, the same bytes of values as coterie.engines.in_memory has them;
only where the records are while they wait differs. Finished attributes are kept in `scratch`, so that a run that was
interrupted goes on where it stopped: what is kept is noisy already, so the noise need not be repeated.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from threading import Event, Lock
from typing import Any

import pyarrow as pa

from coterie._version import __version__
from coterie.chain.kernel import released_table
from coterie.engines.out_of_core.chain import (
    Advance,
    LargeChain,
    SamplerAt,
    check_grouping,
    sampler_from,
    warm_up,
)
from coterie.engines.out_of_core.columns import StreamedTable
from coterie.engines.out_of_core.scratch import FINISHED, Scratch, told
from coterie.engines.out_of_core.units import bounded_rows
from coterie.engines.out_of_core.whole_table import StreamedRows
from coterie.engines.whole_table import measurements_of, refuse_private_bounds, without_records
from coterie.errors import ParameterError
from coterie.methods import get_method
from coterie.methods.recipe import MOST_ROWS, Method
from coterie.promise.terms import Budget, Promise, promise, whole_seed
from coterie.schema.attributes import Attribute, Role, Schema
from coterie.schema.exact import Number, as_text
from coterie.table.columns.column import CategoryColumn
from coterie.table.hidden_files import write_whole
from coterie.table.memory_limit import parse_memory, room_for_work

_LONGEST_RANGE = 1 << 20
_BYTES_PER_CELL = 64  # of the output: released, restored, encoded
_PIECES = 32  # of the limit: kept columns are in memory as read, joined, encoded and compressed


@dataclass(frozen=True)
class LargeRelease(Promise):
    """As coterie.engines.in_memory.MemoryRelease, but `table` is a stream that can be read again and again."""

    records: int
    _read: Callable[[], pa.RecordBatchReader] = field(repr=False)
    scratch: Scratch = field(repr=False)
    _drawn: StreamedRows | None = field(repr=False, default=None)

    @property
    def measurements(self) -> pa.Table:
        """The noisy counts that synthetic rows were drawn from."""
        return measurements_of(self._drawn, self.method)

    @property
    def table(self) -> pa.RecordBatchReader:
        return self._read()

    def watched(self, tell: Callable[[int], None]) -> LargeRelease:
        """The same release. `tell` receives the number of rows of each batch that is read."""

        def read() -> pa.RecordBatchReader:
            reader = self._read()

            def batches() -> Iterator[pa.RecordBatch]:
                for batch in reader:
                    yield batch
                    tell(batch.num_rows)

            return pa.RecordBatchReader.from_batches(reader.schema, batches())

        return replace(self, _read=read)

    @property
    def internal(self) -> Any:
        raise ParameterError(
            "Internal figures need the whole table in memory.", "Leave out --internal, or --memory."
        )


def protect_file(
    source: str | Path,
    schema: Schema,
    *,
    method: str | Method,
    epsilon: Number | None = None,
    memory: int | str,
    scratch: str | Path | Scratch,
    k: int | None = None,
    seed: int | None = None,
    advance: Advance = lambda share: None,
    delta: Number | None = None,
    rows: int | None = None,
    target: str | None = None,
) -> LargeRelease:
    """Protect a Parquet file within `memory` bytes; `scratch` is a folder for intermediate files: a new one, or what an
    interrupted run left.

    The caller removes `scratch` once the release is written (`release.scratch.discard()`).
    """
    recipe = get_method(method)
    check_grouping(recipe)
    budget = Budget.of(epsilon, schema, recipe, delta)
    recipe.check_rows(schema, rows, target)
    refuse_private_bounds(schema)
    seed = None if seed is None else whole_seed(seed)
    limit = parse_memory(memory)
    warm_up()
    room = room_for_work(limit)
    table = StreamedTable(Path(source), schema)
    # With a unit the number of records is private: no refusal may tell it.
    k = recipe.check_k(k, table.records if schema.unit is None else MOST_ROWS, budget.mean)
    place = scratch if isinstance(scratch, Scratch) else Scratch.make(Path(scratch))
    # From the limit alone, not from what is free now: a resumed run must find the same ranges.
    length = max(min(limit // (8 * _BYTES_PER_CELL * len(schema.attributes)), _LONGEST_RANGE), 1024)
    sampler = sampler_from(seed)
    if recipe.whole_table is not None:
        place.remove_all()  # a model is not taken up where it stopped: nothing is appended to what a killed run left
        table = bounded_rows(table, place, room, sampler(0))
        drawn = StreamedRows.of(recipe.whole_table, table, budget, sampler, rows, target, advance)
        said = () if drawn.raked is None else drawn.raked.said
        promised = promise(
            schema, recipe, drawn.budget, drawn.records, k, sampler(0), drawn.likes, rows=rows, raking=said
        )
        beside = lambda: _in_ranges(table.kept(), length, limit // _PIECES)  # noqa: E731
        kept = beside if schema.with_role(Role.KEEP) else None
        return LargeRelease(
            **vars(promised),
            records=drawn.count,
            _read=lambda: _reader(drawn.tables(table, length, kept)),
            scratch=place,
            _drawn=drawn,
        )
    likes = {like.attribute.name: like for like in without_records(map(table.beginning, schema.protected))}
    chain = LargeChain(table, likes, place, recipe, k, budget.shares, room, length)
    # Finished values are codes of labels, which may stand in a file of their own.
    trees = [like.taxonomy.digest() for like in likes.values() if isinstance(like, CategoryColumn)]
    request = _request(source, schema, recipe.name, budget.total, k, seed, length, trees)
    finished = _Finished.resume(place, request)
    _protect(chain, finished, sampler, advance)
    promised = promise(schema, recipe, budget, table.records, k, sampler(0), likes.values())
    return LargeRelease(
        **vars(promised),
        records=table.records,
        _read=lambda: _reader(_tables(chain, limit // _PIECES)),
        scratch=place,
    )


def _protect(chain: LargeChain, finished: _Finished, sampler: SamplerAt, advance: Advance) -> None:
    """Protect all groups, as many at a time as there are cores and memory for."""
    told, stop = Lock(), Event()

    def tell(share: float) -> None:
        if stop.is_set():
            raise _Stopped
        with told:
            advance(share)

    def work(group: list[Attribute]) -> list[Attribute]:
        chain.protect(group, sampler, tell)
        return group

    waiting = []
    for group in chain.groups():
        if not chain.in_memory and finished.has([attribute.name for attribute in group]):
            advance(len(group))
        else:
            waiting.append(group)
    with ThreadPoolExecutor(chain.abreast) as pool:
        try:
            for group in pool.map(work, waiting) if chain.abreast > 1 else map(work, waiting):
                if not chain.in_memory:
                    finished.add([attribute.name for attribute in group])
        except BaseException:
            stop.set()  # the others end at their next batch, and are not waited for longer
            pool.shutdown(cancel_futures=True)
            raise


class _Stopped(Exception):
    """Another group has failed, or somebody has interrupted the run."""


def _reader(tables: Iterator[pa.Table]) -> pa.RecordBatchReader:
    first = next(tables)

    def batches() -> Iterator[pa.RecordBatch]:
        yield from first.to_batches()
        for table in _ahead(tables):
            yield from table.to_batches()

    return pa.RecordBatchReader.from_batches(first.schema, batches())


def _ahead(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Make the next table while this one is being written."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, tables, None)
        while (table := coming.result()) is not None:
            coming = pool.submit(next, tables, None)
            yield table


def _tables(chain: LargeChain, most: int) -> Iterator[pa.Table]:
    """The released table in ranges of rows, columns in the schema's order, identifiers dropped."""
    table = chain.table
    files = {a.name: chain.rows(a) for a in table.schema.protected}
    kept = _in_ranges(table.kept(), chain.length, most) if table.schema.with_role(Role.KEEP) else None
    for number in range(next(iter(files.values())).ranges):
        released = {name: chain.likes[name].restore(file.read(number)) for name, file in files.items()}
        start, end = 0, len(next(iter(released.values())))
        while start < end:
            beside = next(kept) if kept is not None else None
            count = end if beside is None else len(beside)
            part = {n: (array.slice(start, count), chain.likes[n].field) for n, array in released.items()}
            yield released_table(
                table.schema,
                part,
                {} if beside is None else dict(zip(beside.column_names, beside.columns, strict=True)),
            )
            start += count


def _in_ranges(tables: Iterator[pa.Table], length: int, most: int) -> Iterator[pa.Table]:
    """Kept columns in pieces that do not run across ranges of `length` rows, each cut once it has `most` bytes."""
    waiting: list[pa.Table] = []
    held = size = 0
    left = length
    for table in tables:
        while len(table):
            part = table.slice(0, left - held)
            table = table.slice(len(part))
            waiting.append(part)
            held += len(part)
            # A dictionary is the same in every part: it must not count in each.
            size += sum(c.nbytes for c in part.columns if not pa.types.is_dictionary(c.type))
            if held == left or size >= most:
                yield pa.concat_tables(waiting)
                left = left - held or length
                waiting, held, size = [], 0, 0
    if held:
        yield pa.concat_tables(waiting)


@dataclass(frozen=True, slots=True)
class _Finished:
    """Which attributes of this very request are done: noisy, complete and on disk."""

    scratch: Scratch
    request: str

    @classmethod
    def resume(cls, scratch: Scratch, request: str) -> _Finished:
        finished = cls(scratch, request)
        if finished._noted().get("request") != request:
            scratch.remove_all()
            finished._write([])
        return finished

    def has(self, names: list[str]) -> bool:
        return set(names) <= set(self._noted()["attributes"])

    def add(self, names: list[str]) -> None:
        self._write([*self._noted()["attributes"], *names])

    def _noted(self) -> dict[str, Any]:
        try:
            noted: dict[str, Any] = json.loads((self.scratch.folder / FINISHED).read_text())
        except (OSError, ValueError):
            return {}
        return noted

    def _write(self, names: list[str]) -> None:
        content = json.dumps({"request": self.request, "attributes": names}).encode()
        with told(self.scratch.folder):
            write_whole(self.scratch.folder / FINISHED, content)


def _request(source: str | Path, schema: Schema, method: str, epsilon: Fraction, *others: object) -> str:
    """Tells one request from another: the input, all choices, and the version of the program."""
    state = Path(source).stat()
    what = (
        str(Path(source).resolve()),
        state.st_size,
        state.st_mtime_ns,
        schema.to_yaml(),
        method,
        as_text(epsilon),
    )
    return hashlib.sha256(repr((*what, *others, __version__)).encode()).hexdigest()
