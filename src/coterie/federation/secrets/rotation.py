"""New keys in the place of old ones, without losing what was begun under the old: those stay in the folder `former`.

The new keys wait in `keys-next` until the other side may learn of them; then a mark is made there. Whoever loads the keys
of a folder finishes a change that was marked and cut off.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from coterie.federation.secrets.keys import SEALING, SIGNING, WITNESS, Keys, fingerprint, keep_private

NEXT, FORMER, _MARK = "keys-next", "former", "accepted"


def next_keys(folder: Path) -> Keys:
    """Made once: a change that was cut off goes on with the same ones."""
    place = folder / NEXT
    place.mkdir(mode=0o700, exist_ok=True)
    if not all((place / name).exists() for name in (SIGNING, SEALING)):
        for name in (SIGNING, SEALING):
            (place / name).unlink(missing_ok=True)  # half a pair was never used
        Keys.generate().save(place)
    return Keys.load(place)


def use_next_keys(folder: Path, old: Keys) -> Keys:
    """From now on the next ones; the old still sign and open what names them."""
    former = folder / FORMER / fingerprint(old.public).removeprefix("SHA256:")
    former.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in (SIGNING, SEALING):
        keep_private(former / name, (folder / name).read_bytes())
    keep_private(
        folder / WITNESS, old.witness
    )  # what the other side remembers of our diary was marked with this
    keep_private(folder / NEXT / _MARK, b"")
    return current_keys(folder)


def current_keys(folder: Path) -> Keys:
    place = folder / NEXT
    if (place / _MARK).exists():
        for name in (SIGNING, SEALING):
            keep_private(folder / name, (place / name).read_bytes())
        shutil.rmtree(place)
    return Keys.load(folder)


def former_keys(folder: Path) -> Iterator[tuple[Path, Keys]]:
    for place in sorted((folder / FORMER).glob("*")):
        yield place, Keys.load(place)
