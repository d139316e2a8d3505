"""Statistics that were released already: asked twice, drawn once, and the same bytes again.

Two processes that are asked for the same release must not both pay for it. Looking for a stored release, drawing the
noise and charging (or storing) are one step for everybody else. The lock is a file beside the ledger or in the store,
one for each release; the kernel drops it with its holder.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from coterie.errors import CertificateError, LedgerError, OutputError
from coterie.publication.ledger import Ledger, Purpose, ReleaseState
from coterie.publication.staging import stage_bytes
from coterie.statistics.releasing.certificate import StatisticsCertificate
from coterie.statistics.releasing.released_files import Kept, changed, on_disk
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


def in_ledger(
    book: Ledger, specification: Specification, request: str, purpose: Purpose, store: ReleaseStore
) -> Kept | None:
    """An earlier release of this name: the same request gets its figures, another one is refused."""
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
        kept = store.find()
        raw = kept.raw if kept is not None and kept.certificate.request == request else None
        return Kept(found.certificate, found.content, earlier.suffix.lower(), raw)
    return None


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
            text, raw = entry.get("content"), entry.get("raw")
            content = base64.b64decode(entry["base64"]) if text is None else text.encode()
            return Kept(certificate, content, entry["ending"], raw and raw.encode())
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
            "ending": kept.ending,
            "raw": None if kept.raw is None else kept.raw.decode(),
        }
        if kept.ending in (".csv", ".json"):
            entry["content"] = kept.content.decode()
        else:
            entry["base64"] = base64.b64encode(kept.content).decode()
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
