"""What a page does, as a command and as Python: the parts that all pages share."""

from __future__ import annotations

import shlex
from typing import Any

from coterie.methods import get_method
from coterie.studio.planning import ReleasePlan
from coterie.studio.project import Choice, PastRelease, Project
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
    for name in ("epsilon", "delta", "k"):
        if value := getattr(choice, name):
            words += [f"--{name}", str(value)]
    if choice.grouping != "equal":
        words += ["--grouping", choice.grouping]
    if _says_order(choice):
        words += ["--shuffle" if choice.shuffle else "--keep-order"]
    if not choice.clip:
        words += ["--no-clip"]
    return words


def _says_order(choice: Choice) -> bool:
    """Rows that stand for records are shuffled unless somebody says otherwise; synthetic ones have no order."""
    return choice.shuffle == get_method(choice.method).synthetic


def arguments(choice: Choice) -> str:
    """The arguments of protect() that differ from their defaults."""
    usual = {"grouping": "equal", "clip": True, "k": None, "epsilon": "", "delta": ""}
    usual["shuffle"] = None if _says_order(choice) else choice.shuffle
    given = {name: value for name, value in choice.model_dump().items() if usual.get(name) != value}
    return ", ".join(f"{name}={value!r}" for name, value in given.items())


def ways(command: str, python: list[str]) -> list[tuple[str, str]]:
    """For `m.equivalent` of the templates."""
    return [("Command", command), ("Python", "\n".join(["import coterie", "", *python]))]


def reading_lines(project: Project) -> list[str]:
    """Python that reads the table and its description as the command does."""
    source, named = source_of(project)
    return [
        f"schema = coterie.Schema.load({str(project.schema_path)!r})",
        f"table = coterie.read_table({source!r}{given_options(named)}, schema=schema)",
    ]


def given_options(options: list[str]) -> str:
    """`--table NAME` as the arguments of a function."""
    return "".join(f", {key[2:]}={value!r}" for key, value in zip(options[::2], options[1::2], strict=True))


def loading_lines(project: Project) -> list[tuple[str, str]]:
    """What the page Load does: the table is read, and a first description of it drafted."""
    source, named = source_of(project)
    command = wrapped(["coterie", "schema", "draft", source, *named, "--output", "schema.yaml"])
    python = [
        f"table = coterie.read_table({source!r}{given_options(named)})",
        f"print(table.num_rows, table.num_columns, table.slice(0, {SHOWN}))",
        f"print(coterie.Schema.draft({source!r}{given_options(named)}).text)",
    ]
    return ways(command, python)


def describing_lines(project: Project) -> list[tuple[str, str]]:
    """The description as commands and as Python."""
    source, options = source_of(project)
    given, schema = given_options(options), str(project.schema_path)
    command = [
        "# A first draft of the same file, with what is public left open:",
        shlex.join(["coterie", "schema", "draft", source, *options, "--output", "schema.yaml"]),
        "# Whether the description of this page is complete:",
        shlex.join(["coterie", "schema", "check", schema]),
    ]
    python = [
        f"draft = coterie.Schema.draft({source!r}{given})",
        f"schema = coterie.Schema.load({schema!r})",
        f"table = coterie.read_table({source!r}{given}, schema=schema)",
    ]
    return ways("\n".join(command), python)


def wrapped(words: list[str]) -> str:
    """One option per line, as one would write it by hand."""
    lines: list[list[str]] = [[]]
    for word in words:
        if word.startswith("--"):
            lines.append([])
        lines[-1].append(word)
    return " \\\n  ".join(shlex.join(line) for line in lines)


def recommend_lines(project: Project, asked: dict[str, Any]) -> list[tuple[str, str]]:
    """What the page Recommend does at one ε. The number of records is enough: no value is looked at."""
    words = [*described(project, "recommend"), "--purpose", asked["purpose"], "--epsilon", asked["epsilon"]]
    words += ["--records", str(asked["records"]), *(["--pure"] if asked["pure"] else [])]
    words += ["--unit-size", f"{asked['unit_size']:g}"] if "unit_size" in asked else []
    given = "".join(f", {name}={asked[name]!r}" for name in ("records", "unit_size", "pure") if name in asked)
    python = [
        f"schema = coterie.Schema.load({str(project.schema_path)!r})",
        f"found = coterie.recommend(None, schema, purpose={asked['purpose']!r}, "
        f"epsilon={asked['epsilon']!r}{given})",
        "print(found.best, found.runner_up)",
    ]
    return ways(wrapped(words), python)


def protect_lines(project: Project, choice: Choice) -> list[tuple[str, str]]:
    python = [
        *reading_lines(project),
        f"release = coterie.protect(table, schema, {arguments(choice)})",
        "print(release.guarantee.status, release.guarantee.label)",
    ]
    return ways(wrapped([*protect_words(project, choice), "--output", "released.csv"]), python)


def described(project: Project, command: str) -> list[str]:
    """The command on the table and its description."""
    source, named = source_of(project)
    return ["coterie", command, source, *named, "--schema", str(project.schema_path)]


def protect_words(project: Project, choice: Choice) -> list[str]:
    """`coterie protect` with this choice; where to, and with which noise, comes behind."""
    return [*described(project, "protect"), *choice_options(choice)]


# The preview and the comparison as commands and Python lines.


def preview_lines(project: Project, choice: Choice, rows: int) -> list[tuple[str, str]]:
    """The command looks at all rows; Python also at the very sample of the page."""
    unshuffled = choice.model_copy(update={"shuffle": False})
    made = [*protect_words(project, unshuffled), "--seed", str(SEED), "--output", "preview.parquet"]
    evaluated = described(project, "evaluate")
    evaluated.insert(3, "preview.parquet")
    command = wrapped(made) + "\n" + wrapped(evaluated)
    python = [
        "import coterie",
        "from coterie.studio.sampling import sample_rows",
        "",
        *reading_lines(project),
        f"sample = sample_rows(table, {rows}, seed={SEED})",
        f"preview = coterie.protect(sample, schema, {arguments(unshuffled)}, seed={SEED})",
        "for name, found in coterie.evaluate(sample, preview, schema).measures.items():",
        "    print(name, found.value)",
    ]
    return [("Command (all rows)", command), ("Python (the sample of this page)", "\n".join(python))]


def comparison_lines(project: Project, asked: dict[str, Any]) -> list[tuple[str, str]]:
    source, named = source_of(project)
    words = [*described(project, "compare"), "--methods", ",".join(asked["methods"])]
    words += ["--epsilon", ",".join(asked["epsilons"])]
    if asked["ks"]:
        words += ["--k", ",".join(map(str, asked["ks"]))]
    if asked["synthetic"]:
        words += ["--tune-on", "synthetic"]
    words += ["--runs", str(RUNS), "--seed", str(SEED)]  # the noise of the page, so the figures too
    named_options = given_options(named)
    python = [
        "import coterie",
        "",
        "found = coterie.compare(",
        f"    {source!r}, {str(project.schema_path)!r}{named_options},",
        f"    methods={asked['methods']!r}, epsilon={asked['epsilons']!r}, k={asked['ks']!r},",
        f"    runs={RUNS}, seed={SEED}{', tune_on=' + repr('synthetic') if asked['synthetic'] else ''},",
        ")",
        "print(found.to_frame())",
    ]
    command = wrapped([*words, "--output", "comparison"])
    return [("Compare (all rows)", command), ("Python (all rows)", "\n".join(python))]


# The audit as commands and as Python lines.

PREVIEW = "preview.arrow"


def audit_lines(project: Project, made: dict[str, Any]) -> list[tuple[str, str]]:
    """`made`: the parameters of the job. The command attacks a preview of all rows, Python the very same sample."""
    schema, table = reading_lines(project)
    choice = Choice(**made["choice"]).model_copy(update={"shuffle": False})
    entry = project.state.released[made["of"] - 1] if made["of"] else None
    options = ["--known", repr(made["known"]), "--seconds", str(made["seconds"])]
    if made["control"]:
        options += ["--control", made["control"]]
    commands, call = [], [f"known={made['known']!r}", f"seconds={made['seconds']}"]
    lines = ["import coterie", schema, table]
    if made["control"]:
        call.append(f"control={made['control']!r}")
    elif entry is None:
        call.append("control=control")
    if entry is None:
        preview = [*protect_words(project, choice), "--seed", str(SEED), "--output", PREVIEW]
        commands.append(wrapped(preview))
        released = PREVIEW
        chosen, name = "table", "sample_rows"
        if not made["control"]:
            chosen, name = "table, control", "sample_and_control"
        lines.insert(1, f"from coterie.studio.sampling import {name}")
        unit = project.schema().unit
        whole = f", unit={unit.column!r}" if unit and name == "sample_and_control" else ""
        lines.append(f"{chosen} = {name}(table, {made['rows']}{whole})")
        lines.append(f"released = coterie.protect(table, schema, {arguments(choice)}, seed={SEED})")
    else:
        released = entry.data
        lines.append(f"released = {entry.data!r}")
        call.append(f"certificate={entry.certificate!r}")
        if entry.choice.shuffle and entry.internal:
            options += ["--order", entry.internal]
            call.append(f"order={entry.internal!r}")
    audit = [*described(project, "audit"), *options, "--output", "audit"]
    audit.insert(3, released)
    commands.append(wrapped(audit))
    lines.append(f"found = coterie.audit(table, released, schema, {', '.join(call)})")
    lines.append("print(found.verdict)")
    return [
        ("Commands" if len(commands) > 1 else "Command", "\n\n".join(commands)),
        ("Python", "\n".join(lines)),
    ]


# The release of a plan as a command and as Python lines: what runs is the same, and so is what comes out.


def release_ways(project: Project, plan: ReleasePlan | PastRelease) -> list[tuple[str, str]]:
    source, named = source_of(project)
    words = [*protect_words(project, plan.choice), "--output", plan.data]
    if plan.table:
        words += ["--output-table", plan.table, "--certificate", plan.certificate]
    places = {
        "output_table": plan.table,
        "certificate": plan.certificate,
        "internal": plan.internal,
        "sign": plan.key,
        "ledger": plan.ledger,
        "population": plan.population,
    }
    given = {name: value for name, value in places.items() if value}
    for name in ("internal", "sign", "ledger", "population"):
        words += [f"--{name}", given[name]] if name in given else []
    python = [
        "written = coterie.publish(",
        f"    {source!r},",
        f"    {str(project.schema_path)!r},",
        f"    {plan.data!r},",
        f"    {arguments(plan.choice)}{given_options(named)},",
        *(f"    {name}={value!r}," for name, value in given.items()),
        ")",
        "print(written)",
    ]
    return ways(wrapped(words), python)


def verify_command(entry: PastRelease) -> str:
    named = ["--table", entry.table] if entry.table else []
    return shlex.join(["coterie", "certificate", "verify", entry.data, entry.certificate, *named])


def dossier_ways(entry: PastRelease, facts: dict[str, Any]) -> list[tuple[str, str]]:
    """The internal dossier; with --public the one to publish."""
    given = {name: str(value) for name, value in facts.items() if value is not None}
    words = ["coterie", "dossier", entry.data]
    for name, value in given.items():
        words += [f"--{'for' if name == 'audience' else name}", value]
    lines = ["import coterie", "", "coterie.write_dossier(", f"    {entry.data!r},"]
    lines += [*(f"    {name}={value!r}," for name, value in given.items()), ")"]
    return [("The dossier, as a command", wrapped(words)), ("The dossier, in Python", "\n".join(lines))]
