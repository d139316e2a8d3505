"""The release of a plan as a command and as Python lines: what runs is the same, and so is what comes out."""

from __future__ import annotations

import shlex

from coterie.studio.plan import Plan
from coterie.studio.project import Choice, Project, Released


def release_command(project: Project, plan: Plan | Released) -> str:
    source, named = source_of(project)
    words = ["coterie", "protect", source, *named, "--schema", str(project.schema_path)]
    words += choice_options(plan.choice, shuffle=plan.choice.shuffle)
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
    source, named = source_of(project)
    reading = "".join(f", {key[2:]}={value!r}" for key, value in zip(named[::2], named[1::2], strict=True))
    places = [f"{plan.data!r}"]
    if plan.table:
        places.append(f"table={plan.table!r}")
    places.append(f"certificate=Path({plan.certificate!r})")
    places += [
        f"{name}=Path({value!r})" for name, value in (("internal", plan.internal), ("key", plan.key)) if value
    ]
    call = ", ".join(f"{name}={value!r}" for name, value in given(plan.choice).items())
    lines = [
        "from pathlib import Path",
        "from coterie import Schema, protect",
        "from coterie.io.reading import read_table",
        "from coterie.publishing import Destination, publish",
        "",
        f"schema = Schema.from_yaml({str(project.schema_path)!r})",
        f"destination = Destination({', '.join(places)})",
        "",
        "def make():",
        f"    table = read_table({source!r}{reading}, schema=schema)",
        f"    return protect(table, schema, {call})",
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


def choice_options(choice: Choice, *, shuffle: bool) -> list[str]:
    words = ["--method", choice.method]
    if choice.epsilon:
        words += ["--epsilon", choice.epsilon]
    if choice.k is not None:
        words += ["--k", str(choice.k)]
    if choice.grouping != "equal":
        words += ["--grouping", choice.grouping]
    if shuffle:
        words += ["--shuffle"]
    if not choice.clip:
        words += ["--no-clip"]
    return words


def given(choice: Choice) -> dict[str, object]:
    """The arguments of protect() that differ from their defaults."""
    usual = {"grouping": "equal", "shuffle": False, "clip": True, "k": None, "epsilon": ""}
    return {name: value for name, value in choice.model_dump().items() if usual.get(name) != value}


def source_of(project: Project) -> tuple[str, list[str]]:
    """What the command reads, and the options that go with it. Invented people are read from the studio's copy."""
    origin = project.state.origin
    if origin.kind == "database":
        named = ["--table", origin.table] if origin.table else ["--query", str(origin.query)]
        return origin.shown, named
    named = ["--table", origin.table] if origin.table else []  # a sheet of a workbook
    return str(project.source or project.table_path), named


def wrapped(words: list[str]) -> str:
    """One option a line, as one would write it by hand."""
    lines: list[list[str]] = [[]]
    for word in words:
        if word.startswith("--"):
            lines.append([])
        lines[-1].append(word)
    return " \\\n  ".join(shlex.join(line) for line in lines)


def verify_command(entry: Released) -> str:
    named = ["--table", entry.table] if entry.table else []
    return shlex.join(["coterie", "certificate", "verify", entry.data, entry.certificate, *named])
