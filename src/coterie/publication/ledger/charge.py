"""One release on its way: reserved, then ready, then released; given back if it never became ready."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from coterie.errors import CoterieError, LedgerError, ParameterError
from coterie.publication.ledger.book import Entry, ReleaseState
from coterie.publication.ledger.storage import Storage
from coterie.publication.staging import Staged, StagedRecord
from coterie.table.hidden_files import FileLock, make_durable, remove_any

# Is the process that reserved a release still alive? The kernel knows: it drops a lock with its holder.
#
# Safety never rests on the lock alone: each step also checks the state in the ledger, so a removed lock file can at worst
# cost a release its reservation, never publish an uncharged one. A lock file is removed when its release is in a final
# state: a process that still opens it reads that state and leaves the release alone.


def own(ledger: Path, release: str) -> FileLock | None:
    """The lock of a release, held for as long as it is under way; None while another process holds it."""
    try:
        return FileLock.take(ledger.parent / f".{ledger.name}.{release}.lock", make=0o666)
    except OSError as error:
        raise LedgerError(
            f"A lock file beside the ledger '{ledger}' cannot be opened ({error.strerror}).",
            "Give yourself write permission on the directory of the ledger.",
        ) from error


def sweep(ledger: Path, under_way: Container[str]) -> None:
    """Remove lock files that belong to no release under way. Call inside a ledger transaction: reservations
    take their lock inside one too, so no lock of a reservation that is just being written can be swept."""
    # Exactly 32 hex digits: a ledger 'a' must not sweep the locks of a ledger 'a.b'.
    ours = re.compile(re.escape(f".{ledger.name}.") + r"([0-9a-f]{32})\.lock")
    for path in ledger.parent.iterdir():
        match = ours.fullmatch(path.name)
        if match and match[1] not in under_way:
            path.unlink(missing_ok=True)


class Charge:
    """The right to publish one release: made by `Ledger.charge` or `Ledger.resume`, ended by their `with`"""

    def __init__(self, storage: Storage, lock: FileLock, release: str) -> None:
        self.release = release
        self._storage = storage
        self._lock = lock
        self._staged: Sequence[Staged] = ()

    def staging(self, *temporaries: Path | str) -> None:
        """Name temporary files before they are written, so that a killed process leaves none behind.

        A text is an address, which the ledger cannot reach: it is told to the steward.
        """
        with self._storage.transaction() as book:
            self._require(book.entry(self.release), ReleaseState.RESERVED)
            names = [name if isinstance(name, str) else str(name.absolute()) for name in temporaries]
            self._storage.append("staging", release=self.release, temporaries=names)

    def publish(self, staged: Sequence[Staged]) -> None:
        """Charge these bytes, make them visible in the given order, and say so in the ledger.

        Give the data last. A certificate without its data promises nothing and shows nothing; data without
        their certificate, or beside the certificate of an older release, could be taken for a valid one.
        """
        records = self.ready(staged)
        try:
            for part in staged:
                part.publish()
            for directory in {Path(record.target).parent for record in records if record.kind != "table"}:
                make_durable(directory)
            self.released()
        except (OSError, CoterieError) as error:
            again = f"`coterie ledger check {self._storage.path}`"
            if any(record.kind == "table" for record in records):
                again = "the same command again"  # a database or a storage that the ledger cannot reach
            raise LedgerError(
                f"Release {self.release} is charged, but could not be put in place completely ({error}).",
                f"Do not release again. Remove the obstacle, then run {again}: it finishes without a new charge.",
            ) from error

    def ready(self, staged: Sequence[Staged]) -> list[StagedRecord]:
        """The noise is drawn, these bytes are the release: from here on it is charged, whatever happens."""
        if not staged:
            raise ParameterError("A release without a file cannot be charged.", "Stage its parts first.")
        self._staged = staged
        # The permissions of a new file, read off the lock file: asking for the umask means setting it, for all threads.
        records = [StagedRecord.of(part, self._lock.mode & 0o666) for part in staged]
        with self._storage.transaction() as book:
            self._require(book.entry(self.release), ReleaseState.RESERVED)
            self._storage.append(
                "ready", release=self.release, staged=[record._asdict() for record in records]
            )
        return records

    def released(self) -> None:
        """Everything is in place."""
        self._end(ReleaseState.RELEASED)

    def lost(self) -> None:
        """The staged parts are gone. The charge stays, because they may have been seen."""
        self._end(ReleaseState.LOST)

    def settle(self) -> None:
        """Leave the release in a clean state; the ledger, not this object, says which one it reached.

        An interrupt may come just after a commit and before we learnt of it, so nothing remembered here is
        trusted.
        """
        state = ReleaseState.READY
        try:
            with suppress(LedgerError):  # a locked ledger: recovery will do the same later
                with self._storage.transaction() as book:
                    entry = book.find(self.release)
                    state = entry.state if entry else ReleaseState.ABANDONED  # the reservation itself failed
                    if entry and state in (ReleaseState.RESERVED, ReleaseState.ABANDONED):
                        # First the files, then the event: a kill in between is repeated by recovery.
                        for part in self._staged:
                            part.discard()
                        remove(entry.temporaries)
                    if entry and entry.held and state is ReleaseState.RESERVED:
                        return  # for the next attempt
                    if state is ReleaseState.RESERVED:
                        self._storage.append("abandoned", release=self.release)
                if state is ReleaseState.RESERVED:
                    state = ReleaseState.ABANDONED
        finally:
            self._lock.let_go(remove=state.final)

    def _end(self, state: ReleaseState) -> None:
        with self._storage.transaction() as book:
            entry = book.entry(self.release)
            if entry.state is not state:  # else finished by another process that took us for dead
                self._require(entry, ReleaseState.READY)
                self._storage.append(state, release=self.release)

    def _require(self, entry: Entry, state: ReleaseState) -> None:
        if entry.state is not state:
            raise LedgerError(
                f"Release {self.release} is '{entry.state}' in the ledger, not '{state}'.",
                "Its lock file was removed while it ran, or it was finished elsewhere. Nothing more was "
                "published; see `coterie ledger show`.",
            )


def remove(temporaries: Sequence[str]) -> None:
    for name in temporaries:
        if "://" not in name:
            remove_any(Path(name))


# What a dead process left: give back what was only reserved, finish what was charged.
#
# Every step may be repeated: a kill during recovery is recovered the same way.


@dataclass(frozen=True)
class Recovered:
    """A release whose process had died, as it stands now, and what to tell the steward."""

    entry: Entry
    message: str


def recover(storage: Storage) -> tuple[Recovered, ...]:
    """Settle every release whose process is gone; those of living processes are left alone."""
    told: list[Recovered] = []
    for unfinished in storage.book().unfinished():
        if unfinished.held and unfinished.state is ReleaseState.RESERVED:
            continue
        lock = own(storage.path, unfinished.release)
        if lock is None:
            continue
        with lock:
            try:
                message = _settled(storage, Charge(storage, lock, unfinished.release))
            except OSError as error:
                message = f"was interrupted and cannot be settled yet: {error.strerror or error}."
        if message:
            entry = storage.book().entry(unfinished.release)
            told.append(
                Recovered(entry, f"Release {entry.release} of '{entry.purpose.population}' {message}")
            )
    with storage.transaction() as book:
        sweep(storage.path, {entry.release for entry in book.unfinished()})
    return tuple(told)


def _settled(storage: Storage, charge: Charge) -> str:
    """What to tell the steward, if anything."""
    entry = storage.book().entry(charge.release)  # its owner may have finished before we took the lock
    message = _finished(charge, entry) if entry.state is ReleaseState.READY else ""
    charge.settle()
    if entry.state is ReleaseState.RESERVED:
        message = "was interrupted before anything was published; its epsilon was given back." + "".join(
            f" Remove {name}, if it is there: it may hold parts of that release."
            for name in entry.temporaries
            if "://" in name
        )
    return message


def _finished(charge: Charge, entry: Entry) -> str:
    """Publish the parts in their order; stop at the first that cannot be, for the data come last."""
    for part in entry.staged:
        if part.kind == "table":
            return (
                f"is charged; what it staged as {part.temporary} still awaits its place as {part.target}. "
                "Run the same command again: it finishes the release without a new charge."
            )
        outcome = part.finish()
        if outcome == "elsewhere":
            return f"is charged; the directory of '{part.target}' is missing. Mount it, then try again."
        if outcome == "occupied":
            return f"is charged; '{part.target}' was written by someone else since. Move it, then try again."
        if outcome == "gone":
            remove([other.temporary for other in entry.staged if other.kind != "table"])
            charge.lost()
            return (
                f"stays charged, but '{part.target}' does not hold its bytes and the temporary file is gone."
            )
    charge.released()
    return (
        f"was interrupted after its charge; it is in place now ('{entry.staged[-1].target}'), charged once."
    )
