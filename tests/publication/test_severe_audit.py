"""A severe audit stops the next release of the same file by the same method, until somebody writes why."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest

import coterie
from coterie.errors import ParameterError

SCHEMA = coterie.demo_schema()
AGAIN: dict[str, Any] = {"method": "dp-ir", "k": 10, "epsilon": 1}


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, its release by a method that gives people away, and the audit that says so."""
    folder = tmp_path_factory.mktemp("severe")
    pyarrow.csv.write_csv(coterie.demo_population(200), folder / "people.csv")
    order = folder / "internal.json"  # the rows of a release are in random order
    coterie.publish(folder / "people.csv", SCHEMA, folder / "out.csv", internal=order, **AGAIN)
    asked: dict[str, Any] = {"attacks": ["tie-linkage"], "order": order}
    found = coterie.audit(folder / "people.csv", folder / "out.csv", SCHEMA, **asked)
    assert found.level.value == "severe risk"
    coterie.write_report(found, folder / "audit")
    return folder


def test_it_stops_the_same_method_on_the_same_table_only(audited: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(audited, folder)
    for despite in (None, " "):
        with pytest.raises(ParameterError, match="found a severe risk"):
            coterie.publish(folder / "people.csv", SCHEMA, folder / "more.csv", despite=despite, **AGAIN)
    assert not (folder / "more.csv").exists()
    coterie.publish(folder / "people.csv", SCHEMA, folder / "safe.csv", method="dp-synthetic", epsilon=1)
    pyarrow.csv.write_csv(coterie.demo_population(200, seed=9), folder / "others.csv")
    coterie.publish(folder / "others.csv", SCHEMA, folder / "others-out.csv", **AGAIN)


@pytest.mark.parametrize("counted", [True, False], ids=["with a ledger", "without"])
def test_the_reason_is_kept_beside_the_release_in_the_ledger_and_in_the_dossier(
    audited: Path, tmp_path: Path, counted: bool
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(audited, folder)
    ledger, reason = folder / "ledger.sqlite", "Only for a test of our own: «größer»."
    settings: dict[str, Any] = {"despite": reason}
    if counted:
        coterie.Ledger.add_population(ledger, "people", 4)
        settings |= {"ledger": ledger, "population": "people"}
    written = coterie.publish(folder / "people.csv", SCHEMA, folder / "more.csv", **AGAIN, **settings)
    if counted:
        (entry,) = coterie.Ledger.inspect(ledger).entries.values()
        assert entry.purpose.despite == reason
    kept = folder / "more.csv.reason.json"
    assert json.loads(kept.read_text(encoding="utf-8"))["despite"] == reason
    assert not kept.stat().st_mode & 0o077, "for the owner's eyes"
    shutil.rmtree(folder / "audit")  # whatever becomes of the audit
    made = coterie.write_dossier(written.path, ledger=ledger if counted else None)
    assert reason in made.html.read_text(encoding="utf-8")
    public = coterie.write_dossier(written.path, ledger=ledger if counted else None, public=True)
    assert reason not in public.html.read_text(encoding="utf-8")
