"""A lock is held by one, survives no process, and notices that its file is gone."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

from coterie.table.hidden_files import FileLock

HOLDER = """
import sys
from pathlib import Path
from coterie.table.hidden_files import FileLock
lock = FileLock.take(Path(sys.argv[1]), make=0o600)
print("held" if lock else "taken", flush=True)
sys.stdin.read()
"""


def test_one_at_a_time_and_free_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    command = [sys.executable, "-c", HOLDER, str(path)]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    assert FileLock.take(path, make=0o600) is None
    assert FileLock.take(path) is None
    holder.send_signal(signal.SIGKILL)
    holder.communicate(timeout=60)
    with FileLock.waited(path) as lock:
        assert lock.holds


def test_whoever_waited_for_a_removed_file_takes_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = FileLock.waited(path)
    got: list[FileLock] = []
    waiting = threading.Thread(target=lambda: got.append(FileLock.waited(path)))
    waiting.start()
    first.let_go(remove=True)
    waiting.join(60)
    assert got[0].holds
    got[0].let_go(remove=True)
    assert not path.exists()


def test_a_file_or_folder_itself_is_locked_and_not_changed(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"rows")
    for path in (tmp_path / "data", tmp_path):
        lock = FileLock.take(path)
        assert lock is not None
        assert FileLock.take(path) is None
        lock.let_go()
    assert (tmp_path / "data").read_bytes() == b"rows"
