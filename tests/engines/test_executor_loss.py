"""A real cluster on this machine, and an executor killed while it works: the release is the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from coterie.engines.spark.session import java_version


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_killed_executor_changes_nothing(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'coterie[spark]'")
    if (java_version() or 0) < 17:
        pytest.skip("Spark needs Java 17 or newer")
    source = str(Path(__file__).resolve().parents[2] / "src")
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": source}
    script = Path(__file__).with_name("killed_executor.py")
    child = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=800,
    )
    assert "KILLED 1 SAME True" in child.stdout, child.stderr[-3000:]
