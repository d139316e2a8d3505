"""A few hundred bytes that unpack to gigabytes: the reader dies, the service does not, and the sender is refused."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from federation_world import ATTRIBUTES, Look, people

from coterie.federation.aggregator import part_reader
from coterie.federation.aggregator.home import require_room
from coterie.federation.aggregator.part_reader import UNREADABLE, PartKilledItsReader, PartReader, checked
from coterie.federation.documents.chunks import Chunk, arrow_schema, as_sent, canonical_parquet, packed
from coterie.federation.documents.signed import sha256
from coterie.federation.documents.study import StudyAttribute
from coterie.federation.documents.wire import UNPACKED_CHUNK_BYTES
from coterie.federation.owner import contribution

ROWS = 4000


def bomb() -> bytes:
    """One long label in a dictionary, named by every row: 4 GB of text once it is unpacked."""
    label = pa.array(["x" * 1_000_000])
    column = pa.DictionaryArray.from_arrays(pa.array([0] * ROWS, pa.int32()), label)
    table = pa.table({"age": pa.array([1] * ROWS), "stay": pa.array([1.0] * ROWS), "ward": column})
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", store_schema=False)
    return sink.getvalue()


def attributes() -> list[StudyAttribute]:
    return [
        StudyAttribute(name="age", type="integer", lower="0", upper="120"),
        StudyAttribute(name="stay", type="continuous", lower="0", upper="60"),
        StudyAttribute(name="ward", type="categorical", labels=("north", "south", "east")),
    ]


def chunk(data: bytes, rows: int) -> Chunk:
    return Chunk(sha256=sha256(data), size=len(data), rows=rows)


@pytest.fixture
def reader() -> Any:
    made = PartReader()
    yield made
    made.close()


def test_the_reader_survives_and_reads_the_next(reader: PartReader, tmp_path: Path) -> None:
    data, path = bomb(), tmp_path / "00000.parquet"
    assert len(data) < 3000
    path.write_bytes(data)
    with pytest.raises(PartKilledItsReader):
        reader.wrong([path], [chunk(data, ROWS)], attributes(), pseudonymous=False)
    good = io.BytesIO()
    pq.write_table(people(20, 1).select(["age", "stay", "ward"]), good)
    path.write_bytes(good.getvalue())
    assert reader.wrong([path], [chunk(good.getvalue(), 20)], attributes(), pseudonymous=False) is None
    assert pq.read_table(checked(path)).num_rows == 20


def test_column_names_that_are_no_text(reader: PartReader, tmp_path: Path) -> None:
    sink = io.BytesIO()
    pq.write_table(people(20, 1).select(["age", "stay", "ward"]), sink, store_schema=False)
    data = sink.getvalue().replace(b"stay", b"st\xff\xfe")
    path = tmp_path / "00000.parquet"
    path.write_bytes(data)
    wrong = reader.wrong([path], [chunk(data, 20)], attributes(), pseudonymous=False)
    assert wrong is not None
    assert wrong.startswith("A chunk of the contribution is wrong")


def test_a_helper_that_was_killed_is_started_again(reader: PartReader, tmp_path: Path) -> None:
    path = tmp_path / "00000.parquet"
    path.write_bytes(b"no parquet")
    asked = ([path], [chunk(b"no parquet", 1)], attributes())
    assert reader.wrong(*asked, pseudonymous=False) is not None
    assert reader._helper is not None
    reader._helper.kill()
    reader._helper.wait()
    assert reader.wrong(*asked, pseudonymous=False) is not None


def test_its_sender_is_refused_and_the_aggregator_goes_on(
    shared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes = [shared.join(name) for name in ("bomb-a", "bomb-b")]
    for home in homes:
        shared.give(home, people(40, 3))
    study = shared.study(["bomb-a", "bomb-b"], attributes=ATTRIBUTES)
    with monkeypatch.context() as patch:
        patch.setattr(contribution, "packed", lambda table: [(chunk(bomb(), 40), bomb())])
        Look(shared, homes[0]).once()
        Look(shared, homes[1]).once()
        shared.await_state(study, "COLLECTING")
        Look(shared, homes[0]).once()
    Look(shared, homes[1]).once()
    shared.await_part(study, "bomb-b", "DELIVERED")
    shared.await_opening(study)
    for home in homes:
        Look(shared, home).once()
    assert shared.await_state_any(study)["state"] == "FAILED"
    part = shared.part(study, "bomb-a")
    assert part["state"] == "REJECTED"
    # Its header lies about the rows here; either way it was opened by the child alone.
    assert part["reason"] in (
        UNREADABLE,
        "A chunk of the contribution is wrong: its header does not fit the manifest.",
    )
    assert shared.server.poll() is None


def test_a_part_of_many_chunks_is_read_some_at_a_time(
    reader: PartReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise an owner could keep all other studies waiting for hours, with chunks of a few bytes."""
    monkeypatch.setattr(part_reader, "AT_ONCE", 2)
    schema = arrow_schema(attributes(), pseudonymous=True)
    chunks, files = [], []
    for number in range(3):
        names = pa.array([bytes([10 * number + row]) * 32 for row in range(4)], pa.binary(32))
        rows = as_sent(people(4, 1), arrow_schema(attributes(), pseudonymous=False))
        data = canonical_parquet(pa.table([names, *rows.columns], schema=schema))
        files.append(tmp_path / f"{number:05d}.parquet")
        files[-1].write_bytes(data)
        chunks.append(chunk(data, 4))
    asked = (files, chunks, attributes())
    assert reader.wrong(*asked, pseudonymous=True) is None
    assert [checked(path).exists() for path in files] == [True, True, False]
    assert reader.wrong(*asked, pseudonymous=True, first=2) is None
    assert checked(files[2]).exists()
    # The order of pseudonyms is compared with the last of the chunk before.
    files[2].write_bytes(files[0].read_bytes())
    asked = (files, [*chunks[:2], chunks[0]], attributes())
    assert "ascending" in str(reader.wrong(*asked, pseudonymous=True, first=2))


def test_one_study_does_not_fill_the_disk(shared: Any) -> None:
    free = shutil.disk_usage(shared.aggregator.folder).free
    require_room(shared.aggregator.folder, free // 4)
    with pytest.raises(OSError, match="No space left"):
        require_room(shared.aggregator.folder, free)


def test_what_packs_well_is_sent_in_pieces_that_can_be_unpacked() -> None:
    rows = 3_000_000
    table = pa.table({f"a{n}": pa.array(np.ones(rows, np.int64)) for n in range(4)})
    pieces = [piece for piece, _ in packed(table)]
    assert sum(piece.rows for piece in pieces) == rows
    assert max(piece.rows for piece in pieces) * 32 <= UNPACKED_CHUNK_BYTES
