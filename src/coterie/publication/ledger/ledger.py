"""The public class: open a ledger, ask what is left, charge a release; and the journal, a ledger that counts no ε."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa

from coterie.errors import LedgerError, ParameterError, counted
from coterie.promise.loss import ROW, Loss, NeighbourRelation, epsilon_of
from coterie.publication.ledger.account import Balance, Terms, terms_event
from coterie.publication.ledger.book import (
    Book,
    Entry,
    Purpose,
    ReleaseState,
    loss_event,
    require_whole,
)
from coterie.publication.ledger.charge import Charge, Recovered, own, recover, remove
from coterie.publication.ledger.storage import Storage
from coterie.schema.exact import Number, parse_epsilon
from coterie.schema.frame_kind import to_kind
from coterie.table.address import without_credentials
from coterie.table.hidden_files import FileLock, put_file


class Ledger:
    """What populations have spent so far, and the refusal to spend more than their lifetime budgets.

    Attributes
    ----------
    recovered : tuple
        What earlier, interrupted releases came to when the ledger was opened.

    Examples
    --------
    >>> import coterie, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     account = coterie.Ledger.add_population(f"{folder}/ledger", "patients", 3)
    ...     with coterie.Ledger.open(f"{folder}/ledger") as ledger:
    ...         written = coterie.publish(
    ...             coterie.demo_population(people=100),
    ...             coterie.demo_schema(),
    ...             f"{folder}/out.csv",
    ...             method="laplace",
    ...             epsilon=1,
    ...             ledger=ledger,
    ...             population="patients",
    ...         )
    ...         ledger.balance("patients")
    <Balance of patients: ε 1 spent of 3>
    """

    def __init__(self, storage: Storage, recovered: tuple[Recovered, ...]) -> None:
        self._storage = storage
        self.recovered = recovered

    @classmethod
    def open(cls, path: str | PathLike[str]) -> Ledger:
        """Open a ledger for writing, after settling what dead processes left.

        Parameters
        ----------
        path : str or Path
            The ledger's file.

        Returns
        -------
        Ledger
            To be used with `with`, or closed.

        Raises
        ------
        LedgerError
            Where it is locked, damaged or no ledger.

        Examples
        --------
        >>> import coterie, tempfile
        >>> people = coterie.demo_population(people=100)
        >>> release = coterie.protect(people, coterie.demo_schema(), method="laplace", epsilon=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     book = f"{folder}/ledger.sqlite"
        ...     promised = coterie.Ledger.add_population(book, "people", 3)
        ...     done = release.write(f"{folder}/out.csv", ledger=book, population="people")
        ...     with coterie.Ledger.open(book) as ledger:
        ...         print(ledger.balance("people").remaining)
        2
        """
        storage = Storage.open(_resolved(path))
        try:
            storage.require_writable()
            recovered = recover(storage)
            storage.keep_snapshot()
            return cls(storage, recovered)
        except BaseException:
            storage.close()
            raise

    @property
    def path(self) -> Path:
        """The ledger's file."""
        return self._storage.path

    @staticmethod
    def inspect(path: str | PathLike[str]) -> Book:
        """What the ledger says, changing nothing."""
        with closing(Storage.open(_resolved(path))) as storage:
            return storage.book()

    @staticmethod
    def add_population(
        path: str | PathLike[str],
        population: str,
        lifetime: Number,
        *,
        delta: Number | None = None,
        relation: str = NeighbourRelation.REPLACE_ONE,
        unit: str = ROW,
        rows_per_unit: int = 1,
        individual_lifetime: Number | None = None,
        refuse_unproved: bool = False,
    ) -> Balance:
        """Promise a population that its releases never add up to more than `lifetime`.

        Makes the ledger if need be. The promise cannot be changed later: a lifetime that can be raised protects
        nobody. A second account of the same population counts for another unit or relation.

        Parameters
        ----------
        path : str or Path
            The ledger's file.
        population : str
            A name for the people, such as patients-2026.
        lifetime : int, str, float or Fraction
            The ε that all their releases together may never pass.
        delta : int, str, float or Fraction, optional
            The lifetime δ. Without it the account takes releases in pure ε only.
        relation : {"replace-one", "add-remove"}, default "replace-one"
            Which tables count as neighbours.
        unit : str, default "row"
            Whom the promise is about: row, person, household.
        rows_per_unit : int, default 1
            At most so many rows belong to one unit.
        individual_lifetime : int, str, float or Fraction, optional
            Another limit for the total of individual differential privacy, which holds the differentially private
            releases too. Default: `lifetime`.
        refuse_unproved : bool, default False
            Take no release without a proof.

        Returns
        -------
        Balance
            The new account.

        Raises
        ------
        LedgerError
            Where the population has such an account already.

        Examples
        --------
        >>> import coterie, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     account = coterie.Ledger.add_population(f"{folder}/ledger.sqlite", "patients", 3)
        >>> account.remaining
        Fraction(3, 1)
        """
        try:
            kind = NeighbourRelation(relation)
        except ValueError:
            raise ParameterError(
                f"There is no neighbour relation '{relation}'.",
                f"Choose one of {', '.join(NeighbourRelation)}.",
            ) from None
        terms = Terms(
            population,
            parse_epsilon(lifetime, "lifetime"),
            None if delta is None else parse_epsilon(delta, "delta"),
            kind,
            unit,
            rows_per_unit,
            parse_epsilon(
                lifetime if individual_lifetime is None else individual_lifetime, "individual lifetime"
            ),
        )
        if terms.delta is not None:
            epsilon_of(1.0, 0.1)  # needs the extra: said now, not at the first release
        if not population.strip() or population != population.strip() or not population.isprintable():
            raise ParameterError(
                "The name of a population must be printable text without spaces around it.",
                "Choose a name such as patients-2026.",
            )
        with closing(Storage.create(_resolved(path))) as storage:
            with storage.transaction() as book:
                book.require_new(terms)
                storage.append("population", **terms_event(terms))
                if refuse_unproved:
                    storage.append("policy", population=population, refuse_unproved=True)
            return storage.book().balances(population)[-1]

    @staticmethod
    def set_policy(path: str | PathLike[str], population: str, *, refuse_unproved: bool) -> Balance:
        """Refuse releases without a proof from now on, or take them again. The ledger keeps every change."""
        with closing(Storage.open(_resolved(path))) as storage:
            storage.require_writable()
            with storage.transaction() as book:
                if book.balance(population).refuses_unproved != refuse_unproved:
                    storage.append("policy", population=population, refuse_unproved=refuse_unproved)
            return storage.book().balance(population)

    def book(self) -> Book:
        """What the ledger says now; it does not change with later charges."""
        return self._storage.book().copy()

    def __repr__(self) -> str:
        book = self._storage.book()
        held = [(len(book.lifetimes), "population"), (len(book.entries), "release")]
        words = ", ".join(counted(count, what) for count, what in held)
        return f"<Ledger: {self._storage.path}, {words}>"

    def to_frame(self, kind: str = "arrow") -> Any:
        """One row per release: population, method, status, state, target and what it costs."""
        entries = list(self._storage.book().entries.values())
        cells = [
            (e.release, p.population, p.method, str(p.status), str(e.state), p.target, str(p.loss))
            for e in entries
            for p in (e.purpose,)
        ]
        names = ("release", "population", "method", "status", "state", "target", "cost")
        columns = {name: pa.array([row[i] for row in cells], pa.string()) for i, name in enumerate(names)}
        return to_kind(pa.table(columns), kind)

    def balance(self, population: str) -> Balance:
        """What is spent, held and left of a population's lifetime budget."""
        return self._storage.book().balance(population)

    @contextmanager
    def charge(self, purpose: Purpose) -> Iterator[Charge]:
        """Reserve what one release costs. It is given back unless the `with` block makes the release ready.

        Where it is held for this request (`hold`), that is what is charged; and it stays held if the block fails.
        """
        require_whole(purpose.loss)
        purpose = replace(purpose, target=without_credentials(purpose.target))
        charge: Charge | None = None
        release = uuid4().hex
        try:
            with self._storage.transaction() as book:
                held = book.held(purpose.fingerprint) if purpose.fingerprint else None
                release = held.release if held else release
                charge = Charge(self._storage, self._own(release), release)
                if held is None:
                    book.afford(purpose)
                    self._reserve(release, purpose)
                else:
                    remove(held.temporaries)  # of an attempt that was killed
            yield charge
        finally:
            if charge is not None:
                charge.settle()

    def hold(self, purpose: Purpose) -> None:
        """Reserve for as long as it takes: until `charge` of the same fingerprint takes it over, or `give_back`."""
        require_whole(purpose.loss)
        with self._storage.transaction() as book:
            if book.held(purpose.fingerprint) is None:
                book.afford(purpose)
                self._reserve(uuid4().hex, purpose, held=True)

    def give_back(self, fingerprint: str) -> None:
        """What was held for this request, and will never be charged."""
        with self._storage.transaction() as book:
            held = book.held(fingerprint)
            if held is not None:
                remove(held.temporaries)
                self._storage.append("abandoned", release=held.release)

    def _reserve(self, release: str, purpose: Purpose, **held: bool) -> None:
        self._storage.append(
            "reserved",
            release=release,
            population=purpose.population,
            loss=loss_event(purpose.loss),
            method=purpose.method,
            status=purpose.status,
            target=purpose.target,
            fingerprint=purpose.fingerprint,
            **({"despite": purpose.despite} if purpose.despite else {}),
            **held,
        )

    def finished(self, purpose: Purpose) -> Entry | None:
        """The release for this very purpose that opening the ledger has finished: do not make it again."""
        wanted = replace(purpose, target=without_credentials(purpose.target))
        for entry in (recovered.entry for recovered in self.recovered):
            # Status and loss are filled in when the release is computed; the fingerprint tells the request.
            same = replace(entry.purpose, status=wanted.status, loss=wanted.loss) == wanted
            if entry.state is ReleaseState.RELEASED and same:
                return entry
        return None

    def pending(self, population: str, target: str) -> Entry | None:
        """A charged release that only its caller can publish, such as a staged database table."""
        wanted = without_credentials(target)
        for entry in self._storage.book().unfinished():
            purpose = entry.purpose
            if entry.state is ReleaseState.READY and (purpose.population, purpose.target) == (
                population,
                wanted,
            ):
                return entry
        return None

    @contextmanager
    def resume(self, entry: Entry) -> Iterator[Charge]:
        """Take over a pending release: publish what is staged, then say `released()` (or `lost()`)."""
        charge = Charge(self._storage, self._own(entry.release), entry.release)
        try:
            yield charge
        finally:
            charge.settle()

    def close(self) -> None:
        self._storage.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *fault: object) -> None:
        self.close()

    def _own(self, release: str) -> FileLock:
        lock = own(self._storage.path, release)
        if lock is None:
            raise LedgerError(
                f"Release {release} is being finished by another process.",
                "Wait for it, then look at the ledger.",
            )
        return lock


def _resolved(path: str | PathLike[str]) -> Path:
    """One name for one file, so that all processes use the same lock files."""
    return Path(path).resolve()


# A journal: a ledger of one population that counts releases instead of ε, so that a release which no ledger counts is
# finished or given back after a kill, and never drawn twice.

JOURNAL = "releases that no ledger counts"  # its one population
_ENOUGH = 10**300


def journal_purpose(method: str, target: str, fingerprint: str) -> Purpose:
    return Purpose(JOURNAL, Loss.pure(Fraction(1)), method, "", target, fingerprint)


def open_journal(path: Path) -> Ledger:
    """The journal at this path; made where there is none, whole or not at all: one that is there has its account."""
    if not path.exists():
        new = path.with_name(f"{path.stem}.new")
        for left in (new, new.with_name(f"{new.name}-journal")):
            left.unlink(missing_ok=True)
        Ledger.add_population(new, JOURNAL, _ENOUGH)
        put_file(new, path)
    return Ledger.open(path)
