"""Statistics that were released already: asked twice, drawn once, and the same bytes again.

Two processes that are asked for the same release must not both pay for it. Looking for a stored release, drawing the
noise and charging (or storing) are one step for everybody else. The lock is a file beside the ledger or in the store,
one for each release; the kernel drops it with its holder.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from coterie._version import __version__
from coterie.errors import CertificateError, LedgerError, OutputError, ParameterError
from coterie.publication.ledger import Ledger, Purpose, ReleaseState
from coterie.publication.staging import stage_bytes
from coterie.schema.frame_kind import to_kind
from coterie.statistics.releasing.certificate import StatisticsCertificate, promise
from coterie.statistics.releasing.releasing import StatisticsRelease
from coterie.statistics.specification.specification import Specification
from coterie.table.hidden_files import FileLock


@contextmanager
def my_turn(ledger: Path, population: str, method: str) -> Iterator[None]:
    """Wait until no other process is making this release, then hold it off until we are done."""
    resolved = ledger.resolve()  # one name for one file, so that all processes use the same lock
    label = hashlib.sha256(f"{population}\n{method}".encode()).hexdigest()[:16]
    path = resolved.with_name(f".{resolved.name}.statistics-{label}.lock")
    try:
        lock = FileLock.waited(path, make=0o666)
    except OSError as error:
        raise LedgerError(
            f"A lock file in {path.parent} cannot be opened ({error.strerror}).",
            "Give yourself write permission on that folder.",
        ) from error
    try:
        yield
    finally:
        lock.let_go(remove=True)


# What lies on disk already: asked twice, a release returns its own bytes; a changed plan is refused.


@dataclass(frozen=True, repr=False)
class Published:
    """Released statistics, as they lie on disk.

    Attributes
    ----------
    path, certificate_path : Path
        Where they are.
    certificate : StatisticsCertificate
        What was promised.
    content : bytes
        The bytes of the file.
    again : bool
        Whether it was there before, and nothing was spent.
    warning : str
        For the publisher; the certificate is about this release alone.
    outdated : str
        What today's version would say of a release that an earlier one drew; empty where there is nothing to say.

    Examples
    --------
    >>> import coterie, tempfile
    >>> specification = {
    ...     "release": "wages",
    ...     "population": "people",
    ...     "schema": {
    ...         "attributes": {"wage": {"role": "protect", "domain": {"lower": 0, "upper": 100}}}
    ...     },
    ...     "records": 4,
    ...     "neighbours": "replace-one",
    ...     "budget": {"epsilon": 1},
    ...     "statistics": {"average": {"kind": "mean", "of": "wage", "expected": 20}},
    ... }
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = coterie.statistics.release(
    ...         specification, {"wage": [10, 20, 20, 30]}, f"{folder}/wages.csv", seed=1
    ...     )
    >>> [figure["name"] for figure in done.values]
    ['average']
    """

    path: Path
    certificate_path: Path
    certificate: StatisticsCertificate
    content: bytes
    again: bool
    warning: str = ""
    outdated: str = ""

    def __repr__(self) -> str:
        promise, again = self.certificate.guarantee, ", stored already" if self.again else ""
        return f"<Published: {self.path}, {promise.status}: {promise.label}{again}>"

    @property
    def values(self) -> list[dict[str, str | float]]:
        """The released figures: name, what, value, lower_95, upper_95, expected_absolute_error."""
        text = self.content.decode()
        if self.path.suffix.lower() == ".json":
            return list(json.loads(text)["values"])
        rows = csv.DictReader(io.StringIO(text))
        return [
            {name: value if name in FIELDS[:2] else float(value) for name, value in row.items()}
            for row in rows
        ]

    def to_frame(self, kind: str = "arrow") -> Any:
        """One row per released figure, with its 95 % interval.

        Parameters
        ----------
        kind : {"arrow", "pandas", "polars"}, default "arrow"
            Which library's frame to make.
        """
        return to_kind(pa.Table.from_pylist(self.values), kind)


def outdated(certificate: StatisticsCertificate, specification: Specification, *, as_in_paper: bool) -> str:
    """A release that was drawn earlier keeps the words of the version that drew it: say so."""
    tool = f"coterie {__version__}"
    today = promise(specification, as_in_paper, not certificate.reproducible)
    written = certificate.guarantee
    if certificate.tool == tool and written.status == today.status:
        return ""
    same = written.status == today.status
    now = "which is today's too" if same else f"today's version says '{today.status}': {today.label}"
    return f"this release was drawn by {certificate.tool}, and its status '{written.status}' is that version's; {now}"


def certificate_path(target: Path) -> Path:
    return Path(f"{target}.certificate.json")


def refuse_existing(target: Path) -> None:
    for path in (target, certificate_path(target)):
        if path.exists():
            raise OutputError(f"{path} exists already.", "Choose another name for the output.")


def require_ending(target: Path, ending: str) -> None:
    if target.suffix.lower() != ending:
        raise OutputError(
            f"This release is stored already, as {ending}.", f"Give the output a name that ends in {ending}."
        )


def in_ledger(
    book: Ledger, specification: Specification, request: str, purpose: Purpose, target: Path
) -> Published | None:
    """An earlier release of this name: the same request gets its bytes, another one is refused."""
    for entry in book.book().releases(population=purpose.population, method=purpose.method):
        if not entry.state.charged:
            continue
        if entry.purpose.fingerprint != purpose.fingerprint:
            raise changed(specification)
        earlier = Path(entry.purpose.target)
        found = on_disk(earlier, request, specification) if entry.state is ReleaseState.RELEASED else None
        if found is None:
            raise LedgerError(
                f"Release '{specification.release}' was charged, but its file {earlier} is gone or changed.",
                "Restore the file. To spend budget on a new one, choose another name under `release:`.",
            )
        require_ending(target, earlier.suffix.lower())
        kept = Kept(found.certificate, found.content, earlier.suffix.lower())
        if earlier.resolve() != target.resolve():
            for path, content in kept.files(target).items():
                stage_bytes(content, path, force=False).publish()
        return kept.at(target, again=True)
    return None


def on_disk(target: Path, request: str, specification: Specification) -> Published | None:
    path = certificate_path(target)
    if not target.exists() and not path.exists():
        return None
    try:
        certificate = StatisticsCertificate.from_json(path.read_bytes())
        content = target.read_bytes()
    except OSError:
        raise OutputError(
            f"{target} or its certificate is there without the other.",
            "Move it away, or choose another name.",
        ) from None
    if hashlib.sha256(content).hexdigest() != certificate.digest.value:
        raise OutputError(f"{target} was changed after it was certified.", "Move it away or restore it.")
    if certificate.request != request:
        raise changed(specification)
    return Published(target, path, certificate, content, True)


def changed(specification: Specification) -> ParameterError:
    return ParameterError(
        f"Release '{specification.release}' is already published, under another plan or for other data.",
        "Asking again with a changed plan spends again: if you mean it, choose another name under `release:` "
        "and another output; otherwise restore the specification.",
    )


# Asked twice, drawn once, with a ledger and without: every release is kept privately under its name and its data.
#
#     $XDG_STATE_HOME/coterie/statistics/   (~/.local/state/… by default; the folder and its files are yours alone)
#
# A second draw, by the same plan or a changed one, would tell more than the first promised. What is kept is the release:
# noise drawn, nothing of the data but their digest, in the file's name. The entry is written before the output, so a
# crash between the two costs nothing: asking again finds it.


def store_folder() -> Path:
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path.home() / ".local" / "state") / "coterie" / "statistics"


@dataclass(frozen=True)
class Kept:
    """A finished release: its certificate, the bytes it is about, and the ending of the file they belong in."""

    certificate: StatisticsCertificate
    content: bytes
    ending: str

    def at(self, target: Path, again: bool) -> Published:
        return Published(target, certificate_path(target), self.certificate, self.content, again)

    def files(self, target: Path) -> dict[Path, bytes]:
        """The data last, so that they never stand without a promise."""
        return {certificate_path(target): self.certificate.to_json().encode(), target: self.content}


@dataclass(frozen=True)
class ReleaseStore:
    """The entry of one release of one table, held for this process alone."""

    path: Path | None  # None: there is no place to keep anything, and the ledger alone has to know
    mark: Path | None = None  # an empty file beside it, for the name: which other data it was drawn from

    def find(self) -> Kept | None:
        if self.path is None:
            return None
        try:
            entry = json.loads(self.path.read_bytes())
            certificate = StatisticsCertificate.from_json(entry["certificate"])
            return Kept(certificate, entry["content"].encode(), entry["ending"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, CertificateError):
            raise OutputError(
                f"The stored release {self.path} cannot be read.",
                "Restore it; or remove it, if you mean to draw (and spend) again.",
            ) from None

    def keep(self, kept: Kept) -> None:
        if self.path is None:
            return
        entry = {
            "certificate": kept.certificate.to_json(),
            "content": kept.content.decode(),
            "ending": kept.ending,
        }
        stage_bytes(json.dumps(entry).encode(), self.path, force=False, private=True).publish()
        if self.mark is not None:
            self.mark.touch(mode=0o600)

    @property
    def of_other_data(self) -> bool:
        """Whether this name was drawn before, from other data: of people in both, the two together tell more."""
        if self.mark is None:
            return False
        name = self.mark.name.partition(".")[0]
        return any(other != self.mark for other in self.mark.parent.glob(f"{name}.*.drawn"))


@contextmanager
def open_store(name: str, place: str, *, required: bool = True) -> Iterator[ReleaseStore]:
    """Whoever holds an entry is alone with it: two processes must not both draw."""
    folder = store_folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        usable = os.access(folder, os.W_OK | os.X_OK)
    except OSError:
        usable = False
    if not usable and not required:
        yield ReleaseStore(None)
        return
    if not usable:
        raise OutputError(
            f"Releases are kept in {folder}, which cannot be written.",
            "Set XDG_STATE_HOME to a folder of yours, or publish with a ledger.",
        )
    with my_turn(folder / "releases", "", place):
        yield ReleaseStore(folder / f"{place}.json", folder / f"{name}.{place}.drawn")


# A release as bytes: CSV for people and spreadsheets, JSON for programs.


FIELDS = ("name", "what", "value", "lower_95", "upper_95", "expected_absolute_error")


def as_bytes(made: StatisticsRelease, ending: str) -> bytes:
    rows = []
    for value in made.values:
        what = "equation" if value.is_equation else "statistic"
        entries = (value.name, what, value.value, value.lower, value.upper, value.expected_error)
        rows.append(dict(zip(FIELDS, entries, strict=True)))
    if ending == ".csv":
        buffer = io.StringIO(newline="")
        writer = csv.DictWriter(buffer, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return buffer.getvalue().encode()
    content = {
        "release": made.plan.specification.release,
        "guarantee": promise(made.plan.specification, made.plan.as_in_paper, made.private).label,
        "plan": made.plan.digest,
        "values": rows,
    }
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()
