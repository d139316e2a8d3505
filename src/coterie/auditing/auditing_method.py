"""audit_method(): a method with its parameters, tried on a population again and again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from coterie.auditing.attacks import Attack, Clock, Subject
from coterie.auditing.attacks.evidence import MethodEvidence, units_of
from coterie.auditing.audit import Audit, QuotedPromise, chosen, run_attacks
from coterie.auditing.auditing_release import audit_release, positive
from coterie.chain.noise.secure import SecureSampler
from coterie.engines.in_memory import repeated
from coterie.errors import DataError, ParameterError
from coterie.methods import get_method
from coterie.methods.guarantee import Guarantee, settle
from coterie.methods.recipe import Method
from coterie.promise.terms import facts_of  # one place decides what a promise rests on
from coterie.publication.protect import protect
from coterie.publication.severe_audit import digest_of_file
from coterie.schema.attributes import Missing, Schema
from coterie.schema.document import as_schema
from coterie.schema.exact import Number, as_text, parse_epsilon
from coterie.table.checked import recoded_table
from coterie.table.demo_population import demo_population, demo_schema
from coterie.table.reading import as_table

CONTROL_SHARE = 0.2


def audit_method(
    method: str | Method,
    *,
    epsilon: Number,
    k: int | None = None,
    population: Any = None,
    schema: Schema | str | Path | Mapping[str, Any] | None = None,
    shuffle: bool = False,
    known: float = 0.04,
    runs: int = 1000,
    neighbours: tuple[Any, Any] | None = None,
    seconds: float | None = None,
    seed: int = 1,
    attacks: Iterable[str | Attack] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Audit:
    """Attack a method: its release of a population, and what many runs of it give away.

    A fifth of the population is held back as the control group of the attacks on one release.

    Parameters
    ----------
    method : str or Method
        A method's name (`list_methods()`), or a method of your own.
    epsilon : int, str, float or Fraction
        The total privacy budget.
    k : int, optional
        Records per group.
    population : frame, str or Path, optional
        A table to try it on, with its `schema`. Default: the demo population.
    schema : Schema, str, Path or dict, optional
        The schema of `population`.
    shuffle : bool, default False
        Whether rows are released in random order.
    known : float, default 0.04
        The share of people whose released row the attacker knows already.
    runs : int, default 1000
        Runs on each neighbour for the empirical ε.
    neighbours : pair of frames, str or Path, optional
        Two tables that differ in one record, for the empirical ε.
    seconds, seed, attacks, progress
        As for `audit`.

    Returns
    -------
    Audit

    Raises
    ------
    ParameterError
        For an unknown method or attack, or an impossible choice of k or runs.

    Examples
    --------
    >>> import coterie
    >>> found = coterie.audit_method("laplace", epsilon=1, attacks=["tie-linkage"])
    >>> found.subject
    'method laplace, ε = 1'
    """
    start = time.perf_counter()
    clock = Clock(positive(seconds))
    if (population is None) != (schema is None):
        raise ParameterError("A population and its schema belong together.", "Give both, or neither.")
    if runs < 100:
        raise ParameterError("Fewer than 100 runs show nothing about ε.", "Give runs of at least 100.")
    described = demo_schema() if schema is None else as_schema(schema)
    table = demo_population() if population is None else as_table(population, described)
    pair = None
    if neighbours is not None:
        pair = tuple(recoded_table(as_table(one, described), described) for one in neighbours)
    # Attackers know how cells are recoded, and make tables of recoded ones.
    table, described = recoded_table(table, described), _any_gaps(described.of_release)
    shuffle = shuffle or described.unit is not None  # as `protect` does
    if table.num_rows < 10:
        raise DataError("The population has fewer than ten people.", "Give a larger table.")
    wanted = list(attacks) if attacks is not None else None
    total = parse_epsilon(epsilon)

    def releases(part: pa.Table) -> Callable[[int], pa.Table]:
        return repeated(part, described, method=method, epsilon=total, k=k, shuffle=shuffle)

    guarantee = _guarantee(method, described, total, table.num_rows, k, shuffle)
    evidence = MethodEvidence(
        method=method,
        epsilon=as_text(total),
        k=k,
        population=table,
        schema=described,
        releases=releases,
        shuffled=shuffle,
        seed=seed,
        clock=clock,
        neighbours=pair,
        runs=runs,
        known=known,
        guarantee=guarantee,
    )
    tried = run_attacks(chosen(Subject.METHOD, wanted), evidence, clock, progress)
    inside, held_back = hold_back(table, seed, described)
    # In row order: the auditor shuffles rows itself, and knows whose row is whose.
    once = audit_release(
        inside,
        protect(inside, described, method=method, epsilon=total, k=k, seed=seed).table,
        described,
        control=held_back,
        in_order=not get_method(method).synthetic,
        method=get_method(method),
        known=known,
        k=get_method(method).fixed_k or k,
        seconds=None if seconds is None else max(seconds - (time.perf_counter() - start), 1e-3),
        seed=seed,
        attacks=wanted,
        progress=progress,
    )
    return replace(
        once,
        subject=f"method {get_method(method).name}, ε = {as_text(total)}" + (f", k = {k}" if k else ""),
        promised=QuotedPromise.of(get_method(method).name, guarantee),
        findings=(*once.findings, *tried.findings),
        not_run=(*once.not_run, *tried.not_run),
        seconds=time.perf_counter() - start,
        complete=once.complete and tried.complete,
        source_digest=digest_of_file(population),
    )


def hold_back(table: pa.Table, seed: int, schema: Schema) -> tuple[pa.Table, pa.Table]:
    """Four fifths to release, and a fifth as control group, each in the order of the table; units stay together."""
    of_row = units_of(table, schema)
    mixed = np.random.default_rng(seed).permutation(int(of_row.max()) + 1)
    outside = np.isin(of_row, mixed[: max(round(CONTROL_SHARE * len(mixed)), 1)])
    return table.filter(pa.array(~outside)), table.filter(pa.array(outside))


def _guarantee(
    method: str | Method, schema: Schema, epsilon: Fraction, records: int, k: int | None, shuffled: bool
) -> Guarantee:
    """What a real release of this population would promise: private noise, the schema's bounds."""
    recipe = get_method(method)
    share = epsilon / len(schema.protected)
    size = recipe.check_k(k, records, share if recipe.splits_budget else epsilon)
    facts = facts_of(schema, recipe, epsilon, records, size, SecureSampler(), shuffled=shuffled)
    return settle(recipe.promise, facts)


def _any_gaps(schema: Schema) -> Schema:
    """Neighbours are rows of any kind: also such as miss a value where it would apply, which a release refuses."""
    attributes = tuple(
        a if a.not_applicable is None else a.model_copy(update={"missing": Missing.OWN_CATEGORY})
        for a in schema.attributes
    )
    return schema.model_copy(update={"attributes": attributes})
