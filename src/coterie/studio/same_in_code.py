"""What each page does, as a command and as Python: to be copied, and to be run without the studio."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from coterie.methods import get_method
from coterie.studio.project import Choice, PastRelease, Project
from coterie.studio.release_plan import ReleasePlan
from coterie.studio.sampling import RUNS, SEED

SHOWN = 20  # rows of a first look
PREVIEW = "preview.arrow"
Ways = list[tuple[str, str]]  # a title and the lines, for `m.equivalent` of the templates


# One call of a public function: the same inputs and options as words of a command, and as arguments in Python.


def options(given: Mapping[str, Any]) -> list[str]:
    """Options as words of a command. What is None, False or empty is left out."""
    words: list[str] = []
    for name, value in _said(given).items():
        words.append(f"--{name.replace('_', '-')}")
        if isinstance(value, list):
            words.append(",".join(map(str, value)))
        elif value is not True:
            words.append(str(value))
    return words


def arguments(given: Mapping[str, Any]) -> list[str]:
    """Options as arguments of a function, each with its name."""
    return [f"{name}={value!r}" for name, value in _said(given).items()]


def _said(given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value for name, value in given.items() if value not in ("", [], None) and value is not False
    }


def call(function: str, *given: str) -> str:
    """One argument per line."""
    return "\n".join([f"{function}(", *(f"    {one}," for one in given), ")"])


def wrapped(words: list[str]) -> str:
    """One option per line, as one would write it by hand."""
    lines: list[list[str]] = [[]]
    for word in words:
        if word.startswith("--"):
            lines.append([])
        lines[-1].append(word)
    return " \\\n  ".join(shlex.join(line) for line in lines)


def ways(command: str, *python: str) -> Ways:
    return [("Command", command), ("Python", "\n".join(["import coterie", "", *python]))]


# What all pages read: the table and its description.


def source_of(project: Project) -> tuple[str, dict[str, str]]:
    """What the command reads, and the options that go with it. Invented people are read from the studio's copy."""
    origin = project.state.origin
    source = origin.shown if origin.kind == "database" else str(project.source or project.table_path)
    named = {"table": origin.table, "query": origin.query}
    return source, {name: value for name, value in named.items() if value}


def _reading(project: Project, function: str, *more: str) -> str:
    source, named = source_of(project)
    return f"{function}({', '.join([repr(source), *arguments(named), *more])})"


def _schema(project: Project) -> str:
    return f"schema = coterie.Schema.load({str(project.schema_path)!r})"


def _table(project: Project) -> str:
    """The line of Python that reads the table as the command does, with the description."""
    return f"table = {_reading(project, 'coterie.read_table', 'schema=schema')}"


def described(project: Project, command: str, *inputs: str) -> list[str]:
    """The command on the table, what is compared with it, and its description."""
    source, named = source_of(project)
    return ["coterie", command, source, *inputs, *options({**named, "schema": project.schema_path})]


def _draft(project: Project) -> list[str]:
    source, named = source_of(project)
    return ["coterie", "schema", "draft", source, *options({**named, "output": "schema.yaml"})]


def choice_options(choice: Choice) -> list[str]:
    given = choice.model_dump(include={"method", "epsilon", "delta", "k"})
    grouping = "" if choice.grouping == "equal" else choice.grouping
    order = {"shuffle" if choice.shuffle else "keep_order": _says_order(choice)}
    return options({**given, "grouping": grouping, **order, "no_clip": not choice.clip})


def choice_arguments(choice: Choice) -> list[str]:
    """The arguments of protect() that differ from their defaults."""
    usual: dict[str, Any] = {"grouping": "equal", "clip": True, "k": None, "epsilon": "", "delta": ""}
    usual["shuffle"] = None if _says_order(choice) else choice.shuffle
    given = choice.model_dump().items()
    return [f"{name}={value!r}" for name, value in given if usual.get(name) != value]


def _says_order(choice: Choice) -> bool:
    """Rows that stand for records are shuffled unless somebody says otherwise; synthetic ones have no order."""
    return choice.shuffle == get_method(choice.method).synthetic


def protect_words(project: Project, choice: Choice, given: Mapping[str, Any]) -> list[str]:
    return [*described(project, "protect"), *choice_options(choice), *options(given)]


# The pages.


def loading_lines(project: Project) -> Ways:
    """Load: the table is read, and a first description of it drafted."""
    return ways(
        wrapped(_draft(project)),
        f"table = {_reading(project, 'coterie.read_table')}",
        f"print(table.num_rows, table.num_columns, table.slice(0, {SHOWN}))",
        f"print({_reading(project, 'coterie.Schema.draft')}.text)",
    )


def describing_lines(project: Project) -> Ways:
    command = [
        "# A first draft of the same file, with what is public left open:",
        shlex.join(_draft(project)),
        "# Whether the description of this page is complete:",
        shlex.join(["coterie", "schema", "check", str(project.schema_path)]),
    ]
    draft = f"draft = {_reading(project, 'coterie.Schema.draft')}"
    return ways("\n".join(command), draft, _schema(project), _table(project))


def recommend_lines(project: Project, asked: dict[str, Any]) -> Ways:
    """Recommend, at one ε. The number of records is enough: no value is looked at."""
    return ways(
        wrapped([*described(project, "recommend"), *options(asked)]),
        _schema(project),
        f"found = coterie.recommend({', '.join(['None', 'schema', *arguments(asked)])})",
        "print(found.best, found.runner_up)",
    )


def protect_lines(project: Project, choice: Choice) -> Ways:
    return ways(
        wrapped(protect_words(project, choice, {"output": "released.csv"})),
        _schema(project),
        _table(project),
        f"release = coterie.protect(table, schema, {', '.join(choice_arguments(choice))})",
        "print(release.guarantee.status, release.guarantee.label)",
    )


def preview_lines(project: Project, choice: Choice, rows: int) -> Ways:
    """Look. The command looks at all rows; Python also at the very sample of the page."""
    unshuffled = choice.model_copy(update={"shuffle": False})
    made = protect_words(project, unshuffled, {"seed": SEED, "output": "preview.parquet"})
    command = f"{wrapped(made)}\n{wrapped(described(project, 'evaluate', 'preview.parquet'))}"
    python = [
        "import coterie",
        "from coterie.studio.sampling import sample_rows",
        "",
        _schema(project),
        _table(project),
        f"sample = sample_rows(table, {rows}, seed={SEED})",
        f"preview = coterie.protect(sample, schema, {', '.join(choice_arguments(unshuffled))}, seed={SEED})",
        "for name, found in coterie.evaluate(sample, preview, schema).measures.items():",
        "    print(name, found.value)",
    ]
    return [("Command (all rows)", command), ("Python (the sample of this page)", "\n".join(python))]


def comparison_lines(project: Project, asked: dict[str, Any]) -> Ways:
    """Compare, with the noise of the page, so the figures too."""
    source, named = source_of(project)
    given = {"methods": asked["methods"], "epsilon": asked["epsilons"], "k": asked["ks"]}
    given |= {"runs": RUNS, "seed": SEED, "tune_on": "synthetic" if asked["synthetic"] else None}
    command = wrapped([*described(project, "compare"), *options({**given, "output": "comparison"})])
    inputs = (repr(source), repr(str(project.schema_path)))
    python = call("found = coterie.compare", *inputs, *arguments({**named, **given}))
    (_, both), (_, lines) = ways(command, python, "print(found.to_frame())")
    return [("Compare (all rows)", both), ("Python (all rows)", lines)]


def audit_lines(project: Project, made: dict[str, Any]) -> Ways:
    """`made`: the parameters of the job. The command attacks a preview of all rows, Python the very same sample."""
    choice = Choice(**made["choice"]).model_copy(update={"shuffle": False})
    entry = project.state.released[made["of"] - 1] if made["of"] else None
    given = {name: made[name] for name in ("known", "seconds", "control")}
    lines, commands, held_back = ["import coterie", _schema(project), _table(project)], [], []
    if entry is None:
        commands.append(wrapped(protect_words(project, choice, {"seed": SEED, "output": PREVIEW})))
        name, chosen = (
            ("sample_rows", "table") if made["control"] else ("sample_and_control", "table, control")
        )
        held_back = [] if made["control"] else ["control=control"]
        unit = project.schema().unit
        whole = f", unit={unit.column!r}" if unit and held_back else ""
        lines.insert(1, f"from coterie.studio.sampling import {name}")
        lines.append(f"{chosen} = {name}(table, {made['rows']}{whole})")
        lines.append(
            f"released = coterie.protect(table, schema, {', '.join(choice_arguments(choice))}, seed={SEED})"
        )
    else:
        given["order"] = entry.internal if entry.choice.shuffle else None
        lines.append(f"released = {entry.data!r}")
    audit = described(project, "audit", entry.data if entry else PREVIEW)
    commands.append(wrapped([*audit, *options({**given, "output": "audit"})]))
    python = arguments({**given, "certificate": entry.certificate if entry else None})
    lines.append(f"found = coterie.audit(table, released, schema, {', '.join([*python, *held_back])})")
    lines.append("print(found.verdict)")
    title = "Commands" if len(commands) > 1 else "Command"
    return [(title, "\n\n".join(commands)), ("Python", "\n".join(lines))]


def release_ways(project: Project, plan: ReleasePlan | PastRelease) -> Ways:
    """The release of a plan: what runs is the same, and so is what comes out."""
    source, named = source_of(project)
    given = {
        "output_table": plan.table,
        "certificate": plan.certificate if plan.table else None,  # a file has it beside it
        "internal": plan.internal,
        "sign": plan.key,
        "ledger": plan.ledger,
        "population": plan.population,
    }
    inputs = (repr(source), repr(str(project.schema_path)), repr(plan.data))
    python = [*inputs, *choice_arguments(plan.choice), *arguments({**named, **given})]
    command = protect_words(project, plan.choice, {"output": plan.data, **given})
    return ways(wrapped(command), call("written = coterie.publish", *python), "print(written)")


def verify_command(entry: PastRelease) -> str:
    words = ["coterie", "certificate", "verify", entry.data, entry.certificate]
    return shlex.join([*words, *options({"table": entry.table})])


def dossier_ways(entry: PastRelease, facts: dict[str, Any]) -> Ways:
    """The internal dossier; with --public the one to publish."""
    given = {name: value and str(value) for name, value in facts.items()}
    named = {"for" if name == "audience" else name: value for name, value in given.items()}
    command = wrapped(["coterie", "dossier", entry.data, *options(named)])
    python = call("coterie.write_dossier", repr(entry.data), *arguments(given))
    return [("The dossier, as a command", command), ("The dossier, in Python", f"import coterie\n\n{python}")]
