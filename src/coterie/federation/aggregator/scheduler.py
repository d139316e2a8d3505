"""Advances studies: from the answers to the collection, from the last delivery to the release, or to an end.

Called again and again; each call looks at the whole state and does what is due, so a crash loses nothing."""

from __future__ import annotations

import logging
import shutil
from datetime import timedelta

from sqlalchemy.exc import OperationalError

from coterie.federation.aggregator.assembly import assemble, disagreement, shuffle_key, wrong_content
from coterie.federation.aggregator.home import Aggregator
from coterie.federation.documents.states import LEFT, ContributionState, StudyState, is_final
from coterie.federation.documents.wire import moment, now
from coterie.federation.errors import Conflict
from coterie.federation.secrets.keys import NO_ROOM
from coterie.federation.storage import studies

_C, _S = ContributionState, StudyState
_DOING = {_S.PUBLISHED: "comparing the answers", _S.COLLECTING: "looking at what was delivered"}
_TRIES = 5
_KEYS_WITHIN = timedelta(hours=1)  # after all have delivered, if the deadline is nearer
_FIRST_PAUSE_SECONDS = 2.0
_MOVING = frozenset({_S.PUBLISHED, _S.COLLECTING, _S.ASSEMBLING})
log = logging.getLogger("coterie.aggregator")


def advance_studies(aggregator: Aggregator) -> int:
    """One round over all studies; how many were moved."""
    with aggregator.database.reading() as connection:
        rows = studies.all_studies(connection, _MOVING)
    moved = sum(_advance(aggregator, row.id) for row in rows if not _rests(row))
    _forget(aggregator)
    return moved


def _forget(aggregator: Aggregator) -> None:
    """When a study has ended nobody needs its parts any more, least of all with their pseudonyms."""
    for folder in (aggregator.folder / "chunks").iterdir():
        with aggregator.database.reading() as connection:
            row = studies.study_row(connection, folder.name)
        if row is None or is_final(row.state):
            shutil.rmtree(folder, ignore_errors=True)
    with aggregator.database.reading() as connection:
        left = studies.secrets_of_ended(connection)
    if left:
        with aggregator.database.writing() as connection:
            studies.forget_secrets_of_ended(connection)
        aggregator.database.holds_erased = True
    aggregator.database.scrub()


def _advance(aggregator: Aggregator, study: str) -> bool:
    with aggregator.database.reading() as connection:
        row = studies.known_study(connection, study)
        parts = studies.contributions_of(connection, study)
    try:
        if row.state is _S.PUBLISHED:
            moved = _answers(aggregator, row, parts)
        elif row.state is _S.COLLECTING:
            moved = _collect(aggregator, row, parts)
        else:
            assemble(aggregator, row, parts)
            moved = True
    except Conflict:
        return True  # an owner changed it meanwhile: look again
    except (OSError, OperationalError) as error:
        # A full disk or a database that is away: the world outside, which may mend by itself at any time.
        full = isinstance(error, OSError) and error.errno in NO_ROOM
        cause = "the disk is full" if full else "input/output error"
        aggregator.complaints.say(f"study {study[:12]} waits: {cause}")
        return False
    except Exception as error:
        # One study that cannot be moved must not stop the others.
        _trouble(aggregator, study, type(error).__name__)
        return False
    if moved:
        with aggregator.database.reading() as connection:
            after = studies.known_study(connection, study)
        if after.state is row.state:
            return True  # a contribution was looked at; the study is where it was
        aggregator.database.holds_erased |= is_final(after.state)
        told = {"event": "study", "study": study, "state": after.state.value}
        log.info("study %s is %s", study[:12], after.state, extra=told)
    return moved


def _rests(row: studies.StudyRow) -> bool:
    """Paused after a fault, longer each time; after the last attempt, until an administrator retries it."""
    pause = timedelta(seconds=_FIRST_PAUSE_SECONDS * 2 ** (row.faults - 1))
    return row.attention is not None or (row.faults > 0 and now() < moment(row.changed) + pause)


def _trouble(aggregator: Aggregator, study: str, kind: str) -> None:
    """Into log and diary by the kind of error only: a message might hold a value."""
    with aggregator.database.writing() as connection:
        row = studies.known_study(connection, study)
        doing, attempt = _DOING.get(row.state, "assembling"), row.faults + 1
        told = {"event": "fault", "study": study, "state": row.state.value}
        text = "study %s: fault %d of %d while %s (%s)"
        log.error(text, study[:12], attempt, _TRIES, doing, kind, extra=told)
        sentence = (
            f"the aggregator failed {_TRIES} times while {doing} ({kind}). Nothing is lost or charged again. "
            "Its administrator looks at the log, mends the cause, then runs `coterie aggregator study retry`"
        )
        studies.note_fault(connection, row, kind, sentence if attempt >= _TRIES else None)


def _answers(aggregator: Aggregator, row: studies.StudyRow, parts: list[studies.Contribution]) -> bool:
    """Steps 1–3: enough owners approve, and their attributes fit together."""
    study = row.study
    approved = [part for part in parts if part.state is _C.APPROVED]
    reason = disagreement(study, {part.name: part.opened_answer(study) for part in approved})
    reason = reason or _too_few(row, parts)
    if reason:
        return _move(aggregator, row, _S.FAILED, reason=reason)
    if len(approved) >= study.minimum and (study.lead is None or row.group_key):
        return _move(aggregator, row, _S.COLLECTING)
    if now() > study.due:
        return _move(aggregator, row, _S.EXPIRED, reason="not enough owners had answered at the deadline")
    return False


def _collect(aggregator: Aggregator, row: studies.StudyRow, parts: list[studies.Contribution]) -> bool:
    """Steps 4–6 are the owners'. Look at what they delivered, and see whether that was all."""
    study = row.study
    for part in parts:
        if part.state is _C.DELIVERED and (part.part_key is not None or not study.sealed):
            done, wrong = wrong_content(aggregator, study, part)
            if not done:
                return True  # the next of its chunks when the other studies have had their turn
            return _judge(aggregator, part, wrong)
    for part in parts:
        # Somebody who approves after the others have begun must not make their work void.
        if part.state is _C.APPROVED:
            late = disagreement(study, {part.name: part.opened_answer(study)})
            if late:
                return _judge(aggregator, part, late)
    if row.opening is not None:
        return _open(aggregator, row, parts)
    arrived = _C.DELIVERED if study.sealed else _C.ACCEPTED
    accepted = sum(part.state is arrived for part in parts)
    settled = accepted + sum(part.state in LEFT for part in parts)
    too_few = _too_few(row, parts)
    overdue = now() > study.due
    goes_on = overdue and study.at_deadline == "go on with the minimum" and accepted >= study.minimum
    if too_few:
        return _move(aggregator, row, _S.FAILED, reason=too_few)
    # A suspended owner could not give its key, and the others would open theirs for nothing.
    away = [part for part in parts if part.state is _C.DELIVERED and part.suspended]
    if study.sealed and away and not overdue:
        return False
    if study.sealed and away:
        return _judge(aggregator, away[0], "its owner is suspended")
    if study.sealed and (settled == len(parts) or goes_on):
        with aggregator.database.writing() as connection:
            studies.begin_opening(connection, row)
        return True
    if settled == len(parts) or goes_on:
        return _move(aggregator, row, _S.ASSEMBLING, shuffle_key=shuffle_key(aggregator, row, parts))
    if overdue:
        return _move(aggregator, row, _S.EXPIRED, reason="not every owner had delivered at the deadline")
    return False


def _open(aggregator: Aggregator, row: studies.StudyRow, parts: list[studies.Contribution]) -> bool:
    """All have delivered. Each gives the key of its part; who does not is left out, and named."""
    assert row.opening is not None
    waiting = [part for part in parts if part.state is _C.DELIVERED]
    # Who has not delivered by now is out: the others may open theirs because enough of them were there.
    there = sum(part.state in (_C.DELIVERED, _C.ACCEPTED) for part in parts)
    if there < row.study.minimum:
        gone = ", ".join(part.name for part in parts if part.state not in (_C.DELIVERED, _C.ACCEPTED))
        return _move(
            aggregator, row, _S.FAILED, reason=f"fewer owners than the minimum are left: without {gone}"
        )
    if not waiting:
        return _move(aggregator, row, _S.ASSEMBLING, shuffle_key=shuffle_key(aggregator, row, parts))
    late = now() > max(row.study.due, moment(row.opening) + _KEYS_WITHIN)
    silent = [part for part in waiting if part.part_key is None and (late or part.left)]
    for part in silent:
        _judge(aggregator, part, "it gave no key for its part")
    return bool(silent)


def _judge(aggregator: Aggregator, part: studies.Contribution, wrong: str | None) -> bool:
    """Rejected for this reason, or accepted."""
    with aggregator.database.writing() as connection:
        studies.move_contribution(connection, part, _C.REJECTED if wrong else _C.ACCEPTED, reason=wrong)
    return True


def _move(aggregator: Aggregator, row: studies.StudyRow, state: StudyState, **values: str) -> bool:
    with aggregator.database.writing() as connection:
        studies.move_study(connection, row, state, **values)
    return True


def _too_few(row: studies.StudyRow, parts: list[studies.Contribution]) -> str | None:
    gone = [part.name for part in parts if part.state in LEFT]
    if row.study.lead in gone and row.group_key is None:
        return "the lead owner left before it made the group key"
    if len(parts) - len(gone) < row.study.minimum:
        return f"fewer owners than the minimum are left: {', '.join(gone)} refused, withdrew or were rejected"
    return None
