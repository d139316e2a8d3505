"""Write the generated reference pages: methods and measures, from their registries. A test fails when they are stale."""

from __future__ import annotations

from pathlib import Path

from coterie.cli.methods import as_dict
from coterie.evaluation import all_measures
from coterie.methods import all_methods

ROOT = Path(__file__).resolve().parent.parent
NOTE = "Made from the registry by `python tools/write_reference.py`; do not edit.\n"


def methods_page() -> str:
    lines = ["# Methods", "", NOTE]
    lines += ["| method | what it does | status | of what | paper |", "|---|---|---|---|---|"]
    found = [as_dict(method) for method in all_methods().values()]
    for method in found:
        lines.append(
            f"| [{method['name']}](#{method['name']}) | {method['title']} | {method['status']} | {method['model']} | "
            f"{method['papers']} |"
        )
    lines += ["", "Promises below are for an example: 1,000 records, ε = 1, k = 10, declared bounds."]
    for method in found:
        lines += ["", f"## {method['name']}", "", f"{method['title'].capitalize()} ({method['papers']}).", ""]
        lines += [
            f"* **Promise** ({method['status']}): {method['example_label']}",
            f"* **Covers**: {method['scope']}",
            f"* **Why**: {method['why']}",
            f"* **Best attack known**: {method['attack']}",
        ]
        for other, words in zip(method["beside"], method["beside_in_words"], strict=True):
            lines.append(f"* **Beside it**: {words}. It assumes that {'; '.join(other['assumptions'])}")
        lines += [f"* **Assumes**: {assumption}" for assumption in method["assumptions"]]
    return "\n".join(lines) + "\n"


def measures_page() -> str:
    lines = ["# Measures", "", NOTE]
    lines += [
        "| measure | what it is | how to read it | needs linked rows | in grids | paper |",
        "|---|---|---|---|---|---|",
    ]
    for measure in all_measures().values():
        grid = measure.attribute is not None and (measure.attribute.clusters or measure.attribute.drawn)
        lines.append(
            f"| `{measure.name}` | {measure.title} | {measure.meaning} | {'yes' if measure.needs_linkage else 'no'} | "
            f"{'yes' if grid else 'no'} | {measure.papers} |"
        )
    lines += [
        "",
        "*Linked rows*: row i of the release must be row i of the original. For shuffled or synthetic releases those",
        "measures are skipped, and the others are given.",
        "",
        "`coterie evaluate ORIGINAL RELEASED --schema S` gives them all; `coterie compare` those that are marked for grids.",
    ]
    return "\n".join(lines) + "\n"


PAGES = {"methods.md": methods_page, "measures.md": measures_page}

if __name__ == "__main__":
    for name, make in PAGES.items():
        (ROOT / "docs" / "reference" / name).write_text(make(), encoding="utf-8")
