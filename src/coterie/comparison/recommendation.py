"""recommend(): one release to publish, found from public facts alone."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from coterie.comparison.invented import trial_schema
from coterie.comparison.trial import MOST_INVENTED, PromiseStrength, Recommendation, RecommendedRelease, Trial
from coterie.errors import CoterieError, ParameterError, SchemaError, enumerated, nearest, shortened
from coterie.evaluation import get_measure
from coterie.evaluation.measure import Measure
from coterie.methods import get_method, list_methods
from coterie.methods.guarantee import Status
from coterie.promise.posterior import DP
from coterie.promise.terms import forecast
from coterie.schema.attributes import Role, Schema
from coterie.schema.declared import linking_columns
from coterie.schema.document import as_schema
from coterie.schema.exact import Number, as_text, brief, number, parse_epsilon
from coterie.table.reading import as_table

# What people do with released rows, and the measure that tells what it costs them. All of them mean the same for rows of
# persons and for synthetic rows.
PURPOSES = {
    "distributions": ("one-way", "distributions of single columns"),
    "relations": ("associations", "relations between two columns"),
    "models": ("models", "regressions and classifiers"),
    "rows": ("three-way", "counts of people with several properties"),
}
_FEWER = ("one-way", "two-way")  # of a table with one attribute, or with two
STRENGTHS = ("1/2", "1", "2", "4")  # ε shown beside the one asked for
_FEWEST = 50
_ACCEPTABLE = (Status.CONDITIONAL, Status.HEURISTIC, Status.REFUTED, Status.NONE)
_SAVED = 0.8


def recommend(
    data: Any,
    schema: Schema | str | Path | Mapping[str, Any],
    *,
    purpose: str = "relations",
    epsilon: Number = 1,
    records: int | None = None,
    unit_size: float | None = None,
    target: str | None = None,
    accept: str | Sequence[str] = (),
    pure: bool = False,
    beside: Sequence[Number] = STRENGTHS,
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
    unit_size : float, optional
        How many rows a unit has on average, from public knowledge (a census). With it `at_most` of the unit is chosen, too.
    target : str, optional
        The attribute that readers will predict.
    accept : str or sequence of str, optional
        Promises to consider beside proved ones, by name: "conditional", "heuristic", "refuted" or "none".
    pure : bool, default False
        Consider no δ.
    beside : sequence of numbers, default (0.5, 1, 2, 4)
        Other ε to show beside the one asked for; none where it is empty.
    table, query : str, optional
        Table or query, where `data` has several.

    Returns
    -------
    Recommendation
        The release, the runner-up, what to avoid, and the command.

    Raises
    ------
    ParameterError
        If the purpose or an accepted promise is unknown, the number of records is not known, or no method keeps its promise
        with this schema (because bounds were taken from the data, say).
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
    if target is not None and target not in [attribute.name for attribute in described.protected]:
        raise ParameterError(
            f"The target '{target}' is no protected attribute.",
            nearest(target, [attribute.name for attribute in described.protected]),
        )
    if not described.protected:
        raise SchemaError(
            "No column of the schema is protected.", "Give the columns that readers need `role: protect`."
        )
    if unsaid := [attribute.name for attribute in described.protected if not attribute.is_public]:
        raise SchemaError(
            f"The schema does not yet say what is public about: {shortened(unsaid, 12)}.",
            "Fill in the `domain` (lower and upper bound) or the `categories` of each, from a law, a form or common sense, "
            "never from the data: see docs/how-to/describe-a-table.md.",
        )
    known = _records(data, described, records, table, query)
    measure = measure_of(purpose, described).name
    trial = Trial.of(described, min(known, MOST_INVENTED), unit_size, measure, target)
    units: dict[int, float] = {}
    if described.unit is not None and unit_size is not None:
        units = trial.try_units(budget, unit_size)
        trial = trial.with_at_most(min(units, key=units.__getitem__))
    rows_only = purpose != "distributions"
    tried, avoid = _tried(trial, accepted, budget, known, rows_only=rows_only, pure=pure)
    if all(math.isinf(choice.error) for choice in tried):
        # The invented people have nothing of the kind that a release could lose.
        trial = replace(trial, measure=_FEWER[0])
        tried, avoid = _tried(trial, accepted, budget, known, rows_only=rows_only, pure=pure)
    best = _best(tried)
    others = [choice for choice in tried if choice is not best]
    if best.status != Status.PROVED:  # somebody accepted less: what a proof would cost stands beside it
        others = [choice for choice in others if choice.status == Status.PROVED] or others
    runner_up = min(others, key=_rank, default=None)
    strengths = trial.strengths(best, sorted({*map(parse_epsilon, beside), budget}) if beside else ())
    notes = _notes(trial, best, tried, strengths, unit_size, PURPOSES[purpose][1])
    return Recommendation(
        purpose=purpose,
        measure=trial.measure,
        epsilon=brief(budget),
        records=known,
        invented=trial.records,
        best=best,
        runner_up=runner_up,
        strengths=strengths,
        at_most=None if trial.schema.unit is None else trial.schema.unit.at_most,
        units=units,
        avoid=avoid,
        notes=notes,
        command=_command(data, schema, best, target, table, query),
        python=_python(best, target),
    )


def measure_of(purpose: str, schema: Schema) -> Measure:
    """The measure by which releases are ranked for a purpose."""
    width = len(trial_schema(schema).protected)
    if width == 1 or (purpose == "rows" and width == 2):
        return get_measure(_FEWER[width - 1])
    return get_measure(PURPOSES[purpose][0])


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


def _tried(
    trial: Trial, accepted: set[Status], epsilon: Fraction, records: int, *, rows_only: bool, pure: bool
) -> tuple[list[RecommendedRelease], dict[str, str]]:
    """All choices whose promise is proved for this very schema, or accepted by name; and why not the others."""
    tried: list[RecommendedRelease] = []
    avoid: dict[str, str] = {}
    weakened = ""
    for name, about in list_methods().items():
        method, known = get_method(name), Status(about["status"])
        if known is not Status.PROVED and known not in accepted:
            avoid[name] = f"{known.value}: {about['why']}"
            continue
        if rows_only and method.lists:
            avoid[name] = "gives sorted lists of single columns, not rows"
            continue
        k = None if method.fixed_k or method.public_k else max(method.minimum_k, math.isqrt(records))
        try:
            for delta in (None, _delta(records)) if method.whole_table is not None and not pure else (None,):
                guarantee = forecast(trial.described, method, epsilon, k, delta=delta)
                if guarantee.status is Status.PROVED and guarantee.model != DP:
                    if Status.NONE not in accepted:
                        avoid[name] = (
                            "no noise: k-anonymity does not limit what an attacker with knowledge can learn"
                        )
                        break
                elif guarantee.status is not Status.PROVED and guarantee.status not in accepted:
                    known = Status(about["status"])
                    avoid[name] = f"{guarantee.status.value}: {about['why']}"
                    if known is Status.PROVED:
                        weakened = avoid[name] = (
                            f"{guarantee.status.value} with this schema: {guarantee.label}"
                        )
                    break
                tried.append(trial.released(name, epsilon, delta, k, guarantee))
        except CoterieError as error:
            avoid[name] = f"does not fit this table: {error.problem}"
    if not tried:
        named = [attribute.name for attribute in trial.described.protected if attribute.from_data]
        if named:
            raise ParameterError(
                "No method keeps a proved promise with this schema: bounds or labels came from the data "
                f"({', '.join(named[:6])}{' …' if len(named) > 6 else ''}).",
                "Declare them from public knowledge, or say why they are public (`public_because`): see "
                "docs/how-to/describe-a-table.md.",
            )
        raise ParameterError(
            f"No method with an accepted promise fits this table. {weakened}".rstrip(),
            "See `coterie methods`, and --accept.",
        )
    return tried, avoid


def _delta(records: int) -> str:
    """Public, and far below one over the number of records."""
    return as_text(Fraction(1, 10 ** (len(str(records)) + 2)))


def _rank(choice: RecommendedRelease) -> float:
    """The error for the purpose plus that of the distributions, which must be right whatever the rows are for."""
    return choice.error + choice.accuracy.one_way


def _best(tried: Sequence[RecommendedRelease]) -> RecommendedRelease:
    """The least error among pure promises. One with a δ is weaker: it must gain a word, or a fifth of the error."""
    pure = min([choice for choice in tried if choice.delta is None] or tried, key=_rank)
    weaker = min(tried, key=_rank)
    saves = weaker.words != pure.words or weaker.error <= _SAVED * pure.error
    return weaker if weaker.delta is not None and saves else pure


def _notes(
    trial: Trial,
    best: RecommendedRelease,
    tried: Sequence[RecommendedRelease],
    strengths: Sequence[PromiseStrength],
    unit_size: float | None,
    meaning: str,
) -> tuple[str, ...]:
    some, columns = trial.columns
    which = (
        "your columns"
        if some == columns
        else f"{some} of your {columns} columns, at their part of the budget"
    )
    notes = [
        f"Tried on {trial.records:,} invented people with {which}, for {meaning}: no value of your table was read. "
        "A real table may be easier or harder; measure it with `coterie evaluate`."
    ]
    if best.delta is not None:
        pure = next(one for one in tried if (one.method, one.delta) == (best.method, None))
        notes.append(
            f"The limit may be exceeded with probability δ = {best.delta} over the noise. Without a δ (pure ε-DP) the error "
            f"would be {number(pure.error, 2)} instead of {number(best.error, 2)}: {pure.words}."
        )
    if not is_usable(best.words, trial.measure):
        enough = next((one for one in strengths if is_usable(one.words, trial.measure)), None)
        more = "" if enough is None else f"use ε = {enough.epsilon} if a weaker promise will do, or "
        notes.append(
            f"Even the best release loses what you want it for: {more}protect fewer columns, or publish statistics instead "
            "(`coterie stats`)."
        )
    kept = trial.described.with_role(Role.KEEP)
    if kept:
        names = enumerated([attribute.name for attribute in kept])
        notes.append(f"No promise covers {names}: kept as it is. Protect it, or leave it out.")
        if linking := linking_columns(trial.described, trial.records):
            notes.append(
                f"Equal values of {enumerated(linking)} probably mark the rows of one household or person: as far as the "
                "schema says, few rows share one. Protect or drop such a column, or declare its few labels."
            )
    unit = trial.schema.unit
    if unit is None:
        notes.append(
            "Every row counts as one person. If people or households have several rows, declare `unit:` first."
        )
    elif unit_size is None:
        notes.append(
            f"at_most = {unit.at_most}, as your schema says. Noise grows with it, so the typical number of rows per "
            f"{unit.word} is better than the largest: say the average, from public knowledge, with --unit-size."
        )
    else:
        notes.append(
            f"Of each {unit.word} at most {unit.at_most} rows are used, by a keyed choice. at_most was chosen for an "
            f"average of {number(unit_size)}, not from your table."
        )
    return tuple(notes)


def is_usable(words: str, measure: str) -> bool:
    """Whether a release in such words is still good for what the measure looks at: the two best words."""
    return words in [word for _, word in get_measure(measure).words[:2]]


def _command(
    data: Any, schema: Any, best: RecommendedRelease, target: str | None, table: str | None, query: str | None
) -> str:
    words = ["coterie", "protect", str(data) if isinstance(data, str | Path) else "data.csv"]
    words += ["--schema", str(schema) if isinstance(schema, str | Path) else "schema.yaml"]
    words += ["--method", best.method]
    for name, value in {**_options(best, target), "table": table, "query": query}.items():
        words += [] if value is None else [f"--{name}", str(value)]
    return shlex.join([*words, "--output", "out.csv"])


def _python(best: RecommendedRelease, target: str | None) -> str:
    told = "".join(
        f", {name}={value if name == 'k' else repr(value).replace(chr(39), chr(34))}"
        for name, value in _options(best, target).items()
        if value is not None
    )
    return f'coterie.publish(table, schema, "out.csv", method="{best.method}"{told})'


def _options(best: RecommendedRelease, target: str | None) -> dict[str, str | int | None]:
    """What the method is to be called with."""
    method = get_method(best.method)
    return {
        "epsilon": best.epsilon if method.adds_noise else None,
        "delta": best.delta,
        "k": best.k,
        "target": target if method.whole_table is not None else None,
    }
