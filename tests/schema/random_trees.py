"""Random taxonomies: every node but the root hangs below an earlier one; inner nodes may be categories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import strategies as st

from coterie.schema.taxonomy.tree import Edge, Taxonomy


@st.composite
def taxonomies(draw: st.DrawFn, most: int = 14, inner: bool = True) -> Taxonomy:
    size = draw(st.integers(2, most))
    names = [f"n{number:02d}" for number in draw(st.permutations(range(size)))]
    edges = [Edge(names[0], None)]
    edges += [Edge(names[at], names[draw(st.integers(0, at - 1))]) for at in range(1, size)]
    plain = Taxonomy.build(edges)
    if not inner:
        return plain
    extra = draw(st.sets(st.sampled_from(names)))
    return Taxonomy.build(plain.edges(), set(plain.categories) | extra)


def data_file(name: str) -> Path:
    """A file of the shared data folder, which is never part of the repository."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    path = Path(os.environ.get("COTERIE_DATA", beside)) / name
    if not path.is_file():
        pytest.skip(f"{name} is not here; set COTERIE_DATA to the folder that holds it")
    return path
