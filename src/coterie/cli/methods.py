"""coterie methods: the table of methods, generated from the recipes."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.panel import Panel
from rich.table import Table
from typer import Argument

import coterie
from coterie.cli.options import AsJson
from coterie.cli.output import console, print_json, styled_status

app = typer.Typer(
    help="What each method does and what it really promises. `coterie methods show NAME` tells the whole story.",
    invoke_without_command=True,
)


def complete_method(incomplete: str) -> list[str]:
    """For the shell: names that begin so."""
    return [name for name in coterie.list_methods() if name.startswith(incomplete)]


@app.callback()
def list_methods(context: typer.Context, as_json: AsJson = False) -> None:
    """List every method with the status of its guarantee and the paper it comes from."""
    if context.invoked_subcommand is not None:
        return
    methods = list(coterie.list_methods().values())
    if as_json:
        print_json(methods)
        return
    table = Table(title="Methods", caption="Example promise: 1,000 records, ε = 1, k = 10, declared bounds.")
    for heading in ("method", "what it does", "status", "promise in this example", "paper"):
        table.add_column(heading, overflow="fold")
    for method in methods:
        table.add_row(
            f"[bold]{method['name']}[/]",
            method["title"],
            styled_status(method["status"]),
            "\n".join([method["example_label"], *(f"[dim]{line}[/]" for line in method["beside_in_words"])]),
            method["papers"],
        )
    console.print(table)
    console.print(
        "[dim]coterie methods show NAME explains the formula, the assumptions and the best known attack.[/]"
    )


@app.command("show")
def show_method(
    name: Annotated[
        str,
        Argument(
            metavar="NAME", help="A method's name, for example dp-synthetic.", autocompletion=complete_method
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Explain one method: formula, promise, assumptions, known attack."""
    content = coterie.list_methods()[name]
    if as_json:
        print_json(content)
        return
    k = (
        f"always {content['fixed_k']}"
        if content["fixed_k"]
        else f"{content['minimum_k']} or more; clusters of k, the last takes the remainder"
    )
    if content["k_may_be_left_out"]:
        k += "; left out, it follows from n, m and ε"
    lines = [
        f"[bold]What it does[/]   {content['title']}",
        f"[bold]Paper[/]          {content['papers']}",
        f"[bold]Formula[/]        {content['stages']}",
        f"[bold]Categories[/]     {content['stages_for_categories']}",
        f"[bold]k[/]              {k}",
        f"[bold]Status[/]         {styled_status(content['status'])} ({content['model']}; covers: {content['scope']})",
        f"[bold]Label[/]          {content['example_label']}   [dim](1,000 records, ε = 1)[/]",
        *(f"[bold]Beside it[/]      {line}" for line in content["beside_in_words"]),
        f"[bold]Claim[/]          {content['claim'] or 'none'}",
        f"[bold]Why[/]            {content['why']}",
        f"[bold]Known attack[/]   {content['attack']}",
    ]
    lines += [f"[bold]Assumes[/]        {assumption}" for assumption in content["assumptions"]]
    lines += [
        f"[bold]Beside it[/]      assumes that {assumption}"
        for other in content["beside"]
        for assumption in other["assumptions"]
        if assumption not in content["assumptions"]
    ]
    console.print(Panel("\n".join(lines), title=name, expand=False))
