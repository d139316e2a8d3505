"""What a page does, as a command and as Python: the parts that all pages share."""

from __future__ import annotations

import shlex
from typing import Any

from coterie.studio.plan import Plan
from coterie.studio.project import Choice, Project, Released
from coterie.studio.sampling import RUNS, SEED

SHOWN = 20  # rows of a first look


def source_of(project: Project) -> tuple[str, list[str]]:
    """What the command reads, and the options that go with it. Invented people are read from the studio's copy."""
    origin = project.state.origin
    if origin.kind == "database":
        named = ["--table", origin.table] if origin.table else ["--query", str(origin.query)]
        return origin.shown, named
    sheet = ["--table", origin.table] if origin.table else []
    return str(project.source or project.table_path), sheet


def choice_options(choice: Choice) -> list[str]:
    words = ["--method", choice.method]
    if choice.epsilon:
        words += ["--epsilon", choice.epsilon]
    if choice.k is not None:
        words += ["--k", str(choice.k)]
    if choice.grouping != "equal":
        words += ["--grouping", choice.grouping]
    if choice.shuffle:
        words += ["--shuffle"]
    if not choice.clip:
        words += ["--no-clip"]
    return words


def arguments(choice: Choice) -> str:
    """The arguments of protect() that differ from their defaults."""
    usual = {"grouping": "equal", "shuffle": False, "clip": True, "k": None, "epsilon": ""}
    given = {name: value for name, value in choice.model_dump().items() if usual.get(name) != value}
    return ", ".join(f"{name}={value!r}" for name, value in given.items())


def reading_lines(project: Project) -> list[str]:
    """Python that reads the table and its description as the command does."""
    source, named = source_of(project)
    return [
        f"schema = Schema.load({str(project.schema_path)!r})",
        f"table = read_table({source!r}{given_options(named)}, schema=schema)",
    ]


def given_options(options: list[str]) -> str:
    """`--table NAME` as the arguments of a function."""
    return "".join(f", {key[2:]}={value!r}" for key, value in zip(options[::2], options[1::2], strict=True))


def loading_lines(project: Project) -> list[tuple[str, str]]:
    """What the page Load does: the table is read, and a first description of it drafted."""
    source, named = source_of(project)
    command = wrapped(["coterie", "schema", "draft", source, *named, "--output", "schema.yaml"])
    python = [
        "from coterie.io import draft_schema, guess_dialect, read_table",
        "",
        f"dialect = guess_dialect({source!r})",
        f"table = read_table({source!r}{given_options(named)}, dialect=dialect)",
        f"print(table.num_rows, table.num_columns, table.slice(0, {SHOWN}))",
        "print(draft_schema(table, dialect=dialect))",
    ]
    return [("Command", command), ("Python", "\n".join(python))]


def wrapped(words: list[str]) -> str:
    """One option a line, as one would write it by hand."""
    lines: list[list[str]] = [[]]
    for word in words:
        if word.startswith("--"):
            lines.append([])
        lines[-1].append(word)
    return " \\\n  ".join(shlex.join(line) for line in lines)


def protect_lines(project: Project, choice: Choice) -> list[tuple[str, str]]:
    """The release of this choice, for `m.equivalent`."""
    source, named = source_of(project)
    words = ["coterie", "protect", source, *named, "--schema", str(project.schema_path)]
    python = [
        "from coterie import Schema, protect",
        "from coterie.table.reading import read_table",
        "",
        *reading_lines(project),
        f"release = protect(table, schema, {arguments(choice)})",
        "print(release.guarantee.status, release.guarantee.label)",
    ]
    command = wrapped([*words, *choice_options(choice), "--output", "released.csv"])
    return [("Command", command), ("Python", "\n".join(python))]


# The preview and the comparison as commands and Python lines.

_IMPORTS = "from coterie import Schema, protect\nfrom coterie.table.reading import read_table"


def preview_lines(project: Project, choice: Choice, rows: int) -> list[tuple[str, str]]:
    """The command looks at all rows; Python also at the very sample of the page."""
    source, named = source_of(project)
    schema = ["--schema", str(project.schema_path)]
    unshuffled = choice.model_copy(update={"shuffle": False})
    made = ["coterie", "protect", source, *named, *schema, *choice_options(unshuffled)]
    evaluated = ["coterie", "evaluate", source, "preview.parquet", *named, *schema]
    command = wrapped([*made, "--seed", str(SEED), "--output", "preview.parquet"]) + "\n" + wrapped(evaluated)
    python = [
        _IMPORTS,
        "from coterie.methods import get_method",
        "from coterie.studio.sampling import sample_rows",
        "from coterie.evaluation.evaluation import evaluate",
        "",
        *reading_lines(project),
        f"sample = sample_rows(table, {rows}, seed={SEED})",
        f"preview = protect(sample, schema, {arguments(unshuffled)}, seed={SEED})",
        f"synthetic = get_method({choice.method!r}).synthetic",
        "for name, found in evaluate(sample, preview.table, schema, shuffled=synthetic).measures.items():",
        "    print(name, found.value)",
    ]
    return [("Command (all rows)", command), ("Python (the sample of this page)", "\n".join(python))]


def comparison_lines(project: Project, asked: dict[str, Any]) -> list[tuple[str, str]]:
    source, named = source_of(project)
    words = ["coterie", "compare", source, *named, "--schema", str(project.schema_path)]
    words += ["--methods", ",".join(asked["methods"]), "--epsilon", ",".join(asked["epsilons"])]
    if asked["ks"]:
        words += ["--k", ",".join(map(str, asked["ks"]))]
    if asked["synthetic"]:
        words += ["--tune-on", "synthetic"]
    words += ["--runs", str(RUNS), "--seed", str(SEED)]  # the noise of the page, so the figures too
    return [("Compare (all rows)", wrapped([*words, "--output", "comparison"]))]


# The audit as commands and as Python lines.

PREVIEW = "preview.arrow"


def audit_lines(project: Project, made: dict[str, Any]) -> list[tuple[str, str]]:
    """`made`: the parameters of the job. The command attacks a preview of all rows, Python the very same sample."""
    source, named = source_of(project)
    schema, table = reading_lines(project)
    choice = Choice(**made["choice"]).model_copy(update={"shuffle": False})
    entry = project.state.released[made["of"] - 1] if made["of"] else None
    described = ["--schema", str(project.schema_path)]
    options = ["--known", repr(made["known"]), "--seconds", str(made["seconds"])]
    if made["control"]:
        options += ["--control", made["control"]]
    commands, call = [], [f"known={made['known']!r}", f"seconds={made['seconds']}"]
    lines = [
        "from coterie import Certificate, Schema, protect"
        if entry
        else "from coterie import Schema, protect",
        "from coterie.auditing import audit_release",
        "from coterie.table.reading import read_table",
        schema,
        table,
    ]
    if made["control"]:
        call.append(f"control=read_table({made['control']!r}, schema=schema)")
    if entry is None:
        preview = ["coterie", "protect", source, *named, *described, *choice_options(choice)]
        commands.append(wrapped([*preview, "--seed", str(SEED), "--output", PREVIEW]))
        released = PREVIEW
        lines.insert(3, "from coterie.studio.sampling import sample_rows")
        lines.append(f"table = sample_rows(table, {made['rows']})")
        lines.append(f"released = protect(table, schema, {arguments(choice)}, seed={SEED}).table")
        call += ["in_order=True", *([f"k={choice.k}"] if choice.k else [])]
    else:
        released = entry.data
        lines.append(f"released = read_table({entry.data!r}, schema=schema.with_default_dialect)")
        lines.append(f"certificate = Certificate.from_json(open({entry.certificate!r}, 'rb').read())")
        call.append("certificate=certificate")
        if entry.choice.shuffle and entry.internal:
            options += ["--order", entry.internal]
            lines.insert(0, "import json")
            call.append(f"order=json.load(open({entry.internal!r}))['row_order']")
    audit = ["coterie", "audit", source, released, *named, *described, *options, "--output", "audit"]
    commands.append(wrapped(audit))
    lines.append(f"audit = audit_release(table, released, schema, {', '.join(call)})")
    lines.append("print(audit.verdict)")
    return [
        ("Commands" if len(commands) > 1 else "Command", "\n\n".join(commands)),
        ("Python", "\n".join(lines)),
    ]


# The release of a plan as a command and as Python lines: what runs is the same, and so is what comes out.


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
        "from coterie.table.reading import read_table",
        "from coterie.publication.publishing import Destination, publish",
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
        "from coterie.publication.publishing import purpose_of"
    )
    lines[3] = (
        "from coterie.methods import get_method\nfrom coterie.publication.publishing import Destination, publish_charged"
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
