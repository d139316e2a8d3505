"""coterie risk: how easily people in a table are re-identified, before anything is protected."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from rich.markup import escape
from typer import Option

import coterie
from coterie.auditing.disclosure_risk import WARNING
from coterie.cli.options import AsJson, DataSource, Force, Query, SchemaFile, SourceTable, asked
from coterie.cli.output import PLAIN, console, note, print_json, table_of, warn
from coterie.publication.staging import stage_bytes
from coterie.report import risk_page


def risk_command(
    data: DataSource,
    schema: SchemaFile,
    keys: Annotated[
        str | None,
        Option(
            "--keys", "-k", help="What an attacker may know of a person, separated by commas: age,sex,region."
        ),
    ] = None,
    weight: Annotated[
        str | None, Option(help="Column of survey weights: how many people a record stands for.")
    ] = None,
    population: Annotated[int | None, Option(help="How many people there are in all.")] = None,
    sensitive: Annotated[
        str | None,
        Option(help="Column that must not be inferred: its values are counted in every group (l-diversity)."),
    ] = None,
    table: SourceTable = None,
    query: Query = None,
    page: Annotated[Path | None, Option(help="Also write an HTML page for people.")] = None,
    output: Annotated[Path | None, Option("--output", "-o", help="Also write the figures as JSON.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """How easily people in a table are re-identified, before and after recoding. Stays on this machine.

    Example: coterie risk people.csv --schema schema.yaml --keys age,sex,region
    """
    found = coterie.risk(**asked(locals(), "page", "output", "force"))
    written = {
        page: risk_page.risk_page(found),
        output: json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n",
    }
    inputs = ((data, table) if table else data, str(schema))
    staged = [
        stage_bytes(text.encode(), path, force=force, private=True, inputs=inputs)
        for path, text in written.items()
        if path is not None
    ]
    for one in staged:
        one.publish()
    if as_json:
        print_json(found.to_dict())
        return
    warn(WARNING)
    console.print(f"[bold]{escape(found.verdict)}.[/]")
    headings = ["", "now"] if found.before is None else ["", "before recoding", "after"]
    _show(risk_page.figure_lines(found), headings)
    if found.now.uniques:
        console.print(risk_page.singled_out(found.now))
        _show(risk_page.key_lines(found.now), risk_page.KEY_HEADINGS)
        _show(risk_page.subset_lines(found.now), risk_page.SUBSET_HEADINGS)
    for name, words in found.recoded.items():
        note(f"{name}: {words}.", before="Recoded")
    for words in found.notes:
        note(words)
    for path in filter(None, (page, output)):
        console.print(f"Wrote {escape(str(path))}. Do not publish it.")


def _show(lines: Sequence[Sequence[str]], headings: Sequence[str]) -> None:
    if lines:
        rows = [tuple(map(escape, line)) for line in lines]
        console.print(table_of(rows, headings, right=headings[1:], **PLAIN))
