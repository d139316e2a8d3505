"""Tasks that lead to steps, done by a few threads. The caller's own thread works too: one that only waits would be woken
for every result, and each time take the interpreter lock from those that work."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Condition

from coterie.comparison.section import CORES, Step, Task


def finish(tasks: Iterable[Task], pool: ThreadPoolExecutor | None) -> None:
    """Do all tasks, and the steps that they return. Without a pool, one after the other."""
    if pool is None:
        for task in tasks:
            for step in task() or ():
                step()
        return
    work = _Work(tasks)
    others = [pool.submit(work.until_done) for _ in range(CORES - 1)]
    work.until_done()
    for other in others:
        other.result()
    if work.failed is not None:
        raise work.failed


class _Work:
    def __init__(self, tasks: Iterable[Task]) -> None:
        self._tasks = iter(tasks)
        self._steps: deque[Step] = deque()
        self._under_way = 0  # tasks that may still lead to steps
        self._changed = Condition()
        self.failed: BaseException | None = None

    def until_done(self) -> None:
        while (job := self._next()) is not None:
            try:
                following = job()
            except BaseException as error:  # raised again by whoever waits for the work
                self._end(error)
                return
            if following is not None:
                with self._changed:
                    self._steps.extend(following)
                    self._under_way -= 1
                    self._changed.notify_all()

    def _next(self) -> Task | None:
        """Tasks first: they are the longest. But few at a time, for each holds its noise until its steps are done."""
        with self._changed:
            while self.failed is None:
                if len(self._steps) <= CORES:
                    try:
                        task = next(self._tasks, None)
                    except BaseException as error:
                        self.failed = error
                        break
                    if task is not None:
                        self._under_way += 1
                        return lambda: task() or ()
                if self._steps:
                    return self._steps.popleft()
                if not self._under_way:
                    break
                self._changed.wait()
            self._changed.notify_all()
            return None

    def _end(self, error: BaseException) -> None:
        with self._changed:
            self.failed = self.failed or error
            self._changed.notify_all()
