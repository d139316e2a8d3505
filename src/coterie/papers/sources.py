"""Where the public data sets come from, and the checksums that say they are the right ones. All addresses are here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_ADULT_COLUMNS = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,"
    "capital-gain,capital-loss,hours-per-week,native-country,income"
)


@dataclass(frozen=True, slots=True)
class DataSet:
    """`sha256` is of the CSV text that experiments read; `raw_sha256` of the bytes at the public address."""

    name: str
    file: str
    sha256: str
    title: str
    address: str | None = None
    raw_sha256: str | None = None
    convert: Callable[[str], str] | None = None  # the public file's text → our CSV
    by_hand: str | None = None  # what to do where no address serves it as text


def _wine(text: str) -> str:
    header, _, rows = text.partition("\n")
    return header.replace('"', "").replace(";", ",") + "\n" + rows.replace(";", ",")


def _adult(text: str) -> str:
    rows = [
        line.replace(", ", ",").removesuffix(".")
        for line in text.splitlines()
        if line and not line.startswith("|")
    ]
    return "\n".join([_ADULT_COLUMNS, *rows]) + "\n"


DATA_SETS = {
    found.name: found
    for found in (
        DataSet(
            name="census",
            file="casc_census.csv",
            sha256="40fb91564d4379274610e941161fd38729adb471bddb9c71d7c01ef142fd0f5b",
            title="CASC 'Census' reference microdata (Brand, Domingo-Ferrer and Mateo-Sanz 2002), 1,080 × 13",
            # Only inside archives (research.cbs.nl/casc) or in R's own binary format, never as text: no download.
            by_hand="The CASC project's table is in the GitHub repository sdcTools/sdcMicro, commit cf325101, as "
            "data/CASCrefmicrodata.rda. In R: load('CASCrefmicrodata.rda'); write.csv(CASCrefmicrodata, "
            "'casc_census.csv', row.names = FALSE, quote = FALSE).",
        ),
        DataSet(
            name="adult-train",
            file="adult_train.csv.gz",
            sha256="f2c62076f19504d99a38b22badf445a7f42530ade6b827acf78dd143fbce38bb",
            title="UCI Adult, training part, 32,561 × 15",
            address=f"{_UCI}/adult/adult.data",
            raw_sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            convert=_adult,
        ),
        DataSet(
            name="adult-test",
            file="adult_test.csv.gz",
            sha256="f6b1801c5d231515ea5ff04d4444997bacd57e04876e94710cb9b9bd5549c033",
            title="UCI Adult, test part, 16,281 × 15",
            address=f"{_UCI}/adult/adult.test",
            raw_sha256="a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
            convert=_adult,
        ),
        DataSet(
            name="wine-red",
            file="winequality_red.csv",
            sha256="d22f4f11db0456ff21745d2fa96d26fa348a8cdb889efda65bde802085be45fd",
            title="UCI Wine Quality, red, 1,599 × 12",
            address=f"{_UCI}/wine-quality/winequality-red.csv",
            raw_sha256="4a402cf041b025d4566d954c3b9ba8635a3a8a01e039005d97d6a710278cf05e",
            convert=_wine,
        ),
        DataSet(
            name="wine-white",
            file="winequality_white.csv",
            sha256="d99ea899f7ea892b717e34b0b6eaca33244c52d0d038dc4fcb6c728a64842562",
            title="UCI Wine Quality, white, 4,898 × 12",
            address=f"{_UCI}/wine-quality/winequality-white.csv",
            raw_sha256="76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836",
            convert=_wine,
        ),
    )
}
