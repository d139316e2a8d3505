"""Kills a release at every line of the ledger's code, runs it again, and checks what is left.

Run by test_ledger_kill.py in a process of its own, because it forks hundreds of times:
`python ledger_kill_driver.py SWEEP DIRECTORY STRIDE` kills at each STRIDE-th line, prints how often.
A killed child gets SIGKILL from itself, so no `finally` runs, as in a real kill -9.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

from ledger_staged_file import StagedFile

import coterie.publication.ledger
from coterie.promise.loss import Loss
from coterie.publication.ledger import Ledger, Purpose, ReleaseState

PRODUCT = str(Path(coterie.publication.ledger.__file__).parent)
FORCED = "old bytes of an earlier release"
STEPS = ("reserved", "half staged", "staged", "ready", "certificate published", "published", "released")
Step = Callable[[str], None]


def release(directory: Path, step: Step = lambda name: None) -> None:
    """What `coterie protect … --force --ledger` does: finish what was interrupted, or make a release."""
    data, certificate = directory / "out.csv", directory / "out.json"
    purpose = Purpose("patients", Loss.pure(Fraction(1)), "laplace", "proved", str(data))
    with Ledger.open(directory / "ledger.sqlite") as ledger:
        step("opened")
        if ledger.finished(purpose):
            return
        with ledger.charge(purpose) as charge:
            step("reserved")
            names = StagedFile.temporary_for(data), StagedFile.temporary_for(certificate)
            charge.staging(*names)
            noisy = os.urandom(32)
            staged_data = StagedFile.write(data, noisy, names[0])
            step("half staged")
            digest = hashlib.sha256(noisy).hexdigest().encode()
            staged_certificate = StagedFile.write(certificate, digest, names[1])
            step("staged")
            charge.ready([staged_certificate, staged_data])
            step("ready")
            staged_certificate.publish()
            step("certificate published")
            staged_data.publish()
            step("published")
            charge.released()
            step("released")


def prepare(directory: Path) -> None:
    directory.mkdir()
    Ledger.add_population(directory / "ledger.sqlite", "patients", "1")  # a second charge would be refused
    (directory / "out.csv").write_text(FORCED)


def check_after_kill(directory: Path) -> None:
    """No release without a charge, at the very moment of the kill; and no data without their certificate."""
    data = (directory / "out.csv").read_bytes()
    if data == FORCED.encode():
        return
    book = Ledger.inspect(directory / "ledger.sqlite")
    charged = [entry for entry in book.entries.values() if entry.state.charged]
    assert len(charged) == 1, "data are visible without a charge"
    assert charged[0].staged[-1].sha256 == hashlib.sha256(data).hexdigest(), (
        "other bytes than the charged ones"
    )
    assert (directory / "out.json").read_text() == hashlib.sha256(data).hexdigest(), (
        "data without certificate"
    )


def check_after_rerun(directory: Path) -> None:
    book = Ledger.inspect(directory / "ledger.sqlite")
    balance = book.balance("patients")
    assert (balance.spent, balance.held) == (1, 0), f"spent {balance.spent}, held {balance.held}"
    assert all(
        entry.state in (ReleaseState.RELEASED, ReleaseState.ABANDONED) for entry in book.entries.values()
    )
    check_after_kill(directory)
    assert (directory / "out.csv").read_bytes() != FORCED.encode(), "nothing was released"
    left = [item.name for item in directory.iterdir() if item.name.startswith(".") or "journal" in item.name]
    assert left == [], f"left behind: {left}"
    shutil.rmtree(directory)


def in_child(action: Callable[[], None], meanwhile: Callable[[int], None] = lambda child: None) -> bool:
    """Run in a forked child; True if it was killed."""
    child = os.fork()
    if child == 0:
        try:
            action()
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            os._exit(1)
        os._exit(0)
    meanwhile(child)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), f"the child failed with status {status}"
    return status == signal.SIGKILL


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed_at_line(number: int, action: Callable[[], None]) -> Callable[[], None]:
    """The action, ended at the number-th line that it runs in the ledger's code."""
    lines = count(1)

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(PRODUCT):
            return None
        if event == "line" and next(lines) == number:
            die()
        return trace

    def traced() -> None:
        sys.settrace(trace)
        action()

    return traced


def killed_at_step(name: str, directory: Path) -> Callable[[], None]:
    return lambda: release(directory, lambda step: die() if step == name else None)


def sweep_release(root: Path, stride: int) -> int:
    """A kill at every line of a whole release."""
    kills = 0
    for number in count(1, stride):
        directory = root / str(number)
        prepare(directory)
        killed = in_child(killed_at_line(number, lambda directory=directory: release(directory)))
        check_after_kill(directory)
        if killed:
            finish(directory)
        check_after_rerun(directory)
        if not killed:
            break
        kills += 1
    return kills


def sweep_recovery(root: Path, stride: int) -> int:
    """A kill at each step, then a kill at every line of the recovery from it."""
    kills = 0
    for offset, step in enumerate(STEPS):
        for number in count(1 + offset % stride, stride):
            directory = root / f"{step} {number}"
            prepare(directory)
            assert in_child(killed_at_step(step, directory))
            check_after_kill(directory)
            opened = in_child(killed_at_line(number, lambda directory=directory: open_only(directory)))
            check_after_kill(directory)
            finish(directory)
            check_after_rerun(directory)
            if not opened:
                break
            kills += 1
    return kills


def sweep_moments(root: Path, wanted: int) -> int:
    """Kills at random moments, inside SQLite and the kernel too."""
    moments, kills = random.Random(20261115), 0
    for number in range(50 * wanted):
        directory = root / str(number)
        prepare(directory)
        pause = moments.uniform(0, 0.006)

        def kill(child: int, pause: float = pause) -> None:
            time.sleep(pause)
            os.kill(child, signal.SIGKILL)

        kills += in_child(lambda directory=directory: release(directory), kill)
        check_after_kill(directory)
        finish(directory)
        check_after_rerun(directory)
        if kills == wanted:
            break
    return kills


def open_only(directory: Path) -> None:
    Ledger.open(directory / "ledger.sqlite").close()


def finish(directory: Path) -> None:
    """Run the command again, unless what was released (or finished by opening) is there already."""
    open_only(directory)
    if (directory / "out.csv").read_bytes() == FORCED.encode():
        release(directory)


if __name__ == "__main__":
    sweeps = {"release": sweep_release, "recovery": sweep_recovery, "moments": sweep_moments}
    print(sweeps[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3])))
