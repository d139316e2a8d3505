"""audit(): one released table beside its original."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from coterie.auditing.attacks import Attack, Clock, Subject
from coterie.auditing.attacks._ties import commonest_tie, order_from_ties
from coterie.auditing.attacks.evidence import (
    NO_ORDER,
    ReleaseEvidence,
    Side,
    hidden_order,
    read_people,
    read_release,
    side_by_side,
)
from coterie.auditing.attacks.finding import FEWEST_TRIALS
from coterie.auditing.audit import NO_CONTROL, Audit, Outcomes, QuotedPromise, chosen, run_attacks
from coterie.auditing.relation import DROWNED, OUT_OF_ORDER, UNRELATED, refuse_overlap, relation
from coterie.engines.in_memory import repeated
from coterie.errors import CertificateError, CoterieError, DataError, ParameterError
from coterie.evaluation.row_order import row_order
from coterie.methods import all_methods
from coterie.methods.grouping import INDIVIDUAL_RANKING
from coterie.methods.recipe import Method
from coterie.promise.certificate import Certificate
from coterie.promise.signing import released_digest
from coterie.publication.release import Release
from coterie.publication.severe_audit import digest_of_file
from coterie.schema.arrays import Whole
from coterie.schema.attributes import Schema
from coterie.schema.document import as_schema
from coterie.table.frames import to_arrow
from coterie.table.reading import as_table
from coterie.table.units import unit_labels

SHUFFLED = (
    "The certificate says that rows were shuffled, and ties do not give their order away. Linkage cannot be scored "
    "unless you give the order (--order, such as the file of internal figures)."
)
MADE_AGAIN = (
    "The rows are shuffled, and nothing tells their order. So linkage was tried on a second release, made for this audit by "
    "the same method with the same ε and k, whose order is known. Give the order (--order) to try it on the release itself."
)
NOBODY = "the rows are synthetic, and stand for nobody"
SYNTHETIC = "The rows are synthetic: no row stands for a person, so there is nothing to link."
RECOVERED = (
    "The rows are shuffled, and the auditor put them back into order from shared values alone, knowing nobody's row: all "
    "groups of all attributes fit. An attacker who holds the original table can do the same."
)


def audit(
    original: Any,
    released: Any,
    schema: Schema | str | Path | Mapping[str, Any],
    *,
    control: Any = None,
    known: float = 0.04,
    order: Sequence[int] | str | Path | None = None,
    certificate: Certificate | str | Path | None = None,
    k: int | None = None,
    seconds: float | None = None,
    seed: int = 1,
    attacks: Iterable[str | Attack] | None = None,
    table: str | None = None,
    query: str | None = None,
    released_table: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Audit:
    """Attack a release, and say what an attacker still gets from it.

    Parameters
    ----------
    original : frame, str or Path
        The table before protection: a frame, a file or the address of a database.
    released : Release, frame, str or Path
        The released table.
    schema : Schema, str, Path or dict
        The schema of the original.
    control : frame, str or Path, optional
        People of the same population who are not in the release. Without them, what the release says about its own
        people cannot be told from what anybody could infer about such people: some attacks then give no verdict.
    known : float, default 0.04
        The share of people whose released row the attacker knows already.
    order : sequence of int, str or Path, optional
        For shuffled rows: the original row's number, from 0, for each released row; or a file that holds them. The
        attackers never see it.
    certificate : Certificate, str or Path, optional
        What was promised. Default: that of the release, or the file RELEASED.certificate.json if it exists.
    k : int, optional
        Records per group, where no certificate says so.
    seconds : float, optional
        A time budget. What is not run within it is named.
    seed : int, default 1
        For the attackers' samples: the same seed gives the same audit.
    attacks : iterable of str or Attack, optional
        Run only these, by name or of your own. Default: all.
    table, query : str, optional
        The table (or sheet) to read, or a query, where `original` is a database (or a workbook).
    released_table : str, optional
        The released table, where `released` is a database.
    progress : callable, optional
        Called with the title of each attack before it runs.

    Returns
    -------
    Audit
        `findings`, `verdict` and `level`. Computed from the original data: do not publish it.

    Raises
    ------
    CertificateError
        Where the certificate is that of other bytes than `released` has.
    DataError
        Where the two tables do not belong together.

    See Also
    --------
    audit_method : attack a method, by what many runs of it give away.
    write_report : the page, the figure and the JSON of an audit.

    Examples
    --------
    >>> import coterie
    >>> people, schema = coterie.demo_population(people=400), coterie.demo_schema()
    >>> release = coterie.protect(people, schema, method="ir", k=5)
    >>> found = coterie.audit(people, release, schema, attacks=["tie-linkage"])
    >>> found.level.value
    'severe risk'
    """
    schema = as_schema(schema)
    own = released.certificate if isinstance(released, Release) else None
    method = None if own is None else all_methods().get(own.method)
    synthetic = method is not None and method.synthetic
    if own is not None and own.release.shuffled and not synthetic and order is None:
        order = released.internal.row_order
    found = audit_release(
        as_table(original, schema, table=table, query=query),
        released.table if own is not None else as_table(released, schema.of_release, table=released_table),
        schema,
        control=None if control is None else as_table(control, schema),
        known=known,
        order=None if order is None else row_order(order),
        in_order=own is not None and not own.release.shuffled and not synthetic,
        method=method,
        certificate=_certificate(released, released_table, certificate) if own is None else None,
        k=own.k if k is None and own is not None else k,
        seconds=seconds,
        seed=seed,
        attacks=attacks,
        progress=progress,
    )
    found = replace(found, source_digest=digest_of_file(original))
    return found if own is None else replace(found, promised=QuotedPromise.of(own.method, own.guarantee))


def _certificate(
    released: Any, table: str | None, given: Certificate | str | Path | None
) -> Certificate | None:
    """Only the certificate of these very bytes says anything about them."""
    if isinstance(given, Certificate):
        return given
    if given is None and not isinstance(released, str | Path):
        return None
    path = Path(f"{released}.certificate.json") if given is None else Path(given)
    if given is None and not path.is_file():
        return None
    certificate = Certificate.read(path)
    digest = certificate.release.digest.value
    if (
        isinstance(released, str | Path)
        and released_digest(str(released), table, certificate.release.digest) != digest
    ):
        raise CertificateError(
            f"The release and {path} do not belong together: the digests differ.",
            "Give the certificate of this release with --certificate, or move that file away.",
        )
    return certificate


def audit_release(
    original: Any,
    released: Any,
    schema: Schema,
    *,
    control: Any = None,
    known: float = 0.04,
    order: Sequence[int] | None = None,
    in_order: bool = False,
    method: Method | None = None,
    certificate: Certificate | None = None,
    k: int | None = None,
    seconds: float | None = None,
    seed: int = 1,
    attacks: Iterable[str | Attack] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Audit:
    """Attack a release. `control` holds people who are not in it.

    Row i is taken for person i where it looks so, or where it is certain: `in_order`, or a certificate without shuffling.
    Rows of a `method` that makes synthetic ones stand for nobody, unless they look as if they did.
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
    if method is None and certificate is not None:  # None too if it was withdrawn, or is not installed here
        method = all_methods().get(certificate.method)
    synthetic = method is not None and method.synthetic
    kept = certificate is not None and not certificate.release.shuffled and not synthetic
    certain = order is not None or in_order or kept
    truth, notes = _truth(people, rows, order, certificate)
    related = relation(attributes, truth, draws)
    if synthetic and not certain and not related.in_order:
        truth, notes = None, [SYNTHETIC]
    elif not certain and not related.in_order:
        truth = order_from_ties(attributes, found_k or commonest_tie(attributes))
        notes = [RECOVERED] if truth is not None else notes or [OUT_OF_ORDER if related.found else UNRELATED]
        related = relation(attributes, truth, draws)
    elif not related.found:
        notes.append(DROWNED)
    if certificate is not None and certificate.signature is None:
        notes.append("The certificate is not signed: its promise is quoted here, not checked.")
    notes += _sizes(people, others)
    published = truth
    if truth is not None:
        attributes, truth = hidden_order(attributes, truth, draws)
    units = _units(table, schema, people)
    outside = None if strangers is None or others is None else _units(strangers, schema, others)
    if schema.unit is not None:
        notes.append(
            _counted(schema.unit.word, units is not None and (others is None or outside is not None))
        )
    grouping = INDIVIDUAL_RANKING if method is None else method.grouping
    evidence = ReleaseEvidence(
        attributes, truth, known, found_k, seed, clock, units, published, outside, people.columns, grouping
    )
    wanted = [
        attack
        for attack in chosen(Subject.RELEASE, attacks)
        if attacks is not None or schema.unit is not None or not attack.needs_unit
    ]
    outcomes = run_attacks(wanted, evidence, clock, progress)
    unscored = {one.attack for one in outcomes.not_run if one.reason == NO_ORDER}
    again = _made_again(table, people, others, schema, evidence, certificate) if unscored else None
    if again is not None:
        linkage = run_attacks([one for one in wanted if one.name in unscored], again, clock, progress)
        rest = tuple(one for one in outcomes.not_run if one.attack not in unscored)
        outcomes = Outcomes(
            (*outcomes.findings, *linkage.findings),
            (*rest, *linkage.not_run),
            outcomes.complete and linkage.complete,
        )
        notes = [MADE_AGAIN if note == SHUFFLED else note for note in notes]
    if SYNTHETIC in notes:
        not_run = (replace(n, reason=NOBODY) if n.reason == NO_ORDER else n for n in outcomes.not_run)
        outcomes = replace(outcomes, not_run=tuple(not_run))
    return Audit(
        subject="release",
        people=people.records,
        rows=rows.records,
        control=0 if others is None else others.records,
        known=known,
        promised=None if certificate is None else QuotedPromise.of(certificate.method, certificate.guarantee),
        findings=outcomes.findings,
        not_run=outcomes.not_run,
        notes=tuple(notes),
        seconds=time.perf_counter() - start,
        complete=outcomes.complete,
        related=related.found or certain or synthetic or again is not None,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        release_digest=None if certificate is None else certificate.release.digest.value,
    )


def _made_again(
    table: pa.Table,
    people: Side,
    others: Side | None,
    schema: Schema,
    evidence: ReleaseEvidence,
    certificate: Certificate | None,
) -> ReleaseEvidence | None:
    """A release of the same people by the same method whose order is known, where that of the one to audit is not.

    How well rows can be linked is a fact about the method; a release whose order was thrown away hides it from the auditor
    only.
    """
    method = None if certificate is None else all_methods().get(certificate.method)
    if certificate is None or not certificate.release.shuffled or method is None or schema.unit is not None:
        return None
    try:
        rows = repeated(table, schema, method=method, epsilon=certificate.epsilon or 1, k=certificate.k)
        attributes = side_by_side(people, read_release(rows(evidence.seed), schema), others, schema)
    except CoterieError:  # a method or a schema that cannot be run here
        return None
    place = np.arange(people.records, dtype=np.int64)
    attributes, truth = hidden_order(attributes, place, evidence.draws("a second release"))
    return replace(evidence, attributes=attributes, truth=truth, published=place)


def _units(table: pa.Table, schema: Schema, people: Side) -> Whole | None:
    """The unit of every person, where the table tells and no row was dropped."""
    unit = schema.unit
    if unit is None or unit.column not in table.column_names or people.records != table.num_rows:
        return None
    return unit_labels(table, schema)[1]


def _counted(unit: str, whole: bool) -> str:
    if whole:
        return f"Attacks count whole units: one person per {unit} is tried."
    return (
        f"Attacks count rows, because a table does not tell which row belongs to which {unit}. The rows of one {unit} are "
        "alike, so intervals are somewhat too narrow."
    )


def _truth(
    people: Side, rows: Side, order: Sequence[int] | None, certificate: Certificate | None
) -> tuple[Whole | None, list[str]]:
    """For each person the row that is theirs."""
    if order is not None:
        given = np.asarray(order, dtype=np.int64)
        if len(given) != rows.records or not np.array_equal(np.sort(given), np.arange(people.records)):
            raise DataError(
                "The order of rows does not fit: it must name every original row once, counted from 0.",
                "Give a different number for each released row: the place of its original, the first being 0.",
            )
        return np.argsort(given), []
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
        notes.append(NO_CONTROL)
    return notes


def positive(seconds: float | None) -> float | None:
    if seconds is not None and not seconds > 0:
        raise ParameterError("The time budget is not positive.", "Give seconds, for example 120.")
    return seconds
