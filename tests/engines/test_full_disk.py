"""A disk that is really full (a small file system in memory): nothing is released, nothing lost, and a sentence says so."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from coterie.cli.app import app
from coterie.engines.out_of_core import release as large_module
from coterie.errors import OutputError

RECORDS = 200_000  # 1.6 MB as a column, 2.4 MB in buckets, 2.4 MB released
EARLIER = b"an earlier release"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Three megabytes: less than one attribute needs."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m,mode=700", "tmpfs", str(place)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"a file system may not be mounted here: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("full", ["scratch", "output"])
def test_a_full_disk_in_the_sort_or_at_the_end(
    full: str, small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.Generator(np.random.PCG64(1)).random(RECORDS)
    source = tmp_path / "in.parquet"
    pq.write_table(pa.table({"x": values, "y": values, "z": values}), source)
    before = source.read_bytes()
    lines = [f"  {name}: {{role: protect, domain: {{lower: 0, upper: 1}}}}\n" for name in "xyz"]
    (tmp_path / "schema.yaml").write_text("attributes:\n" + "".join(lines))
    out = (tmp_path if full == "scratch" else small_disk) / "out.parquet"
    out.write_bytes(EARLIER)
    monkeypatch.setattr(large_module, "room_for_work", lambda limit: 12_000_000)
    line = ["protect", source, "--schema", tmp_path / "schema.yaml", "--output", out, "--force"]
    line += ["--method", "dp-ir", "--epsilon", 10**6, "--k", 3, "--memory", "6GB"]
    line += ["--scratch", small_disk if full == "scratch" else tmp_path]
    with pytest.raises(OutputError, match="disk is full") as told:
        CliRunner().invoke(app, [*map(str, line)], catch_exceptions=False)
    assert "Nothing was" in told.value.advice
    assert source.read_bytes() == before
    assert out.read_bytes() == EARLIER
    assert not (out.parent / "out.parquet.certificate.json").exists()
    left = {path.name for folder in (tmp_path, small_disk) for path in folder.iterdir()}
    assert left == {"in.parquet", "schema.yaml", "disk", "out.parquet"}
