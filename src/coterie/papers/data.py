"""A public data set: from COTERIE_DATA, else the development folder, else a cache, else its public source."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import io
import os
import urllib.error
import urllib.request
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv

from coterie.errors import DataError, OutputError
from coterie.io.publication import stage_bytes
from coterie.papers.r_file import LARGEST
from coterie.papers.sources import DATA_SETS, Address, DataSet

VARIABLE = "COTERIE_DATA"
_SECONDS = 20.0


def load(name: str) -> pa.Table:
    """The data set as an Arrow table. Its checksum has been verified, wherever it came from."""
    text = _content(DATA_SETS[name])
    options = csv.ConvertOptions(strings_can_be_null=False)
    return csv.read_csv(io.BytesIO(text), convert_options=options)


def available(name: str) -> bool:
    """Whether it can be had without a network."""
    return any((folder / DATA_SETS[name].file).is_file() for folder in _folders())


def _folders() -> list[Path]:
    named = os.environ.get(VARIABLE)
    first = Path(named) if named else Path(__file__).resolve().parents[4] / "shared" / "data"
    return [first, _cache()]


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "coterie" / "data"


def _content(data_set: DataSet) -> bytes:
    named = os.environ.get(VARIABLE)
    if named and not Path(named).is_dir():  # a slip of the pen must not end in a download
        raise DataError(
            f"{VARIABLE} names a folder that is not there: {named}.",
            f"Correct it, or unset {VARIABLE} to use the cache and the public sources.",
        )
    for folder in _folders():
        path = folder / data_set.file
        if path.is_file():
            return _verified(_read(path), data_set, str(path))
    return _downloaded(data_set)


def _read(path: Path) -> bytes:
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"{path} cannot be read ({getattr(error, 'strerror', None) or 'not a complete gzip file'}).",
            "Check the file, or fetch it again.",
        ) from None


def _verified(content: bytes, data_set: DataSet, place: str) -> bytes:
    if hashlib.sha256(content).hexdigest() != data_set.sha256:
        raise DataError(
            f"{place} is not the {data_set.title}: its checksum differs.",
            "Remove the file and fetch it again; an experiment on other data would prove nothing.",
        )
    return content


def _downloaded(data_set: DataSet) -> bytes:
    target = _cache() / data_set.file
    failures = []
    for address in data_set.addresses:
        try:
            content = _fetched(address, data_set)
        except DataError as error:
            failures.append(error.problem)
            continue
        _keep(content, target)
        return content
    elsewhere = f"Run this once on a machine with a network and copy {data_set.file} from its cache."
    ways = [elsewhere if data_set.addresses else "", data_set.by_hand or ""]
    raise DataError(
        " ".join([f"The data set '{data_set.name}' is not here: {data_set.title}.", *failures]),
        f"{' '.join(filter(None, ways))} Save it as {target}, or in a folder that {VARIABLE} names.",
    )


def _fetched(address: Address, data_set: DataSet) -> bytes:
    """Its text, or an error: what is served there is believed only if the checksum of the whole table is right."""
    try:
        with urllib.request.urlopen(address.url, timeout=_SECONDS) as answer:
            raw = answer.read(LARGEST + 1)
        content = address.convert(raw).encode() if len(raw) <= LARGEST else b""
    except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        raise DataError(f"{address.url} cannot be reached ({reason}).", "Try again later.") from None
    except DataError as error:
        raise DataError(f"{address.url} serves something else. {error.problem}", error.advice) from None
    if hashlib.sha256(content).hexdigest() != data_set.sha256:
        raise DataError(
            f"What {address.url} serves is not the file we know: its checksum differs.", "Look at it by hand."
        )
    return content


def _keep(content: bytes, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"The cache folder {target.parent} cannot be made ({error.strerror}).",
            "Free the place, or name another folder in the variable XDG_CACHE_HOME.",
        ) from None
    stored = gzip.compress(content) if target.suffix == ".gz" else content
    stage_bytes(stored, target, force=True).publish()
