"""The page of experiments, made from what runs wrote: `python tools/write_experiments.py FOLDER`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

HEAD = """# Experiments

Made from runs of `coterie reproduce all` by `python tools/write_experiments.py`; do not edit. Claims are those of the
papers, in our words; **yes**: our result is within the tolerance. Tolerances were chosen by us, before the first run except
where a note below says otherwise: 001-table1, 000-fig5 and 001-fig2 were changed after their first result was seen, and the
notes give that first result. The tolerances of 002 were written down when its numbers had already been computed, and the
misprint in 002-tables is called one because the data contradict it. The papers print few numbers to hold on to, so some
tolerances are loose.
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
