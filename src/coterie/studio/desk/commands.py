"""The same without the page: commands and Python lines that do exactly what the page does."""

from __future__ import annotations

import shlex

from coterie.statistics.allocators import DEFAULT
from coterie.studio.desk.desk import Desk
from coterie.studio.desk.paying import Paying, rule_of


def planning(desk: Desk) -> list[tuple[str, str]]:
    specification, split = str(desk.specification_path), str(desk.split_path)
    rule = rule_of(desk)
    command = ["coterie", "stats", "plan", specification]
    if rule is None:
        command += ["--split", split]
        python = (
            "from pathlib import Path\n\n"
            "from coterie.statistics import plan, read_specification, resplit\n"
            "from coterie.statistics.split_file import read_split\n\n"
            f"best = plan(read_specification({specification!r}))\n"
            f"chosen = resplit(best, read_split(Path({split!r})))\n"
        )
    else:
        command += [] if rule == DEFAULT else ["--allocator", rule]
        named = "" if rule == DEFAULT else f", {rule!r}"
        python = (
            "from coterie.statistics import plan, read_specification\n\n"
            f"chosen = plan(read_specification({specification!r}){named})\n"
        )
    python += "for error in chosen.errors:\n    print(error.name, error.mean, error.median, error.p95)"
    return [("Command", shlex.join(command)), ("Python", python)]


def releasing(desk: Desk, paying: Paying) -> list[tuple[str, str]]:
    specification, rule = str(desk.specification_path), rule_of(desk)
    command = ["coterie", "stats", "release", specification, "--data", str(desk.data_path())]
    command += ["--output", paying.target]
    options = ""
    imports = "from coterie.statistics import read_specification, release"
    if rule is None:
        command += ["--split", str(desk.split_path)]
        imports = (
            f"from pathlib import Path\n\n{imports}\nfrom coterie.statistics.split_file import read_split"
        )
        options += f"    split=read_split(Path({str(desk.split_path)!r})),\n"
    elif rule != DEFAULT:
        command += ["--allocator", rule]
        options += f"    allocator={rule!r},\n"
    if paying.ledger:
        command += ["--ledger", paying.ledger]
        options += f"    ledger={paying.ledger!r},\n"
    python = (
        f"{imports}\n\npublished = release(\n    read_specification({specification!r}),\n"
        f"    {str(desk.data_path())!r},\n    {paying.target!r},\n{options})\n"
        "print(published.path, published.certificate.guarantee.label)"
    )
    verify = ["coterie", "stats", "verify", paying.target, f"{paying.target}.certificate.json"]
    first = ""
    if paying.ledger and paying.lifetime:
        new = ["--population", paying.population, "--lifetime", paying.lifetime]
        new += ["--delta", paying.delta] if paying.delta else []
        first = shlex.join(["coterie", "ledger", "init", paying.ledger, *new]) + "\n"
    return [("Command", f"{first}{shlex.join(command)}\n{shlex.join(verify)}"), ("Python", python)]
