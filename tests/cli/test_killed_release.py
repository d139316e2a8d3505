"""`coterie protect --ledger` killed at any moment, then run again: one charge, one release, nothing left over."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from coterie import Ledger, demo_population, demo_schema
from coterie.cli.app import app
from coterie.publication.staging import stage

COMMAND = [sys.executable, "-c", "from coterie.cli import main; main()"]


def arguments(folder: Path) -> list[str]:
    return [
        *COMMAND,
        *("protect", str(folder / "people.csv"), "--schema", str(folder / "schema.yaml")),
        *("--method", "laplace", "--epsilon", "1", "--output", str(folder / "out.csv")),
        *("--internal", str(folder / "private.json")),
        *("--ledger", str(folder / "ledger.sqlite"), "--population", "people", "--json"),
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    stage(demo_population(people=600), tmp_path / "people.csv", force=False).publish()
    (tmp_path / "schema.yaml").write_text(demo_schema().to_yaml())
    Ledger.add_population(tmp_path / "ledger.sqlite", "people", "100")
    return tmp_path


def test_a_kill_at_any_moment_costs_one_charge(folder: Path) -> None:
    started = time.monotonic()
    subprocess.run(arguments(folder), check=True, capture_output=True, timeout=300)
    whole = time.monotonic() - started
    draw = random.Random(5)
    for attempt in range(2, 6):
        for name in ("out.csv", "out.csv.certificate.json", "private.json"):
            (folder / name).unlink()
        process = subprocess.Popen(arguments(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # The last quarter is where files are written and charged; aim most kills there.
        time.sleep(whole * draw.uniform(0.7, 1.05))
        process.send_signal(signal.SIGKILL)
        process.wait(120)
        # Run again until it says it is done: at most two more runs are needed.
        done = subprocess.run(arguments(folder), capture_output=True, text=True, timeout=300)
        if done.returncode == 6:  # the killed run had got through to its very end
            assert "exists already" in done.stderr
        else:
            assert done.returncode == 0, done.stderr
        balance = Ledger.inspect(folder / "ledger.sqlite").balance("people")
        assert balance.spent == attempt, "each round is one release, whatever was killed"
        verify = ["certificate", "verify", str(folder / "out.csv"), str(folder / "out.csv.certificate.json")]
        assert CliRunner().invoke(app, verify).exit_code == 0
        assert json.loads((folder / "private.json").read_text())["warning"].startswith("DO NOT PUBLISH")
        assert not [path.name for path in folder.iterdir() if path.name.endswith((".tmp", ".lock"))]
