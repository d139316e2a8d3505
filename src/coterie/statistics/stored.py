"""What lies on disk already: asked twice, a release returns its own bytes; a changed plan is refused."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from coterie.errors import LedgerError, OutputError, ParameterError
from coterie.io.publication import stage_bytes
from coterie.ledger import Ledger, Purpose, State
from coterie.statistics.specification import Specification
from coterie.statistics.statistics_certificate import StatisticsCertificate


@dataclass(frozen=True)
class Published:
    """What lies on disk now. `again` says that it was there before and nothing was spent."""

    path: Path
    certificate_path: Path
    certificate: StatisticsCertificate
    content: bytes
    again: bool
    warning: str = ""  # for the publisher; the certificate is about this release alone


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
    for entry in book.book().releases(specification.population):
        if entry.purpose.method != purpose.method or not entry.state.charged:
            continue
        if entry.purpose.fingerprint != purpose.fingerprint:
            raise changed(specification)
        earlier = Path(entry.purpose.target)
        found = on_disk(earlier, request, specification) if entry.state is State.RELEASED else None
        if found is None:
            raise LedgerError(
                f"Release '{specification.release}' was charged, but its file {earlier} is gone or changed.",
                "Restore the file. To spend budget on a new one, choose another name under `release:`.",
            )
        require_ending(target, earlier.suffix.lower())
        if earlier.resolve() != target.resolve():
            for content, path in (
                (found.certificate.to_json().encode(), certificate_path(target)),
                (found.content, target),
            ):
                stage_bytes(content, path, force=False).publish()
        return Published(target, certificate_path(target), found.certificate, found.content, True)
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
