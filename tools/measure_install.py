"""Measure a fresh install of the core: `make install-size`. It fails above the limit.

A virtual environment is made, this checkout installed into it with what it depends on, and every file counted. Each core
dependency is listed with the packages that it alone brings: the sizes beside the dependencies in pyproject.toml.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 680  # MB, as `du -sm` counts
# Run inside the new environment: the size of every package there, and what it requires.
LIST = """
import json, re
from importlib.metadata import distributions
found = {}
for one in distributions():
    name = re.sub(r"[-_.]+", "-", one.metadata["Name"]).lower()
    size = sum(file.locate().stat().st_blocks * 512 for file in one.files or [] if file.locate().is_file())
    needs = [re.split(r"[^A-Za-z0-9_.-]", line)[0] for line in one.requires or [] if "extra ==" not in line]
    found[name] = (size, [re.sub(r"[-_.]+", "-", need).lower() for need in needs])
print(json.dumps(found))
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / "bin" / "python")
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(ROOT)]
        subprocess.run(install, check=True, stderr=subprocess.DEVNULL)
        listed = subprocess.run([python, "-c", LIST], check=True, capture_output=True, text=True).stdout
        whole = subprocess.run(["du", "-sm", folder], check=True, capture_output=True, text=True).stdout
    sizes: dict[str, tuple[int, list[str]]] = json.loads(listed)
    core = sorted(name for name in sizes["coterie"][1] if name in sizes)
    for name in core:
        reached = [_closure(sizes, other) for other in core if other != name]
        own = _closure(sizes, name) - set().union(*(found for found in reached if name not in found))
        brought = ", ".join(sorted(own - {name}))
        print(
            f"{round(sum(sizes[one][0] for one in own) / 2**20):5} MB  {name}{f' (with {brought})' if brought else ''}"
        )
    total = int(whole.split()[0])
    print(f"{total:5} MB  in all, with Coterie ({round(sizes['coterie'][0] / 2**20)}) and pip")
    if total > LIMIT:
        sys.exit(f"The core install has {total} MB and may have {LIMIT}.")


def _closure(sizes: dict[str, tuple[int, list[str]]], name: str) -> set[str]:
    found, waiting = set[str](), [name]
    while waiting:
        one = waiting.pop()
        if one in sizes and one not in found:
            found.add(one)
            waiting += sizes[one][1]
    return found


if __name__ == "__main__":
    main()
