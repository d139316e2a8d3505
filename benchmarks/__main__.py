"""`python -m benchmarks [--write] [name …]`: run every benchmark, or those named.

A benchmark prints, or yields the lines of a table in Markdown. `--write` puts those lines where the documents have
`<!-- measured: name -->`, so that no figure there is typed in: do that on a quiet machine.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from time import strftime

import benchmarks

DOCS = Path(__file__).resolve().parent.parent / "docs"


def main(words: list[str]) -> int:
    known = sorted(module.name for module in iter_modules(benchmarks.__path__) if module.name != "__main__")
    names = [word for word in words if word != "--write"]
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"No benchmark is called {', '.join(unknown)}. There is: {', '.join(known)}.", file=sys.stderr)
        return 2
    for name in names or known:
        run = getattr(import_module(f"benchmarks.{name}"), "run", None)
        if run is None:
            continue
        print(f"== {name}", flush=True)
        load = os.getloadavg()[0]
        lines = []
        for line in run() or ():
            print(line, flush=True)
            lines.append(line)
        if lines and "--write" in words:
            _write(name, [*lines, "", _where(name, load)])
    return 0


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
