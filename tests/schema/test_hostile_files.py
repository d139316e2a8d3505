"""Whatever a file holds, a loader answers with a taxonomy or with a sentence, never with a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tiny_wordnet import make_database

from coterie.errors import SchemaError
from coterie.schema.taxonomy import loading as wordnet
from coterie.schema.taxonomy.loading import load_taxonomy
from coterie.schema.taxonomy.tree import Taxonomy

SKOS = "@prefix s: <http://www.w3.org/2004/02/skos/core#> .\n"
SEEDS = {
    "csv": ["France;Europe;*\nItaly;Europe;*\n"],
    "json": ['{"World": {"Europe": ["France"]}}'],
    "yaml": ["World:\n  Europe: [France]\n"],
    "ttl": [SKOS + "<x:a> s:broader <x:r> ; s:prefLabel 'A' .\n"],
    "wordnet.yaml": ["Hound: dog.n.01\nNag: horse@80\n"],
}
MARKS = [*"{}[]:;,*&!|>%@?-#\\\"' \n\t\r\x00", "\ufeff"]
PIECES = st.sampled_from([*MARKS, "null", "1e999"])


@pytest.fixture(autouse=True, scope="module")
def _tiny_wordnet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wordnet, "find_folder", lambda: folder)
        folder = make_database(tmp_path_factory.mktemp("wordnet"))
        yield


@pytest.mark.parametrize("ending", sorted(SEEDS))
@given(data=st.data())
def test_mutated_files(tmp_path_factory: pytest.TempPathFactory, ending: str, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(SEEDS[ending]))
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(PIECES) + text[at + data.draw(st.integers(0, 3)) :]
    assert_answer(tmp_path_factory.mktemp("hostile") / f"tree.{ending}", text.encode())


@pytest.mark.parametrize("ending", sorted(SEEDS))
@given(content=st.binary(max_size=60))
@example(content=b"")
@example(content=b"\x00\x00")
@example(content=b"!!python/object:os.system {}")
@example(content=b"\xff\xfea\x00")
def test_random_bytes(tmp_path_factory: pytest.TempPathFactory, ending: str, content: bytes) -> None:
    assert_answer(tmp_path_factory.mktemp("hostile") / f"tree.{ending}", content)


def assert_answer(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    try:
        tree = load_taxonomy(path)
    except SchemaError:
        return
    assert Taxonomy.build(tree.edges(), tree.categories) == tree
