"""Asked twice, drawn once, with a ledger and without: every release is kept privately under its name and its data.

    $XDG_STATE_HOME/coterie/statistics/   (~/.local/state/… by default; the folder and its files are yours alone)

A second draw, by the same plan or a changed one, would tell more than the first promised. What is kept is the release:
noise drawn, nothing of the data but their digest, in the file's name. The entry is written before the output, so a
crash between the two costs nothing: asking again finds it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from coterie.errors import CertificateError, OutputError
from coterie.io.publication import stage_bytes
from coterie.statistics.statistics_certificate import StatisticsCertificate
from coterie.statistics.turns import my_turn


def store_folder() -> Path:
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path.home() / ".local" / "state") / "coterie" / "statistics"


@dataclass(frozen=True)
class Kept:
    """A finished release: its certificate, the bytes it is about, and the ending of the file they belong in."""

    certificate: StatisticsCertificate
    content: bytes
    ending: str


@dataclass(frozen=True)
class ReleaseStore:
    """The entry of one release of one table, held for this process alone."""

    path: Path | None  # None: there is no place to keep anything, and the ledger alone has to know
    mark: Path | None = (
        None  # an empty file beside it, for the release's name: which other data it was drawn from
    )

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
