"""Whatever is not a sound ledger is refused with a message that says what to do, and nothing is written."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from coterie.errors import LedgerError, ParameterError
from coterie.publication.ledger import Ledger, Purpose


def test_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="There is no ledger") as told:
        Ledger.open(tmp_path / "none.sqlite")
    assert "coterie ledger init" in told.value.advice
    assert list(tmp_path.iterdir()) == []


def test_a_directory(tmp_path: Path) -> None:
    for action in (Ledger.open, Ledger.inspect, lambda path: Ledger.add_population(path, "p", "1")):
        with pytest.raises(LedgerError, match="is a directory"):
            action(tmp_path)


def test_a_missing_directory(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="does not exist"):
        Ledger.add_population(tmp_path / "none" / "ledger.sqlite", "p", "1")


@pytest.mark.parametrize(
    "content", [b"name,age\nAnn,7\n" * 100, b"", b"SQLite format 3\x00" + b"\x00" * 2000]
)
def test_a_file_that_is_not_a_ledger(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    with pytest.raises(LedgerError, match=r"is not a Coterie ledger|is damaged"):
        Ledger.open(path)
    assert path.read_bytes() == content


def test_another_database_is_not_turned_into_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE people (name TEXT)")
    before = path.read_bytes()
    for action in (Ledger.open, lambda path: Ledger.add_population(path, "p", "1")):
        with pytest.raises(LedgerError, match="is not a Coterie ledger"):
            action(path)
    assert path.read_bytes() == before


def test_an_empty_file_left_by_a_killed_init_becomes_a_ledger(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").touch()
    assert Ledger.add_population(tmp_path / "ledger.sqlite", "p", "1").remaining == 1


def test_a_new_ledger_is_for_its_owner_alone_and_a_shared_one_stays_shared(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    earlier = os.umask(0o022)
    try:
        Ledger.add_population(path, "p", "1")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o660)  # a group keeps it together
        Ledger.add_population(path, "q", "1")
        assert stat.S_IMODE(path.stat().st_mode) == 0o660
    finally:
        os.umask(earlier)


def test_a_newer_version(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 4")
    with pytest.raises(LedgerError, match="has version 4; this Coterie reads version 3"):
        Ledger.open(path)


@pytest.mark.parametrize("offset", [4096, 8192, 9000])
def test_damaged_pages(path: Path, offset: int) -> None:
    for number in range(60):
        Ledger.add_population(path, f"population-{number}", "1")
    content = bytearray(path.read_bytes())
    assert len(content) > 12000
    content[offset : offset + 600] = b"\xff" * 600
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="damaged"):
        Ledger.open(path)
    assert path.read_bytes() == content


def test_a_truncated_file(path: Path) -> None:
    for number in range(60):
        Ledger.add_population(path, f"population-{number}", "1")
    path.write_bytes(path.read_bytes()[:-5000])
    with pytest.raises(LedgerError, match="damaged"):
        Ledger.open(path)


def test_an_unknown_population_suggests_the_near_one(path: Path, purpose: Callable[..., Purpose]) -> None:
    with (
        Ledger.open(path) as ledger,
        pytest.raises(LedgerError, match=r"no population 'patient'.*Did you mean 'patients'"),
        ledger.charge(purpose(population="patient")),
    ):
        pytest.fail("the block of a refused charge must not run")
    assert list(path.parent.glob(".*")) == []


@pytest.mark.parametrize("lifetime", ["0", "-1", "nan", "inf", "ten", ""])
def test_an_impossible_lifetime(tmp_path: Path, lifetime: str) -> None:
    with pytest.raises(ParameterError, match="lifetime"):
        Ledger.add_population(tmp_path / "ledger.sqlite", "p", lifetime)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", " ", "a\nb", " padded", "\x1b[31m"])
def test_an_impossible_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(ParameterError, match="name of a population"):
        Ledger.add_population(tmp_path / "ledger.sqlite", name, "1")
    assert list(tmp_path.iterdir()) == []


def test_a_lifetime_is_never_changed(path: Path) -> None:
    with pytest.raises(LedgerError, match="already has population 'patients', with lifetime epsilon 10"):
        Ledger.add_population(path, "patients", "20")
    assert Ledger.inspect(path).balance("patients").lifetime == 10


_UNPRIVILEGED = """
import os, sys
from coterie.errors import LedgerError
from coterie.publication.ledger import Ledger
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
print(Ledger.inspect(sys.argv[1]).balance("patients").remaining)
try:
    Ledger.open(sys.argv[1])
except LedgerError as error:
    print(error)
"""


def test_a_read_only_ledger_can_be_read_but_not_charged() -> None:
    # Not in pytest's own directory, which is private: root runs the child as nobody, who must get through.
    with TemporaryDirectory() as name:
        path = Path(name) / "ledger.sqlite"
        Ledger.add_population(path, "patients", "10")
        path.chmod(0o444)
        path.parent.chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", _UNPRIVILEGED, str(path)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            check=False,
        )
        path.parent.chmod(0o755)
    assert done.returncode == 0, done.stderr
    remaining, refusal = done.stdout.splitlines()
    assert remaining == "10"
    assert "cannot be opened for writing" in refusal
    assert "write permission" in refusal
