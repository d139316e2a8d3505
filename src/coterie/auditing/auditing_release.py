"""audit_release(): one released table beside its original."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from coterie.attacks import Attack, Subject
from coterie.attacks.clock import Clock
from coterie.attacks.evidence import ReleaseEvidence, Rows
from coterie.attacks.intervals import FEWEST_TRIALS
from coterie.attacks.seen import Side, read_people, read_release, side_by_side
from coterie.auditing.audit import Audit, Promised
from coterie.auditing.overlap import refuse_overlap
from coterie.auditing.relation import relation
from coterie.auditing.running import chosen, run_attacks
from coterie.certificate import Certificate
from coterie.errors import DataError, ParameterError
from coterie.io.frames import to_arrow
from coterie.odds import odds_in_words
from coterie.schema import Schema

SYNTHETIC_OR_SHUFFLED = (
    "The certificate says that rows were shuffled and their order was not given: linkage is scored by nobody."
)


def audit_release(
    original: Any,
    released: Any,
    schema: Schema,
    *,
    control: Any = None,
    known: float = 0.04,
    order: Sequence[int] | None = None,
    certificate: Certificate | None = None,
    k: int | None = None,
    seconds: float | None = None,
    seed: int = 1,
    attacks: Iterable[str | Attack] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Audit:
    """Attack a release. Row i is person i unless `order[i]` names another original row (counted from 0, after the
    schema's policies dropped rows); attackers never see that order. `control` holds people who are not in the release.
    """
    start = time.perf_counter()
    if not 0 <= known < 1:
        raise ParameterError("The share of known people is not between 0 and 1.", "Give for example 0.04.")
    clock = Clock(positive(seconds))
    table, strangers = to_arrow(original)[0], None if control is None else to_arrow(control)[0]
    people = read_people(table, schema)
    rows = read_release(to_arrow(released)[0], schema)
    others = None if strangers is None else read_people(strangers, schema)
    attributes = side_by_side(people, rows, others, schema)
    if strangers is not None:
        refuse_overlap(attributes, table, strangers, schema)
    truth, notes = _truth(people, rows, order, certificate)
    draws = np.random.default_rng(seed)
    related = relation(attributes, truth, draws)
    notes += [related.words] if related.words else []
    notes += _sizes(people, others)
    if truth is not None:
        # Attackers get the rows in an order that tells them nothing.
        shuffled = draws.permutation(rows.records)
        attributes = tuple(replace(a, released=a.released[shuffled]) for a in attributes)
        place = np.empty(rows.records, dtype=np.int64)
        place[shuffled] = np.arange(rows.records)
        truth = place[truth]
    found_k = k if k is not None else certificate.k if certificate is not None else None
    evidence = ReleaseEvidence(attributes, truth, known, found_k, seed, clock)
    outcomes = run_attacks(chosen(Subject.RELEASE, attacks), evidence, clock, progress)
    return Audit(
        subject="release",
        people=people.records,
        rows=rows.records,
        control=0 if others is None else others.records,
        known=known,
        promised=None if certificate is None else _promised(certificate),
        findings=outcomes.findings,
        not_run=outcomes.not_run,
        notes=tuple(notes),
        seconds=time.perf_counter() - start,
        complete=outcomes.complete,
    )


def _truth(
    people: Side, rows: Side, order: Sequence[int] | None, certificate: Certificate | None
) -> tuple[Rows | None, list[str]]:
    """For each person the row that is theirs."""
    if order is not None:
        given = np.asarray(order, dtype=np.int64)
        if len(given) != rows.records or not np.array_equal(np.sort(given), np.arange(people.records)):
            raise DataError(
                "The order of rows does not fit: it must name every original row once, counted from 0.",
                f"Give {people.records} different numbers from 0 to {people.records - 1}, one for each released row.",
            )
        truth = np.empty(len(given), dtype=np.int64)
        truth[given] = np.arange(len(given))
        return truth, []
    if people.records != rows.records:
        note = f"The release has {rows.records} rows for {people.records} people: no row belongs to a person."
        return None, [note]
    if certificate is not None and certificate.release.shuffled:
        return None, [SYNTHETIC_OR_SHUFFLED]
    return np.arange(people.records, dtype=np.int64), []


def _sizes(people: Side, others: Side | None) -> list[str]:
    notes = []
    if people.records < FEWEST_TRIALS:
        notes.append(
            f"{people.records} people are too few for any interval: a rate seen on fewer than {FEWEST_TRIALS} cannot be "
            "told from chance."
        )
    if others is not None and others.records < FEWEST_TRIALS:
        notes.append(f"The control group of {others.records} is too small to compare with.")
    if others is None:
        notes.append(
            "No control group was given: what the release says about everybody alike cannot be told from what it says "
            "about its own people. Give people of the same population who are not in it."
        )
    return notes


def _promised(certificate: Certificate) -> Promised:
    promise = certificate.guarantee
    return Promised(certificate.method, promise.status, promise.label, odds_in_words(promise))


def positive(seconds: float | None) -> float | None:
    if seconds is not None and not seconds > 0:
        raise ParameterError("The time budget is not positive.", "Give seconds, for example 120.")
    return seconds
