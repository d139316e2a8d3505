"""What a dead process left: give back what was only reserved, finish what was charged.

Every step may be repeated: a kill during recovery is recovered the same way.
"""

from __future__ import annotations

from dataclasses import dataclass

from coterie.ledger.book import Entry, State
from coterie.ledger.charge import remove
from coterie.ledger.liveness import Lock, sweep
from coterie.ledger.staging import Outcome
from coterie.ledger.storage import Storage


@dataclass(frozen=True)
class Recovered:
    """A release whose process had died, as it stands now, and what to tell the steward."""

    entry: Entry
    message: str


def recover(storage: Storage) -> tuple[Recovered, ...]:
    """Settle every release whose process is gone; those of living processes are left alone."""
    told: list[Recovered] = []
    for unfinished in storage.book().unfinished():
        lock = Lock.take(storage.path, unfinished.release)
        if lock is None:
            continue
        final = False
        try:
            message = _settle(storage, unfinished.release)
            entry = storage.book().entries[unfinished.release]
            final = entry.state.final
        finally:
            lock.let_go(forget=final)
        if message:
            told.append(
                Recovered(entry, f"Release {entry.release} of '{entry.purpose.population}' {message}")
            )
    with storage.transaction() as book:
        sweep(storage.path, {entry.release for entry in book.unfinished()})
    return tuple(told)


def _settle(storage: Storage, release: str) -> str:
    try:
        with storage.transaction() as book:
            entry = book.entries[release]  # read again: its owner may have finished before we took the lock
            if entry.state is State.RESERVED:
                remove(entry.temporaries)
                storage.append("abandoned", release=release)
                far = [name for name in entry.temporaries if "://" in name]
                return "was interrupted before anything was published; its epsilon was given back." + "".join(
                    f" Remove {name}, if it is there: it may hold parts of that release." for name in far
                )
        return _finish(storage, entry) if entry.state is State.READY else ""
    except OSError as error:
        return f"was interrupted and cannot be settled yet: {error.strerror or error}."


def _finish(storage: Storage, entry: Entry) -> str:
    """Publish the parts in their order; stop at the first that cannot be, for the data come last."""
    for part in entry.staged:
        if part.kind == "table":
            return (
                f"is charged; what it staged as {part.temporary} still awaits its place as {part.target}. "
                "Run the same command again: it finishes the release without a new charge."
            )
        outcome = part.finish()
        if outcome is Outcome.ELSEWHERE:
            return f"is charged; the directory of '{part.target}' is missing. Mount it, then try again."
        if outcome is Outcome.OCCUPIED:
            return f"is charged; '{part.target}' was written by someone else since. Move it, then try again."
        if outcome is Outcome.GONE:
            remove([other.temporary for other in entry.staged if other.kind != "table"])
            _end(storage, entry, "lost")
            return (
                f"stays charged, but '{part.target}' does not hold its bytes and the temporary file is gone."
            )
    _end(storage, entry, "released")
    return (
        f"was interrupted after its charge; it is in place now ('{entry.staged[-1].target}'), charged once."
    )


def _end(storage: Storage, entry: Entry, event: str) -> None:
    with storage.transaction() as book:
        if book.entries[entry.release].state is State.READY:
            storage.append(event, release=entry.release)
