"""The audit as commands and as Python lines."""

from __future__ import annotations

from typing import Any

from coterie.studio.command_lines import (
    arguments,
    choice_options,
    reading_lines,
    source_of,
    wrapped,
)
from coterie.studio.project import Choice, Project
from coterie.studio.sampling import SEED

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
        "from coterie.io.reading import read_table",
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
