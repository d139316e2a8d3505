"""What installing a package that adds parts to Coterie leaves behind, as far as Coterie looks."""

from __future__ import annotations

import importlib
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from coterie import registry
from coterie.auditing.attacks import all_attacks
from coterie.evaluation import all_measures
from coterie.methods import all_methods
from coterie.statistics.allocators import allocators

REGISTRIES = (all_methods, all_measures, all_attacks, allocators)


def write_metadata(folder: Path, name: str, entry_points: Mapping[str, Mapping[str, str]]) -> None:
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    groups = [
        f"[{group}]\n" + "".join(f"{part} = {place}\n" for part, place in points.items())
        for group, points in entry_points.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups))


def write_metadata_of(folder: Path, pyproject: str) -> None:
    project = tomllib.loads(pyproject)["project"]
    write_metadata(folder, project["name"], project["entry-points"])


@contextmanager
def packages_in(folder: Path) -> Iterator[None]:
    """On this process's path only, and forgotten afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        forget()
        yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(f"{folder}/"):
            del sys.modules[name]
    forget()


def forget() -> None:
    importlib.invalidate_caches()
    registry._outside.clear()
    for found in REGISTRIES:
        found.cache_clear()
