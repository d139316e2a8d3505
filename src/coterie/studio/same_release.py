"""The release of a plan as a command and as Python lines: what runs is the same, and so is what comes out."""

from __future__ import annotations

import shlex

from coterie.studio.command_lines import arguments, choice_options, reading_lines, source_of, wrapped
from coterie.studio.plan import Plan
from coterie.studio.project import Project, Released


def release_command(project: Project, plan: Plan | Released) -> str:
    source, named = source_of(project)
    words = ["coterie", "protect", source, *named, "--schema", str(project.schema_path)]
    words += choice_options(plan.choice)
    words += ["--output", plan.data]
    if plan.table:
        words += ["--output-table", plan.table, "--certificate", plan.certificate]
    for option, value in (
        ("--internal", plan.internal),
        ("--sign", plan.key),
        ("--ledger", plan.ledger),
        ("--population", plan.population),
    ):
        if value:
            words += [option, value]
    return wrapped(words)


def release_python(project: Project, plan: Plan | Released) -> str:
    schema, table = reading_lines(project)
    places = [f"{plan.data!r}"]
    if plan.table:
        places.append(f"table={plan.table!r}")
    places.append(f"certificate=Path({plan.certificate!r})")
    places += [
        f"{name}=Path({value!r})" for name, value in (("internal", plan.internal), ("key", plan.key)) if value
    ]
    lines = [
        "from pathlib import Path",
        "from coterie import Schema, protect",
        "from coterie.io.reading import read_table",
        "from coterie.publishing import Destination, publish",
        "",
        schema,
        f"destination = Destination({', '.join(places)})",
        "",
        "def make():",
        f"    {table}",
        f"    return protect(table, schema, {arguments(plan.choice)})",
        "",
    ]
    if plan.ledger is None:
        return "\n".join([*lines, "publish(make, destination)"])
    lines[1] = "from fractions import Fraction\nfrom coterie import Ledger, Schema, protect"
    lines[3] = (
        "from coterie.ledger import Purpose\nfrom coterie.publishing import Destination, publish_charged"
    )
    purpose = f"Purpose({plan.population!r}, Fraction({plan.cost!r}), {plan.choice.method!r}, '', destination.shown)"
    return "\n".join(
        [
            *lines,
            f"with Ledger.open({plan.ledger!r}) as ledger:",
            f"    publish_charged(make, destination, ledger, {purpose})",
        ]
    )


def verify_command(entry: Released) -> str:
    named = ["--table", entry.table] if entry.table else []
    return shlex.join(["coterie", "certificate", "verify", entry.data, entry.certificate, *named])
