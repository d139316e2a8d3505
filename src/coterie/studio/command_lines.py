"""What a page does, as a command and as Python: the parts that all pages share."""

from __future__ import annotations

import shlex

from coterie.studio.project import Choice, Project

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
        f"schema = Schema.from_yaml({str(project.schema_path)!r})",
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
        "from coterie.io.reading import read_table",
        "",
        *reading_lines(project),
        f"release = protect(table, schema, {arguments(choice)})",
        "print(release.guarantee.status, release.guarantee.label)",
    ]
    command = wrapped([*words, *choice_options(choice), "--output", "released.csv"])
    return [("Command", command), ("Python", "\n".join(python))]
