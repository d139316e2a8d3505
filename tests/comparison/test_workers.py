"""Tasks and the steps they lead to are all done, whoever does them; a failure reaches the caller, and nobody waits on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from coterie.comparison import workers
from coterie.comparison.workers import finish


@pytest.fixture(params=[None, 1, 2, 5])
def pool(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ThreadPoolExecutor | None]:
    if request.param is None:
        yield None
        return
    monkeypatch.setattr(workers, "CORES", request.param)
    with ThreadPoolExecutor(request.param) as pool:
        yield pool


def test_every_task_and_every_step_once(pool: ThreadPoolExecutor | None) -> None:
    done: list[tuple[int, int]] = []

    def step(task: int, number: int) -> None:
        time.sleep(0.0005 * (number % 3))
        done.append((task, number))

    def task(number: int) -> list[Callable[[], None]] | None:
        time.sleep(0.001 * (number % 4))
        done.append((number, -1))
        return [partial(step, number, each) for each in range(number)] if number % 3 else None

    finish((partial(task, number) for number in range(20)), pool)
    expected = [(n, -1) for n in range(20)] + [(n, each) for n in range(20) if n % 3 for each in range(n)]
    assert sorted(done) == sorted(expected)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("where", ["task", "step", "between"])
def test_a_failure_reaches_the_caller(pool: ThreadPoolExecutor | None, where: str) -> None:
    def fail() -> None:
        raise ValueError(where)

    def tasks() -> Iterator[Callable[[], list[Callable[[], None]] | None]]:
        for number in range(9):
            if number == 4:
                if where == "between":
                    fail()
                yield fail if where == "task" else lambda: [lambda: None, fail]
            else:
                yield lambda: [partial(time.sleep, 0.001)] * 3

    with pytest.raises(ValueError, match=where):
        finish(tasks(), pool)


def test_nothing_to_do(pool: ThreadPoolExecutor | None) -> None:
    finish([], pool)
