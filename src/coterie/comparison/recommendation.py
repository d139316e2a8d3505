"""recommend(): one release to publish, found from public facts alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coterie.comparison.compare import sample_schema, synthetic_sample
from coterie.errors import CoterieError, ParameterError, nearest
from coterie.evaluation.evaluation import evaluate
from coterie.methods import get_method, list_methods
from coterie.methods.guarantee import Status
from coterie.promise.posterior import odds_in_words
from coterie.publication.protect import protect
from coterie.schema.attributes import Schema
from coterie.schema.document import as_schema
from coterie.schema.exact import Number, brief, parse_epsilon
from coterie.table.reading import as_table

# What people do with released rows, and the measure that tells what it costs them. All of them mean the same for rows of
# persons and for synthetic rows.
PURPOSES = {
    "distributions": ("jensen-shannon", "distributions of single columns"),
    "relations": ("two-way", "tables of two columns"),
    "models": ("two-way", "tables of two columns, on which regressions and classifiers rest"),
    "rows": ("range-queries", "counts of people with several properties"),
}
# Up to which value a measure earns a word; above the last one the purpose is lost.
_WORDS = {
    "jensen-shannon": ((0.02, "close to the original"), (0.1, "changed in places"), (0.3, "clearly changed")),
    "two-way": ((0.1, "close to the original"), (0.25, "changed in places"), (0.45, "clearly changed")),
    "range-queries": ((0.1, "close to the original"), (0.5, "changed in places"), (2.0, "clearly changed")),
}
_MOST_INVENTED = 20_000  # more records only make the figures better
_FEWEST = 50
_ACCEPTABLE = (Status.CONDITIONAL, Status.HEURISTIC, Status.REFUTED, Status.NONE)


def in_words(measure: str, value: float) -> str:
    """The word for an error, by the stated thresholds."""
    return next((word for most, word in _WORDS[measure] if value <= most), "destroyed")


@dataclass(frozen=True, slots=True, repr=False)
class RecommendedRelease:
    """One way to release the table, and what it would cost: measured on invented people."""

    method: str
    status: str
    promise: str
    error: float
    words: str
    k: int | None

    def __repr__(self) -> str:
        return f"<RecommendedRelease {self.method}: {self.status}, {self.words} ({self.error:.3g})>"


@dataclass(frozen=True, slots=True, repr=False)
class Recommendation:
    """One release to publish, what comes next to it, and what not to publish."""

    purpose: str
    measure: str
    epsilon: str
    records: int
    invented: int
    best: RecommendedRelease
    runner_up: RecommendedRelease | None
    avoid: Mapping[str, str]  # methods, and why not
    notes: tuple[str, ...]
    command: str
    python: str

    def __repr__(self) -> str:
        return f"<Recommendation for {self.purpose}: {self.best.method} at ε = {self.epsilon}, {self.best.words}>"

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        plain: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        for name in ("best", "runner_up"):
            choice = plain[name]
            plain[name] = choice and {field: getattr(choice, field) for field in RecommendedRelease.__slots__}
        return {**plain, "avoid": dict(self.avoid), "notes": list(self.notes)}


def recommend(
    data: Any,
    schema: Schema | str | Path | Mapping[str, Any],
    *,
    purpose: str = "relations",
    epsilon: Number = 1,
    records: int | None = None,
    accept: str | Sequence[str] = (),
    table: str | None = None,
    query: str | None = None,
) -> Recommendation:
    """Say which release to publish, from public facts alone: the schema, the number of records and ε.

    No value of the table is looked at. Its rows are counted, and only where their number is public; the methods are tried on
    invented people with the same columns, so that the choice discloses nothing.

    Parameters
    ----------
    data : frame, str or Path, or None
        The table, of which only the rows are counted. None if `records` is given.
    schema : Schema, str, Path or dict
        Types, roles and public bounds.
    purpose : {"relations", "distributions", "models", "rows"}, default "relations"
        What readers will do with the release.
    epsilon : number, default 1
        The total budget.
    records : int, optional
        About how many records there are, from public knowledge. Needed where the schema declares a privacy unit: the number
        of rows is private then.
    accept : str or sequence of str, optional
        Promises to consider beside proved ones, by name: "conditional", "heuristic", "refuted" or "none".
    table, query : str, optional
        Table or query, where `data` has several.

    Returns
    -------
    Recommendation
        The release, the runner-up, what to avoid, and the command.

    Raises
    ------
    ParameterError
        If the purpose or an accepted promise is unknown, or the number of records is not known.
    SchemaError
        If the schema is incomplete.

    Examples
    --------
    >>> import coterie
    >>> found = coterie.recommend(coterie.demo_population(people=2000), coterie.demo_schema())
    >>> found.best.method, found.best.status
    ('dp-synthetic', 'proved')
    """
    if purpose not in PURPOSES:
        raise ParameterError(f"There is no purpose '{purpose}'.", nearest(purpose, PURPOSES))
    accepted = _accepted(accept)
    budget = parse_epsilon(epsilon)
    described = as_schema(schema)
    known = _records(data, described, records, table, query)
    invented = min(known, _MOST_INVENTED)
    rest = sample_schema(described)
    rows = _related(synthetic_sample(rest, invented))
    measure, meaning = PURPOSES[purpose]
    tried, avoid = [], {}
    for name, about in list_methods().items():
        status = Status(about["status"])
        if status is not Status.PROVED and status not in accepted:
            avoid[name] = f"{status.value}: {about['why']}"
            continue
        if not get_method(name).adds_noise and Status.NONE not in accepted:
            avoid[name] = "no noise: k-anonymity does not limit what an attacker with knowledge can learn"
            continue
        if purpose != "distributions" and get_method(name).synthesis is not None:
            avoid[name] = "sorted lists of single columns, not rows"
            continue
        try:
            tried.append(_tried(name, rows, rest, budget, measure))
        except CoterieError as error:
            avoid[name] = f"does not fit this table: {error.problem}"
    if not tried:
        raise ParameterError(
            "No method with an accepted promise fits this table.", "See `coterie methods`, and --accept."
        )
    tried.sort(key=lambda choice: choice.error)  # all have a promise that is proved, or accepted by name
    best = tried[0]
    text = brief(budget)
    k = "" if best.k is None else f" --k {best.k}"
    notes = [
        f"Tried on {invented:,} invented people with your columns, for {meaning}; a real table may differ.",
        *_unit_notes(described),
    ]
    if best.words == "destroyed":
        notes.append(
            "Even the best release loses what you want it for. Publish statistics instead (`coterie stats`), or "
            "protect fewer columns."
        )
    named = schema if isinstance(schema, str | Path) else "schema.yaml"
    source = data if isinstance(data, str | Path) else "data.csv"
    return Recommendation(
        purpose=purpose,
        measure=measure,
        epsilon=text,
        records=known,
        invented=invented,
        best=best,
        runner_up=tried[1] if len(tried) > 1 else None,
        avoid=avoid,
        notes=tuple(notes),
        command=f"coterie protect {source} --schema {named} --method {best.method} --epsilon {text}{k} --output out.csv",
        python=(
            f'coterie.protect(table, schema, method="{best.method}", epsilon="{text}"'
            f'{"" if best.k is None else f", k={best.k}"}).write("out.csv")'
        ),
    )


def _accepted(accept: str | Sequence[str]) -> set[Status]:
    words = [accept] if isinstance(accept, str) else list(accept)
    for word in words:
        if word not in _ACCEPTABLE:
            raise ParameterError(f"There is no promise '{word}' to accept.", nearest(word, _ACCEPTABLE))
    return {Status(word) for word in words}


def _records(data: Any, schema: Schema, records: int | None, table: str | None, query: str | None) -> int:
    if records is None and (data is None or schema.unit is not None):
        why = "With a privacy unit the number of rows is private" if data is not None else "There is no table"
        raise ParameterError(
            f"{why}: say about how many there are.", "Give records (--records) from public knowledge."
        )
    known = as_table(data, schema, table=table, query=query).num_rows if records is None else records
    if isinstance(known, bool) or not isinstance(known, int) or known < _FEWEST:
        raise ParameterError(
            f"A recommendation needs at least {_FEWEST} records.",
            "No release of so few people is both safe and useful; publish a count or nothing.",
        )
    return known


def _tried(name: str, rows: pa.Table, schema: Schema, epsilon: Fraction, measure: str) -> RecommendedRelease:
    method = get_method(name)
    k = None if method.fixed_k or method.public_k else max(method.minimum_k, math.isqrt(rows.num_rows))
    release = protect(rows, schema, method=name, epsilon=epsilon if method.adds_noise else None, k=k, seed=1)
    found = evaluate(rows, release.data, schema, measures=[measure], shuffled=True).measures[measure]
    error = math.inf if found.value is None else float(found.value)
    promise = odds_in_words(release.guarantee)
    status = list_methods()[name]["status"]
    return RecommendedRelease(name, str(status), promise, error, in_words(measure, error), k)


def _related(rows: pa.Table) -> pa.Table:
    """The invented columns with relations between them: each is sorted along half of a common score."""
    draw = np.random.Generator(np.random.PCG64(7))
    common = draw.normal(size=rows.num_rows)
    columns = {}
    for name in rows.column_names:
        column = rows[name].combine_chunks()
        place = np.argsort(np.argsort(common + draw.normal(size=rows.num_rows)))
        columns[name] = column.take(pc.sort_indices(column)).take(pa.array(place))
    return pa.table(columns)


def _unit_notes(schema: Schema) -> list[str]:
    if schema.unit is None:
        return [
            "Every row counts as one person. If people or households have several rows, declare `unit:` first."
        ]
    return [
        f"at_most is {schema.unit.at_most}. The noise grows with it: choose it near the typical size of a "
        f"{schema.unit.column}, from public knowledge, not the largest."
    ]
