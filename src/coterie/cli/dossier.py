"""coterie dossier: the two pages that somebody signs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rich.markup import escape
from typer import Argument, Option

import coterie
from coterie.cli.options import AsJson, Certificate, Despite, Force, TableOfRelease, asked
from coterie.cli.output import say


def dossier_command(
    released: Annotated[str, Argument(metavar="RELEASED", help="The released file, or a database URL.")],
    table: TableOfRelease = None,
    certificate: Certificate = None,
    audit: Annotated[
        Path | None,
        Option(help="Folder of `coterie audit`. Default: one beside the release that names this release."),
    ] = None,
    evaluation: Annotated[
        Path | None,
        Option(
            help="Folder of `coterie evaluate --output`. Default: one beside the release that names this release."
        ),
    ] = None,
    ledger: Annotated[Path | None, Option(help="The ledger that was charged.")] = None,
    title: Annotated[str | None, Option(help="What is released, in a few words.")] = None,
    audience: Annotated[str, Option("--for", help="Who gets the release.")] = "everybody",
    public: Annotated[
        bool, Option("--public", help="The version to publish: no figure from the original data.")
    ] = False,
    despite: Despite = None,
    output: Annotated[
        Path | None, Option("--output", "-o", help="Both files, without ending. Default: RELEASED.dossier.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write two printable pages about a release, as HTML and PDF, for whoever must sign it.

    Example: coterie dossier out.csv --title "Household survey 2026" --for researchers
    """
    written = coterie.write_dossier(**asked(locals()))
    safe = "safe to publish" if written.public else "[bold #D55E00]internal: do not publish[/]"
    told = f"Dossier: [bold]{escape(str(written.pdf))}[/] and [bold]{escape(str(written.html))}[/] ({safe})."
    content = {"html": str(written.html), "pdf": str(written.pdf), "public": written.public}
    say(content, told, as_json=as_json)
