"""Write what is generated into the documents: `make docs-tables`. A test fails when they are out of date."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from coterie.methods import all_methods, as_dict

ROOT = Path(__file__).resolve().parent.parent
MARKS = re.compile(r"(<!-- methods:.*?-->\n).*?(<!-- /methods -->)", re.DOTALL)


STATUSES = ("proved", "bounded", "conditional", "heuristic", "refuted", "none")


def by_proof(methods: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Proved differential privacy first: what a reader should try first."""
    return sorted(methods, key=lambda m: (STATUSES.index(m["status"]), m["model"] != "differential privacy"))


def methods_table() -> str:
    lines = ["| method | what it does | status | of what | paper |", "|---|---|---|---|---|"]
    for method in by_proof(map(as_dict, all_methods().values())):
        lines.append(
            f"| `{method['name']}` | {method['title']} | {method['status']} | {method['model']} | {method['papers']} |"
        )
    return "\n".join(lines) + "\n"


def readme() -> str:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return MARKS.sub(lambda found: found.group(1) + methods_table() + found.group(2), text)


if __name__ == "__main__":
    (ROOT / "README.md").write_text(readme(), encoding="utf-8")
