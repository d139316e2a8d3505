"""coterie methods: the table of methods, generated from the recipes."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.panel import Panel
from typer import Argument

import coterie
from coterie.cli.options import AsJson
from coterie.cli.output import say, styled_status, table_of

app = typer.Typer(
    help="What each method does and what it really promises. `coterie methods show NAME` tells the whole story.",
    invoke_without_command=True,
)


def complete_method(incomplete: str) -> list[str]:
    """The names that begin so, for completion in the shell."""
    return [name for name in coterie.list_methods() if name.startswith(incomplete)]


@app.callback()
def list_methods(context: typer.Context, as_json: AsJson = False) -> None:
    """List every method with the status of its guarantee."""
    if context.invoked_subcommand is not None:
        return
    methods = list(coterie.list_methods().values())
    rows = ((f"[bold]{m['name']}[/]", m["title"], styled_status(m["status"]), m["model"]) for m in methods)
    headings = ("method", "what it does", "status", "of what")  # the name is to be copied
    say(
        methods,
        table_of(rows, headings, whole=("method", "status"), title="Methods"),
        "[dim]coterie methods show NAME explains one: paper, formula, promise, assumptions and the best known attack.[/]",
        as_json=as_json,
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
    k = f"always {content['fixed_k']}"
    if not content["fixed_k"]:
        k = f"{content['minimum_k']} or more; clusters of k, the last takes the remainder"
    if content["k_may_be_left_out"]:
        k += "; left out, it follows from n, m and ε"
    lines = [
        ("What it does", content["title"]),
        ("Paper", content["papers"]),
        ("Formula", content["stages"]),
        ("Categories", content["stages_for_categories"]),
        ("k", k),
        ("Status", f"{styled_status(content['status'])} ({content['model']}; covers: {content['scope']})"),
        ("Label", f"{content['example_label']}   [dim](1,000 records, ε = 1)[/]"),
        *(("Beside it", line) for line in content["beside_in_words"]),
        ("Claim", content["claim"] or "none"),
        ("Why", content["why"]),
        ("Known attack", content["attack"]),
        *(("Assumes", assumption) for assumption in content["assumptions"]),
        *(
            ("Beside it", f"assumes that {assumption}")
            for other in content["beside"]
            for assumption in other["assumptions"]
            if assumption not in content["assumptions"]
        ),
    ]
    text = "\n".join(f"[bold]{heading}[/]{'':{15 - len(heading)}}{words}" for heading, words in lines)
    say(content, Panel(text, title=name, expand=False), as_json=as_json)
