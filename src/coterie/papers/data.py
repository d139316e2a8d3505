"""The public data sets of the papers: addresses, checksums, and how each is found, fetched and read."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import http.client
import io
import lzma
import os
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv

from coterie.errors import DataError, MissingExtra, OutputError
from coterie.publication.staging import stage_bytes
from coterie.table.r_files import read_r

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
# Addresses of a commit, not of a branch: what they serve cannot change.
_SDC_MICRO = "https://raw.githubusercontent.com/sdcTools/sdcMicro/cf3251017482bb215f0a9abf4a930f502399fb72"
_SDC_SETS = (
    "https://raw.githubusercontent.com/francasino/SDC_datasets/b988a009692cc26b71f789550c63869b85a83b5a"
)
_LANTZ = "https://raw.githubusercontent.com/stedy/Machine-Learning-with-R-datasets/ff933238d9c30da179b7e3ad4b6ca938d67efc53"
LARGEST = 1 << 24  # bytes: a hundred times the tables of the papers
_ADULT_COLUMNS = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,"
    "capital-gain,capital-loss,hours-per-week,native-country,income"
)


@dataclass(frozen=True, slots=True)
class DataSet:
    """`sha256` is of the CSV text that experiments read, whichever address it came from: names and values, in order."""

    name: str
    file: str
    title: str
    sha256: str
    # Where the public serves it, and how the bytes served there become our CSV text; tried in this order.
    addresses: tuple[tuple[str, Callable[[bytes], str]], ...] = ()
    by_hand: str | None = None  # how to make the file without them


def _wine(content: bytes) -> str:
    text = content.decode("utf-8", "replace")
    header, _, rows = text.partition("\n")
    return header.replace('"', "").replace(";", ",") + "\n" + rows.replace(";", ",")


def _adult(content: bytes) -> str:
    rows = [
        line.replace(", ", ",").removesuffix(".")
        for line in content.decode("utf-8", "replace").splitlines()
        if line and not line.startswith("|")
    ]
    return "\n".join([_ADULT_COLUMNS, *rows]) + "\n"


def _census_from_r(content: bytes) -> str:
    """R may keep whole numbers as reals; its own write.csv() prints both alike, and so does this."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "served.rda"
        path.write_bytes(_unpacked(content))
        try:
            table = read_r(path, table="CASCrefmicrodata")
        except DataError:  # its words name the temporary file
            raise DataError("It holds no data frame CASCrefmicrodata.", "Look at it by hand.") from None
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    lines = [
        ",".join(str(int(x) if isinstance(x, float) and x.is_integer() else x) for x in row) for row in rows
    ]
    return "\n".join([",".join(table.column_names), *lines]) + "\n"


def _unpacked(content: bytes) -> bytes:
    """What comes over a network may not grow beyond the limit when it is unpacked."""
    opened: Any = None
    if content.startswith(b"\x1f\x8b"):
        opened = zlib.decompressobj(wbits=31)
    elif content.startswith(b"BZh"):
        opened = bz2.BZ2Decompressor()
    elif content.startswith(b"\xfd7zXZ\x00"):
        opened = lzma.LZMADecompressor(memlimit=1 << 28)  # R's own setting needs a quarter of this
    try:
        plain: bytes = opened.decompress(content, LARGEST + 1) if opened else content
    except (zlib.error, lzma.LZMAError, OSError):
        raise DataError("It cannot be unpacked.", "Look at it by hand.") from None
    if len(plain) > LARGEST:
        raise DataError(f"It is larger than {LARGEST >> 20} MiB when unpacked.", "Look at it by hand.")
    return plain


def _text(content: bytes) -> str:
    """Our CSV but for the line ends: those of another system, or none at the end."""
    return "\n".join(content.decode("ascii", "replace").splitlines()) + "\n"


_LISTED = (
    DataSet(
        "census",
        "casc_census.csv",
        "CASC 'Census' reference microdata (Brand, Domingo-Ferrer and Mateo-Sanz 2002), 1,080 × 13",
        "40fb91564d4379274610e941161fd38729adb471bddb9c71d7c01ef142fd0f5b",
        (
            (f"{_SDC_MICRO}/data/CASCrefmicrodata.rda", _census_from_r),
            (f"{_SDC_SETS}/CASCrefmicrodata.csv", _text),
        ),
        "In R with its package sdcMicro: data(CASCrefmicrodata, package = 'sdcMicro'); "
        "write.csv(CASCrefmicrodata, 'casc_census.csv', row.names = FALSE, quote = FALSE).",
    ),
    *(
        DataSet(name, file, title, sha256, ((url, convert),))
        for name, file, url, convert, title, sha256 in (
            ("adult-train", "adult_train.csv.gz", f"{_UCI}/adult/adult.data", _adult,
             "UCI Adult, training part, 32,561 × 15",
             "f2c62076f19504d99a38b22badf445a7f42530ade6b827acf78dd143fbce38bb"),
            ("adult-test", "adult_test.csv.gz", f"{_UCI}/adult/adult.test", _adult,
             "UCI Adult, test part, 16,281 × 15",
             "f6b1801c5d231515ea5ff04d4444997bacd57e04876e94710cb9b9bd5549c033"),
            ("wine-red", "winequality_red.csv", f"{_UCI}/wine-quality/winequality-red.csv", _wine,
             "UCI Wine Quality, red, 1,599 × 12",
             "d22f4f11db0456ff21745d2fa96d26fa348a8cdb889efda65bde802085be45fd"),
            ("wine-white", "winequality_white.csv", f"{_UCI}/wine-quality/winequality-white.csv", _wine,
             "UCI Wine Quality, white, 4,898 × 12",
             "d99ea899f7ea892b717e34b0b6eaca33244c52d0d038dc4fcb6c728a64842562"),
            ("insurance", "insurance.csv", f"{_LANTZ}/insurance.csv", _text,
             "Medical Cost Personal Datasets (B. Lantz, Machine Learning with R), 1,338 × 7",
             "6e3894cf7d9210613f62c866684055decea694345cd4f244ecd7167041578c68"),
        )
    ),
)  # fmt: skip
DATA_SETS = {found.name: found for found in _LISTED}


# A public data set: from COTERIE_DATA, else the development folder, else a cache, else its public source.

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
    if named and not Path(named).is_dir():  # a mistyped folder must not end in a download
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
    for url, convert in data_set.addresses:
        try:
            content = _fetched(url, convert, data_set)
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


def _fetched(url: str, convert: Callable[[bytes], str], data_set: DataSet) -> bytes:
    """Its text, or an error: what is served there is believed only if the checksum of the whole table is right."""
    try:
        with urllib.request.urlopen(url, timeout=_SECONDS) as answer:
            raw = answer.read(LARGEST + 1)
        content = convert(raw).encode() if len(raw) <= LARGEST else b""
    except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        raise DataError(f"{url} cannot be reached ({reason}).", "Try again later.") from None
    except (DataError, MissingExtra) as error:
        raise DataError(f"{url} serves something else. {error.problem}", error.advice) from None
    if hashlib.sha256(content).hexdigest() != data_set.sha256:
        raise DataError(
            f"What {url} serves is not the file we know: its checksum differs.", "Look at it by hand."
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
