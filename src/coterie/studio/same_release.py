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
    choice = plan.choice
    lines[1] = (
        "from fractions import Fraction\nfrom coterie import Ledger, Schema, protect\n"
        "from coterie.charging import purpose_of"
    )
    lines[3] = (
        "from coterie.methods import get_method\nfrom coterie.publishing import Destination, publish_charged"
    )
    recipe = f"get_method({choice.method!r}).grouped({choice.grouping!r})"
    options = {
        "population": plan.population,
        "fingerprint": f"release of {plan.data}, ε = {plan.cost}",
        "shuffled": choice.shuffle,
        "clipped": choice.clip,
    }
    given = ", ".join(f"{name}={value!r}" for name, value in options.items())
    epsilon = f"Fraction({choice.epsilon!r})"
    return "\n".join(
        [
            *lines,
            f"purpose = purpose_of({recipe}, {epsilon}, schema, {choice.k!r}, target=destination.shown, {given})",
            f"with Ledger.open({plan.ledger!r}) as ledger:",
            "    publish_charged(make, destination, ledger, purpose)",
        ]
    )


def verify_command(entry: Released) -> str:
    named = ["--table", entry.table] if entry.table else []
    return shlex.join(["coterie", "certificate", "verify", entry.data, entry.certificate, *named])
