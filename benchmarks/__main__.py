"""`python -m benchmarks [--write] [--json FILE] [name …]`: run every benchmark, or those named.

A benchmark prints, or yields the lines of a table in Markdown. `--write` puts those lines where the documents have
`<!-- measured: name -->`, so that no figure there is typed in: do that on a quiet machine. `--json FILE` writes all figures
and the machine into one file; `python -m benchmarks compare A B` says what got slower by more than 10 % between two of them.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from argparse import ArgumentParser
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from time import strftime

import benchmarks

_MORE_IS_BETTER = re.compile(
    r"per (CPU )?second|times as fast|their rate|/ (ratio|in CPU time|against|upper limit)", re.IGNORECASE
)
_COST = re.compile(
    r"second|time|\b(ms|ns|µs|MB|GB|bytes|CPU s)\b|first call|machine code|later calls|skewed over",
    re.IGNORECASE,
)
DOCS = Path(__file__).resolve().parent.parent / "docs"


def main(words: list[str]) -> int:
    known = sorted(module.name for module in iter_modules(benchmarks.__path__) if module.name != "__main__")
    parser = ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE")
    asked = parser.parse_args(words)
    if asked.names[:1] == ["compare"]:
        files = [Path(word) for word in asked.names[1:]]
        if len(files) != 2 or not all(path.is_file() for path in files):
            parser.error("Name two files that `--json` wrote: compare BEFORE.json AFTER.json")
        return compare(*files)
    unknown = [name for name in asked.names if name not in known]
    if unknown:
        parser.error(f"No benchmark is called {', '.join(unknown)}. There is: {', '.join(known)}.")
    measured: dict[str, dict[str, float]] = {}
    for name in asked.names or known:
        run = getattr(import_module(f"benchmarks.{name}"), "run", None)
        if run is None:
            continue
        print(f"== {name}", flush=True)
        load = os.getloadavg()[0]
        lines = []
        for line in run() or ():
            print(line, flush=True)
            lines.append(line)
        if lines and asked.write:
            _write(name, [*lines, "", _where(name, load)])
        measured[name] = figures(lines)
        if asked.json:
            asked.json.write_text(json.dumps({"machine": _machine(), "figures": measured}, indent=1) + "\n")
    return 0


def figures(lines: list[str]) -> dict[str, float]:
    """Every number of the tables, by its row's words and its column's heading."""
    found: dict[str, float] = {}
    heading: list[str] = []
    seen: set[str] = set()
    for line in lines:
        if not line.startswith("|"):
            heading = []
            continue
        cells = [cell.strip(" *`") for cell in line.strip().strip("|").split("|")]
        if not heading:
            heading = cells
            continue
        numbers = [_number(cell) for cell in cells]
        row = ", ".join(
            cell for cell, number in zip(cells, numbers, strict=True) if number is None and cell.strip("-")
        )
        if row in seen or not row:  # rows that differ in a setting, not in words
            row = ", ".join(part for part in (row, *cells[:2]) if part)
        seen.add(row)
        for title, number in zip(heading, numbers, strict=False):
            if number is not None:
                found[f"{row} / {title}"] = number
    return found


def compare(before: Path, after: Path) -> int:
    """Print what got slower by more than a tenth, and what else changed; the words of a title say which is which."""
    old, new = (json.loads(path.read_text(encoding="utf-8")) for path in (before, after))
    if (
        old["machine"]["processor"] != new["machine"]["processor"]
        or old["machine"]["cores"] != new["machine"]["cores"]
    ):
        print("Measured on different machines: only ratios can be compared.")
    slower: list[str] = []
    others: list[str] = []
    for name in sorted(old["figures"].keys() & new["figures"].keys()):
        was, now = old["figures"][name], new["figures"][name]
        for title in sorted(was.keys() & now.keys()):
            if was[title] and abs(change := now[title] / was[title] - 1) > 0.1:
                worse = change < 0 if _MORE_IS_BETTER.search(title) else change > 0 and _COST.search(title)
                line = f"{name}: {title}: {was[title]:g} -> {now[title]:g} ({change:+.0%})"
                (slower if worse else others).append(line)
    for heading, lines in (("Slower or larger", slower), ("Changed otherwise", others)):
        if lines:
            print(f"{heading} by more than 10 % ({len(lines)}):", *lines, sep="\n  ")
    if not slower and not others:
        print("Nothing changed by more than 10 %.")
    return 0


def _number(cell: str) -> float | None:
    try:
        return float(cell.replace(",", "").rstrip("%×x"))
    except ValueError:
        return None


def _machine() -> dict[str, object]:
    return {
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "date": strftime("%Y-%m-%d"),
        "load": round(os.getloadavg()[0], 1),
    }


def _where(name: str, load: float) -> str:
    return (
        f"*`python -m benchmarks {name}`, {strftime('%Y-%m-%d')}, {os.cpu_count()} cores ({platform.machine()}), "
        f"load before it began: {load:.1f}.*"
    )


def _write(name: str, lines: list[str]) -> None:
    marks = re.compile(rf"(<!-- measured: {name} -->\n).*?(<!-- /measured -->)", re.DOTALL)
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        written = marks.sub(lambda found: found.group(1) + "\n".join(lines) + "\n" + found.group(2), text)
        if written != text:
            page.write_text(written, encoding="utf-8")
            print(f"written into {page.relative_to(DOCS.parent)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
