"""The preview and the comparison as commands and Python lines."""

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
from coterie.studio.sampling import RUNS, SEED

_IMPORTS = "from coterie import Schema, protect\nfrom coterie.io.reading import read_table"


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
        "from coterie.utility.evaluation import evaluate",
        "",
        *reading_lines(project),
        f"sample = sample_rows(table, {rows}, seed={SEED})",
        f"preview = protect(sample, schema, {arguments(unshuffled)}, seed={SEED})",
        f"synthetic = get_method({choice.method!r}).synthesis is not None",
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
