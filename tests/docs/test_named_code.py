"""Pages name the code they speak of: every file, folder and function must exist. So must the proof of each proved method."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from coterie.methods import all_methods
from coterie.methods.guarantee import Status

ROOT = Path(__file__).resolve().parents[2]
PROOFS = sorted((ROOT / "docs/guarantees").glob("*.md"))
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
ROOMS = "|".join(
    sorted(path.name for path in (ROOT / "src/coterie").iterdir() if (path / "__init__.py").exists())
)
# A Python file, or a path inside a room with or without its suffix; not the files that a command writes (report.html).
NAMED = re.compile(rf"`((?:\w+/)*\w+\.py|(?:{ROOMS})/[\w/]*)(?:::([\w.]+))?`")


def _defined(path: Path) -> set[str]:
    """Functions, classes, constants, and Class.method."""
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)}
        if isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def missing(text: str) -> list[str]:
    found = []
    for path, name in NAMED.findall(text):
        roots = (ROOT, ROOT / "src/coterie")
        places = [place for root in roots for place in (root / path, root / f"{path}.py") if place.exists()]
        if not places or (name and name not in _defined(places[0])):
            found.append(f"{path}::{name}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_page_names_exists(page: Path) -> None:
    assert missing(page.read_text(encoding="utf-8")) == []


def test_a_name_that_is_gone_would_be_noticed() -> None:
    assert missing("`chain/sensitivity.py::_sorted_list` and `schema/domain.py::Domain.price`") == []
    assert missing("`chain/sensitivity.py::nothing`") == ["chain/sensitivity.py::nothing"]
    assert missing("`chain/sensitivity/nothing.py`") == ["chain/sensitivity/nothing.py::"]
    assert missing("`engines/in_memory::repeated` in `engines/`, `comparison/report.html`") == []
    assert missing("`chain/partition/nothing`") == ["chain/partition/nothing::"]


def test_every_proved_method_is_in_the_proofs() -> None:
    from coterie.methods import example_guarantee

    text = "\n".join(proof.read_text(encoding="utf-8") for proof in PROOFS)
    proved = [
        method.name
        for method in all_methods().values()
        for stated in (example_guarantee(method), *example_guarantee(method).beside)
        if stated.status is Status.PROVED
    ]
    assert {"laplace", "dp-sorted", "dp-synthetic", "idp-cbls-joint", "dp-ir"} <= set(proved)
    assert [name for name in proved if f"`{name}`" not in text] == []
