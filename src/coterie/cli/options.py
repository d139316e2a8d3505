"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

DataSource = Annotated[
    str,
    Argument(
        metavar="DATA", help="CSV, Parquet, Arrow, Excel, SPSS, Stata, SAS or R file, or a database URL."
    ),
]
SchemaFile = Annotated[
    Path, Option("--schema", "-s", help="Types, roles and public bounds (`coterie schema draft` writes one).")
]
Certificate = Annotated[
    Path | None, Option("--certificate", "-c", help="Default: that of the release, beside it.")
]
GroupSize = Annotated[int | None, Option("--k", "-k", help="Records per group.")]
Target = Annotated[str | None, Option(help="The attribute that readers will predict.")]
Threshold = Annotated[
    float | None, Option(help="Make two classes of the target: at most this, and above it.")
]
AsJson = Annotated[bool, Option("--json", help="Machine-readable output.")]
Force = Annotated[bool, Option("--force", help="Overwrite existing outputs.")]
Query = Annotated[str | None, Option(help="Query to read instead of a table.")]
SourceTable = Annotated[
    str | None, Option(help="Table of a database, sheet of a workbook, or data frame of an .rda file.")
]
OriginalTable = Annotated[str, Argument(metavar="ORIGINAL", help="The table before protection.")]
TableOfRelease = Annotated[str | None, Option("--table", help="The released table, for a database URL.")]
ReleasedTable = Annotated[str | None, Option(help="Table of RELEASED, where it is a database.")]
LedgerToCharge = Annotated[Path | None, Option(help="Ledger to charge (`coterie ledger init` makes one).")]
Despite = Annotated[
    str | None,
    Option(
        help="Why the release goes on although its audit found a severe risk. Kept in ledger and dossier."
    ),
]
SignWith = Annotated[
    Path | None, Option("--sign", help="Ed25519 key file (`coterie certificate key` makes one).")
]
NoiseSeed = Annotated[
    int | None, Option(help="Reproducible noise for experiments. Not private; the certificate says so.")
]
Bins = Annotated[
    str,
    Option(
        help="Histograms: domain (1/100 of it), value (one bin per value of whole numbers, else as domain) or auto."
    ),
]


def asked(given: dict[str, Any], *but: str) -> dict[str, Any]:
    """The options of a command, `locals()` of its first line, as the function that it stands for takes them."""
    return {name: value for name, value in given.items() if name not in ("as_json", *but)}
