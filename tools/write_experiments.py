"""Write docs/reference/experiments.* from the runs in a folder: `python tools/write_experiments.py DIR`.

DIR is what `coterie reproduce all -o DIR` wrote.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"

HEAD = """# Experiments

<!-- Made from runs of `coterie reproduce all` by `python tools/write_experiments.py`; do not edit. -->

What came out when we repeated the figures and tables of [the papers](papers.md). A claim is the paper's, in our words.
**Yes** means that our result is within the tolerance.

We chose the tolerances before the first run, with exceptions that the notes name: those of `sanchez-2016-table1`,
`soria-comas-fig5` and `sanchez-2016-fig2` were changed after a first result was seen, and the notes give that result. The
tolerances of Nunes 2024 were written down after its numbers had been computed. The misprint in `nunes-tables` is called one
because the data contradict it. The papers print few numbers, so some tolerances are loose.
"""


def collect(folder: Path) -> list[dict[str, Any]]:
    """The findings that runs left in a folder."""
    found = []
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict) and "findings" in content:
            found.append(content)
    return found


def page(experiments: Iterable[Mapping[str, Any]]) -> str:
    entries = list(experiments)
    lines = [HEAD, "| experiment | paper | result |", "|---|---|---|"]
    for entry in entries:
        held = sum(finding["holds"] for finding in entry["findings"])
        result = "reproduced" if entry["reproduced"] else "differs"
        anchor = f"[{entry['experiment']}](#{entry['experiment']})"
        lines.append(
            f"| {anchor} {_cell(entry['title'])} | {entry['paper']} | {result}: {held} of {len(entry['findings'])} claims |"
        )
    for entry in entries:
        lines += ["", f"## {entry['experiment']}", "", f"{entry['title']} ({entry['paper']}).", ""]
        lines += ["| claim | published | measured | tolerance | holds |", "|---|---|---|---|---|"]
        for finding in entry["findings"]:
            cells = [_cell(finding[name]) for name in ("claim", "published", "measured", "tolerance")]
            lines.append(f"| {' | '.join(cells)} | {'**yes**' if finding['holds'] else 'no'} |")
        lines += [""] + [f"* {note}" for note in entry.get("notes", [])]
    return "\n".join(lines).rstrip() + "\n"


def _cell(text: str) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    known = {
        entry["experiment"]: entry
        for entry in json.loads((REFERENCE / "experiments.json").read_text("utf-8"))
    }
    known |= {entry["experiment"]: entry for entry in collect(Path(sys.argv[1]))}
    found = [known[name] for name in sorted(known)]
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    (REFERENCE / "experiments.json").write_text(text, encoding="utf-8")
    (REFERENCE / "experiments.md").write_text(page(found), encoding="utf-8")
