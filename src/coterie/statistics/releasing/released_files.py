"""What a release leaves on disk: figures in any format, perhaps the raw measurements, and a certificate beside each file."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from coterie._version import __version__
from coterie.errors import CertificateError, LedgerError, OutputError, ParameterError
from coterie.promise.certificate import Certificate, Digest
from coterie.promise.signing import sign
from coterie.publication.ledger import Ledger, Purpose, ReleaseState
from coterie.publication.staging import stage_bytes
from coterie.schema.frame_kind import to_kind
from coterie.statistics.releasing.certificate import StatisticsCertificate, promise
from coterie.statistics.releasing.tidy_table import ENDINGS, read, rows_of, written
from coterie.statistics.specification.specification import Specification
from coterie.table.hidden_files import FileLock

if TYPE_CHECKING:
    from coterie.statistics.planning.choosing import ReleaseRequest

RAW_NOTE = (
    "This certificate is about the noisy measurements as they were drawn: the same draw, and no further cost."
)


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
    raw_path : Path or None
        The noisy measurements as they were drawn, where they were asked for; their certificate lies beside them.
    request : ReleaseRequest or None
        What was asked for.

    Examples
    --------
    >>> import coterie, tempfile
    >>> asked = coterie.statistics.from_sql("SELECT AVG(rent) FROM people", coterie.demo_schema())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = coterie.statistics.release(asked, coterie.demo_population(), f"{folder}/rents.csv", seed=1)
    >>> [figure["name"] for figure in done.values]
    ['mean_rent']
    """

    path: Path
    certificate_path: Path
    certificate: StatisticsCertificate
    content: bytes
    again: bool
    warning: str = ""
    outdated: str = ""
    raw_path: Path | None = None
    request: ReleaseRequest | None = None

    def __repr__(self) -> str:
        promise, again = self.certificate.guarantee, ", stored already" if self.again else ""
        return f"<Published: {self.path}, {promise.status}: {promise.label}{again}>"

    @property
    def values(self) -> list[dict[str, Any]]:
        """The released figures: name, kind, groups, value, lower_95, upper_95, expected_absolute_error and more."""
        return rows_of(self.to_frame())

    def to_frame(self, kind: str = "arrow") -> Any:
        """One row per released figure, with its 95 % interval. `kind`: arrow, pandas or polars."""
        return to_kind(read(self.content, self.path.suffix.lower()), kind)


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


def recertified(
    certificate: StatisticsCertificate, content: bytes, key: Path | None, *notes: str
) -> StatisticsCertificate:
    """The same promise over another file of the same draw."""
    if certificate.signature is not None and key is None:
        raise ParameterError(
            "This release is signed, so its other files are signed too.", "Give the key again (--sign)."
        )
    digest = Digest(over="file bytes", value=hashlib.sha256(content).hexdigest())
    changes = {"digest": digest, "signature": None, "notes": (*certificate.notes, *notes)}
    return signed(certificate.model_copy(update=changes), key)


def signed(certificate: StatisticsCertificate, key: Path | None) -> StatisticsCertificate:
    if key is None:
        return certificate
    return cast(StatisticsCertificate, sign(cast(Certificate, certificate), key))


def about(certificate: StatisticsCertificate) -> dict[str, str]:
    """What stands on top of a file."""
    return {
        "release": certificate.release,
        "guarantee": certificate.guarantee.label,
        "plan": certificate.plan,
    }


@dataclass(frozen=True)
class Outputs:
    """What is asked for: the figures in the format of their ending; perhaps the raw measurements; who signs."""

    figures: Path
    raw: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        if self.figures.suffix.lower() not in ENDINGS:
            known = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
            raise OutputError(f"The release is written as {known}.", "Choose such a name for the output.")
        if self.raw is not None and self.raw.suffix.lower() != ".json":
            raise OutputError("Raw measurements are written as .json.", "Choose such a name for them.")
        if self.raw is not None and self.raw.resolve() == self.figures.resolve():
            raise OutputError("Two outputs have the same name.", "Give each its own file.")
        for path in self.paths:
            if not path.parent.is_dir():
                raise OutputError(f"There is no folder {path.parent}.", "Make it, or choose another place.")

    @property
    def paths(self) -> tuple[Path, ...]:
        """The figures last."""
        return (self.figures,) if self.raw is None else (self.raw, self.figures)

    def refuse_existing(self) -> None:
        for path in (p for output in self.paths for p in (output, certificate_path(output))):
            if path.exists():
                raise OutputError(f"{path} exists already.", "Choose another name for the output.")


@dataclass(frozen=True)
class Kept:
    """A finished release: its certificate, the file it is about with its ending, and what was drawn for it."""

    certificate: StatisticsCertificate
    content: bytes
    ending: str
    raw: bytes | None = None  # absent where an earlier version drew it

    def in_format(self, ending: str, key: Path | None) -> tuple[bytes, StatisticsCertificate]:
        """The figures: the stored bytes, or the same table in another format under a certificate of its own."""
        if ending == self.ending:
            return self.content, self.certificate
        content = written(read(self.content, self.ending), ending, about(self.certificate))
        return content, recertified(self.certificate, content, key)

    def measured(self, key: Path | None) -> tuple[bytes, StatisticsCertificate]:
        """The raw measurements."""
        if self.raw is None:
            raise OutputError(
                "The raw measurements of this release were not kept.",
                "An earlier version drew it, or another user. Choose another name under `release:` to draw "
                "(and spend) again.",
            )
        return self.raw, recertified(self.certificate, self.raw, key, RAW_NOTE)

    def files(self, outputs: Outputs, specification: Specification) -> dict[Path, bytes]:
        """What is not there yet; data after their certificates, so that they never stand without a promise."""
        found: dict[Path, bytes] = {}
        for path in outputs.paths:
            beside = certificate_path(path)
            if path.exists():
                self._require(path, outputs, specification)
                continue
            if path == outputs.figures:
                content, certificate = self.in_format(path.suffix.lower(), outputs.key)
            else:
                content, certificate = self.measured(outputs.key)
            promise = certificate.to_json().encode()
            if not (beside.is_file() and beside.read_bytes() == promise):  # else a crash came between the two
                on_disk(path, self.certificate.request, specification)
                found[beside] = promise
            found[path] = content
        return found

    def _require(self, path: Path, outputs: Outputs, specification: Specification) -> None:
        """What is there must be this release."""
        there = on_disk(path, self.certificate.request, specification)
        same = there is not None and there.content in (self.content, self.raw)
        if path == outputs.figures and there is not None and not same:
            same = there.to_frame().equals(read(self.content, self.ending))
        if not same:
            raise OutputError(
                f"{path} exists already, and is not the stored release of these data.",
                "Choose another name for the output.",
            )


# Statistics that were released already: asked twice, drawn once, and the same bytes again.
#
# Two processes that are asked for the same release must not both pay for it. Looking for a stored release, drawing the
# noise and charging (or storing) are one step for everybody else. The lock is a file beside the ledger or in the store,
# one for each release; the kernel drops it with its holder.


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
