"""What a release leaves on disk: figures in any format, perhaps the raw measurements, and a certificate beside each file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from coterie._version import __version__
from coterie.errors import OutputError, ParameterError
from coterie.promise.certificate import Certificate, Digest
from coterie.promise.signing import sign
from coterie.schema.frame_kind import to_kind
from coterie.statistics.releasing.certificate import StatisticsCertificate, promise
from coterie.statistics.releasing.tidy_table import ENDINGS, read, rows_of, written
from coterie.statistics.specification.specification import Specification

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
        """One row per released figure, with its 95 % interval.

        Parameters
        ----------
        kind : {"arrow", "pandas", "polars"}, default "arrow"
            Which library's frame to make.
        """
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
