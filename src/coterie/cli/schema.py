"""coterie schema: draft and check the description of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from typer import Argument, Option

import coterie
from coterie.cli.options import AsJson, DataSource, Query, SourceTable
from coterie.cli.output import say
from coterie.errors import ParameterError, shortened
from coterie.publication.staging import stage_bytes

app = typer.Typer(
    help="Describe a table: types, roles and public bounds, in a YAML file that you can read and sign off.",
    no_args_is_help=True,
)
_SHOWN = 40  # names of columns; --json has all


@app.command("draft")
def draft(
    data: DataSource,
    output: Annotated[Path, Option("--output", "-o", help="Where the draft goes.")],
    bounds_from_data: Annotated[
        float | None,
        Option(
            help="Fill the bounds with [0, FACTOR × maximum] as the papers do (they used 1.5). "
            "This discloses the maximum; the certificate will say so."
        ),
    ] = None,
    codebook: Annotated[
        str | None,
        Option(
            help="Where the labels in the dictionary of an SPSS, Stata, SAS or R file are published, such as "
            "'codebook 2024, page 12'. Without it they count as taken from the data."
        ),
    ] = None,
    table: SourceTable = None,
    query: Query = None,
    force: Annotated[bool, Option("--force", help="Overwrite an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a commented draft schema. Bounds are left open: fill them from public knowledge."""
    if bounds_from_data is not None and not 1 <= bounds_from_data < float("inf"):
        raise ParameterError("--bounds-from-data must be a number from 1 up.", "The papers use 1.5.")
    made = coterie.Schema.draft(
        data, bounds_from_data=bounds_from_data, table=table, query=query, codebook=codebook
    )
    inputs = ((data, table) if table else data,)
    stage_bytes(made.text.encode(), output, force=force, inputs=inputs).publish()
    lines = [f"Wrote {escape(str(output))}: {len(made.schema.attributes)} attributes."]
    if made.to_fill:
        lines.append(f"Now fill in what is public about: {escape(shortened(made.to_fill, _SHOWN))}.")
    if told := [a.name for a in made.schema.protected if a.from_data and not bounds_from_data]:
        lines.append(
            f"Say where the file's labels are published (public_because, or --codebook): {escape(shortened(told, _SHOWN))}."
        )
    if dropped := [a.name for a in made.schema.with_role(coterie.Role.IDENTIFIER)]:
        lines.append(f"Dropped, unless you change its role: {escape(shortened(dropped, _SHOWN))}.")
    for kind, words in (("weight", "a survey weight"), ("unit", "the number of a household or another unit")):
        if found := [name for name, suggested in made.suggestions.items() if suggested == kind]:
            lines.append(f"Looks like {words}, confirm: {escape(shortened(found, _SHOWN))}.")
    content = {
        "schema": str(output),
        "to_fill": made.to_fill,
        "dropped": dropped,
        "suggestions": dict(made.suggestions),
    }
    say(content, *lines, as_json=as_json)


@app.command("check")
def check(
    schema_file: Annotated[Path, Argument(metavar="SCHEMA", help="The schema file.")], as_json: AsJson = False
) -> None:
    """Read a schema and say whether it is ready to protect with."""
    schema = coterie.Schema.load(schema_file)
    schema.require_ready()
    roles = {role.value: [attribute.name for attribute in schema.with_role(role)] for role in coterie.Role}
    lines = [f"[bold]{role}[/]: {escape(', '.join(names)) or 'none'}" for role, names in roles.items()]
    say({"ready": True, "roles": roles}, *lines, "The schema is ready.", as_json=as_json)
