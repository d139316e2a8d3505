"""What runs on Spark's executors: checking rows, and whole clusters through the chain; and how a fault travels back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from coterie import errors
from coterie.chain.partition.clustering import Piece
from coterie.engines.out_of_core.chain import SamplerAt, content, filled_like, piece_values
from coterie.errors import CoterieError, DataError, OutputError
from coterie.methods.recipe import Method
from coterie.schema.attributes import Role, Schema
from coterie.table.checked import column_of, located, with_policies
from coterie.table.columns.column import CategoryColumn, Column
from coterie.table.columns.labels import further_codes

_FAULT = "COTERIE-FAULT "
# Words of Java, Hadoop and Spark about storage, and what they mean. The first that is found is told.
_STORAGE = (
    (
        ("PATH_NOT_FOUND", "UnknownStoreException", "NoSuchBucket"),
        "There is nothing at an address that Spark should use.",
        "Check the names of the input and of the bucket; an output's bucket must be there already.",
    ),
    (
        (
            "AccessDenied",
            "NoAuthWithAWS",
            "InvalidAccessKeyId",
            "SignatureDoesNotMatch",
            "AccessControlException",
        ),
        "The storage refuses Spark the access.",
        "Check the keys or the role that Spark uses for it, and what they may do: list, read, write, delete.",
    ),
    (
        ("UnknownHost", "ConnectException", "Connect to ", "ConnectTimeout", "UnableToExecuteHttp"),
        "Spark cannot reach the storage.",
        "Check its endpoint in Spark's settings (for S3: fs.s3a.endpoint), and the network.",
    ),
)


def protect_piece(
    method: Method,
    k: int,
    shares: dict[str, Fraction],
    sampler: SamplerAt,
    likes: Sequence[Column],
    names: Sequence[str],
    piece: Piece,
) -> dict[str, NDArray[Any]]:
    """On an executor: whole clusters of some attributes through the chain."""
    released = {}
    for like, name in zip(likes, names, strict=True):
        column = filled_like(like, piece.fields[name.replace("v", "f")])
        epsilon = shares[like.attribute.name]
        released[name] = piece_values(piece, column, method, k, epsilon, sampler)
    return released


def kept_names(schema: Schema) -> dict[str, str]:
    """Kept columns, and what they are called on the way: any name may be one that Spark, or we, read otherwise."""
    return {a.name: f"c{place}" for place, a in enumerate(schema.with_role(Role.KEEP))}


def check_rows(
    schema: Schema, likes: Sequence[Column], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    names = [a.name for a in schema.attributes if a.role is not Role.IDENTIFIER]
    kept = kept_names(schema)
    before = 0
    for batch in batches:
        table = pa.Table.from_batches([batch]).rename_columns(names)
        try:
            columns = {like.attribute.name: _read(table, like, schema) for like in likes}
            checked = with_policies(table, columns, schema)
        except DataError as error:
            # An executor does not know how many rows other partitions have: it says what it counts.
            raise located(error, "row {} of a partition", before) from None
        before += len(table)
        out = {short: checked.kept[name].combine_chunks() for name, short in kept.items()}
        for place, like in enumerate(likes):
            out[f"f{place}"] = pa.array(content(checked.columns[like.attribute.name]))
        yield pa.RecordBatch.from_pydict(out)


def _read(table: pa.Table, like: Column, schema: Schema) -> Column:
    column = table.column(like.attribute.name)
    if isinstance(like, CategoryColumn):
        return replace(like, codes=further_codes(column, like))
    return column_of(column, like.attribute, schema)


def faults_in_words(
    work: Callable[[Iterator[Any]], Iterator[Any]],
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A fault on an executor, as one line that the driver can turn back into the same error."""

    def guarded(batches: Iterator[Any]) -> Iterator[Any]:
        try:
            yield from work(batches)
        except CoterieError as error:
            content = json.dumps([type(error).__name__, error.problem, error.advice, error.detail])
            raise RuntimeError(f"{_FAULT}{content}") from None

    return guarded


@contextmanager
def told() -> Iterator[None]:
    """An executor's fault as the error it was; Spark's own words may quote values, so they are not passed on."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        text = str(error)
        if _FAULT in text:
            kind, problem, advice, detail = json.loads(text.split(_FAULT, 1)[1].split("\n", 1)[0])
            raise getattr(errors, kind)(problem, advice, detail=detail) from None
        if "No space left on device" in text:
            raise OutputError(
                "A disk is full: Spark had no room for its parts, or for what it sorts.",
                "Free some space there, or set spark.local.dir to another place. Nothing was released or overwritten.",
            ) from None
        for words, problem, advice in _STORAGE:
            if any(word in text for word in words):
                raise DataError(problem, advice) from None
        # The class of the fault, not its text: PATH_NOT_FOUND, COLUMN_ALREADY_EXISTS and the like.
        kind = getattr(error, "getCondition", lambda: None)() or type(error).__name__
        raise DataError(
            f"Spark could not finish the work ({kind}).",
            "Look into Spark's own log; a lost executor is replaced by itself, a full disk or memory is not.",
        ) from None
