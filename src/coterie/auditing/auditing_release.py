"""audit_release(): one released table beside its original."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from coterie.auditing.attacks import Attack, Subject
from coterie.auditing.attacks._ties import commonest_tie, order_from_ties
from coterie.auditing.attacks.attack import Clock
from coterie.auditing.attacks.evidence import (
    ReleaseEvidence,
    Rows,
    Side,
    hidden_order,
    read_people,
    read_release,
    side_by_side,
)
from coterie.auditing.attacks.finding import FEWEST_TRIALS
from coterie.auditing.audit import Audit, Promised, chosen, run_attacks
from coterie.auditing.relation import DROWNED, OUT_OF_ORDER, UNRELATED, refuse_overlap, relation
from coterie.errors import DataError, ParameterError
from coterie.promise.certificate import Certificate
from coterie.promise.posterior import odds_in_words
from coterie.schema.attributes import Schema
from coterie.table.frames import to_arrow

SHUFFLED = (
    "The certificate says that rows were shuffled, and ties do not give their order away. Linkage cannot be scored "
    "unless you give the order (--order)."
)
RECOVERED = (
    "The rows are shuffled, and the auditor put them back into order from shared values alone, knowing nobody's row: all "
    "groups of all attributes fit. An attacker who holds the original table can do the same."
)


def audit_release(
    original: Any,
    released: Any,
    schema: Schema,
    *,
    control: Any = None,
    known: float = 0.04,
    order: Sequence[int] | None = None,
    in_order: bool = False,
    certificate: Certificate | None = None,
    k: int | None = None,
    seconds: float | None = None,
    seed: int = 1,
    attacks: Iterable[str | Attack] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Audit:
    """Attack a release. `control` holds people who are not in it.

    Row i is taken for person i where it looks so, or where it is certain: `in_order`, or a certificate without shuffling.
    Otherwise `order[i]` names the original row (from 0, after the schema's policies dropped rows). Attackers never see it.
    """
    start = time.perf_counter()
    if not 0 <= known < 1:
        raise ParameterError("The share of known people is not between 0 and 1.", "Give for example 0.04.")
    clock = Clock(positive(seconds))
    table = to_arrow(original, schema)[0]
    strangers = None if control is None else to_arrow(control, schema)[0]
    people = read_people(table, schema)
    rows = read_release(to_arrow(released, schema)[0], schema)
    others = None if strangers is None else read_people(strangers, schema)
    attributes = side_by_side(people, rows, others, schema)
    if strangers is not None:
        refuse_overlap(attributes, table, strangers, schema)
    draws = np.random.default_rng(seed)
    found_k = k if k is not None else certificate.k if certificate is not None else None
    certain = order is not None or in_order or (certificate is not None and not certificate.release.shuffled)
    truth, notes = _truth(people, rows, order, certificate)
    related = relation(attributes, truth, draws)
    if not certain and not related.in_order:
        truth = order_from_ties(attributes, found_k or commonest_tie(attributes))
        notes = [RECOVERED] if truth is not None else notes or [OUT_OF_ORDER if related.found else UNRELATED]
        related = relation(attributes, truth, draws)
    elif not related.found:
        notes.append(DROWNED)
    if certificate is not None and certificate.signature is None:
        notes.append("The certificate is not signed: its promise is quoted here, not checked.")
    notes += _sizes(people, others)
    if truth is not None:
        attributes, truth = hidden_order(attributes, truth, draws)
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
        related=related.found or certain,
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
                "Give a different number for each released row: the place of its original, the first being 0.",
            )
        truth = np.empty(len(given), dtype=np.int64)
        truth[given] = np.arange(len(given))
        return truth, []
    if people.records != rows.records:
        note = f"The release has {rows.records} rows for {people.records} people: no row belongs to a person."
        return None, [note]
    if certificate is not None and certificate.release.shuffled:
        return None, [SHUFFLED]
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
