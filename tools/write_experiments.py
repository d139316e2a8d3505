"""Write docs/reference/experiments.* from the runs in a folder: `python tools/write_experiments.py DIR`.

DIR is what `coterie reproduce all -o DIR` wrote.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from coterie.papers.tables import collect, page

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"

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
