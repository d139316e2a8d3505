"""The external sort gives the clusters of individual ranking over the whole column, however it is cut."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from coterie.chain.partition.univariate import individual_ranking
from coterie.engines.out_of_core import chain as external_sort
from coterie.engines.out_of_core.chain import ExternalSort
from coterie.engines.out_of_core.scratch import RowFiles, Scratch
from coterie.errors import OutputError, ParameterError

FIELDS = np.dtype([("key", "<f8"), ("beside", "<i4")])
EACH = (4 + 12) * 3 + 100  # bytes that the sort plans for a record


def labels_of(
    values: NDArray[np.float64], k: int, memory: int, folder: Path
) -> tuple[NDArray[np.int32], int]:
    scratch = Scratch.make(folder / "scratch")
    sort = ExternalSort(scratch, "a", len(values), k, memory, FIELDS)
    for start in range(0, len(values), 7):
        batch = np.empty(len(values[start : start + 7]), dtype=FIELDS)
        batch["key"], batch["beside"] = values[start : start + 7], np.arange(start, start + len(batch))
        sort.add(batch)
    labels = np.full(len(values), -1, dtype=np.int32)
    pieces = 0
    for piece in sort.pieces():
        assert (np.diff(piece.rows) > 0).all()  # record order: sums come out to the last bit
        assert piece.fields["beside"].tolist() == piece.rows.tolist()
        assert piece.clustering.sizes.tolist() == np.bincount(piece.clustering.labels).tolist()
        assert piece.clustering.shape.clusters == len(values) // k
        labels[piece.rows] = piece.clustering.labels + piece.first
        pieces += 1
    scratch.discard()
    assert not (folder / "scratch").exists()
    return labels, pieces


columns = st.lists(
    st.one_of(st.integers(0, 3).map(float), st.just(-0.0), st.floats(-1e300, 1e300)), min_size=2, max_size=300
)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(columns, st.integers(1, 40), st.integers(3, 60))
def test_the_clusters_are_those_of_the_whole_column(
    tmp_path: Path, column: list[float], k: int, records: int
) -> None:
    values = np.array(column)
    k = min(k, len(values))
    memory = int((records + 2 * k) * EACH * 1.5)
    labels, _ = labels_of(values, k, memory, tmp_path)
    assert labels.tolist() == individual_ranking(values, k).labels.tolist()


def test_one_bucket_is_a_piece_of_its_own(tmp_path: Path) -> None:
    values = np.random.Generator(np.random.PCG64(2)).random(500)
    labels, pieces = labels_of(values, 3, 10**6, tmp_path)
    assert pieces == 1
    assert labels.tolist() == individual_ranking(values, 3).labels.tolist()


@pytest.mark.parametrize("shape", ["even", "one value in nine of ten rows", "constant", "sorted"])
def test_large_columns_are_cut_evenly(shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Splitters on (value, record number): a value that most rows share does not make one bucket huge."""
    rng = np.random.Generator(np.random.PCG64(1))
    values = rng.random(200_000)
    if shape == "one value in nine of ten rows":
        values[rng.random(len(values)) < 0.9] = 0.0
    elif shape == "constant":
        values[:] = 0.5
    elif shape == "sorted":
        values.sort()
    scratch = Scratch.make(tmp_path / "scratch")
    sort = ExternalSort(scratch, "a", len(values), 10, 20_000 * 200, np.dtype([("key", "<f8")]))
    batch = np.empty(len(values), dtype=sort.fields)
    batch["key"] = values
    sort.add(batch)
    pieces = list(sort.pieces())
    assert len(pieces) > 8
    assert max(len(piece.rows) for piece in pieces) < 1.5 * len(values) / len(pieces)
    labels = np.empty(len(values), dtype=np.int32)
    for piece in pieces:
        labels[piece.rows] = piece.clustering.labels + piece.first
    assert labels.tolist() == individual_ranking(values, 10).labels.tolist()
    assert list((tmp_path / "scratch").iterdir()) == []


def test_memory_too_small_for_a_cluster_is_refused(tmp_path: Path) -> None:
    scratch = Scratch.make(tmp_path / "scratch")
    with pytest.raises(ParameterError, match="too small"):
        list(ExternalSort(scratch, "a", 10**6, 10**5, 10**4, FIELDS).pieces())


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 200), st.integers(1, 50), st.data())
def test_values_come_back_in_record_order(
    tmp_path: Path, records: int, length: int, data: st.DataObject
) -> None:
    scratch = Scratch.make(tmp_path / "scratch")
    files = RowFiles(scratch, "a", records, length, "<f8")
    owner = np.array(data.draw(st.lists(st.integers(0, 2), min_size=records, max_size=records)))
    values = np.arange(records) * 1.5
    for piece in range(3):
        rows = np.flatnonzero(owner == piece)
        files.attach(rows, values[rows])
    back = np.concatenate([files.read(number) for number in range(files.ranges)])
    assert back.tolist() == values.tolist()
    scratch.discard()


def test_intermediate_files_are_for_their_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "scratch"
    folder.mkdir(mode=0o755)
    assert Scratch.make(folder).folder.stat().st_mode & 0o777 == 0o700


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be kept"):
        Scratch.make(tmp_path / "missing" / "scratch")


def test_batches_do_not_change_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.Generator(np.random.PCG64(2)).random(500)
    monkeypatch.setattr(external_sort, "_BATCH", 11)
    labels, pieces = labels_of(values, 3, 60 * EACH * 2, tmp_path)
    assert pieces > 3
    assert labels.tolist() == individual_ranking(values, 3).labels.tolist()
