"""Long work happens in a process of its own: the pages stay quick, and cancelling is immediate.

One worker works through one job at a time. A finished job leaves its result in the project's folder, under a key that
says what it was made from, so a page knows whether a result belongs to the current settings. Real noise is never drawn
here: a job may be cancelled and started again, a release may not (see releases.py).
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import deque
from dataclasses import dataclass, field, replace
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from coterie._version import __version__
from coterie.errors import CoterieError
from coterie.studio.project import Project, store
from coterie.studio.work import PLACES


def work_forever(pipe: Connection) -> None:
    """The worker's process: waits for a job, does it, leaves the result in the project's folder."""
    while True:
        try:
            kind, folder, parameters, key, secret = pipe.recv()
        except (EOFError, OSError, KeyboardInterrupt):  # the studio has ended
            return
        pipe.send(_done(kind, Path(folder), parameters, key, secret, pipe))


def _done(
    kind: str, folder: Path, parameters: dict[str, Any], key: str, secret: dict[str, Any], pipe: Connection
) -> dict[str, Any]:
    def tell(share: float | None, words: str) -> None:
        pipe.send({"share": share, "words": words})

    try:
        work = getattr(import_module(f"coterie.studio.work.{PLACES[kind]}"), kind)
        found = work(Project(folder), {**parameters, **secret}, tell)
        made = {"coterie": __version__, "key": key, "parameters": parameters, "found": found}
        store(folder / f"{kind}.json", json.dumps(made, allow_nan=False))
    except Exception as error:
        problem, advice = error_in_words(error)
        return {"state": "failed", "problem": problem, "advice": advice}
    return {"state": "done", "share": 1.0}


@dataclass(slots=True)
class Job:
    project: str
    kind: str
    key: str
    folder: Path
    parameters: dict[str, Any]
    secret: dict[str, Any] = field(repr=False)  # parameters that are never written down
    state: str = "waiting"  # waiting, running, done, failed, cancelled
    share: float | None = None  # None: nobody knows how much is left
    words: str = ""
    problem: str = ""
    advice: str = ""
    started: float = field(default_factory=time.monotonic)

    def shown(self) -> dict[str, Any]:
        told = {
            name: getattr(self, name) for name in ("kind", "state", "share", "words", "problem", "advice")
        }
        return {**told, **time_left(self.started, self.share if self.state == "running" else None)}


@dataclass(frozen=True, slots=True)
class Latest:
    """The last job of a kind as it stands now, and what the last finished one found; that survives a restart."""

    project: Project
    kind: str
    job: Job | None
    key: str
    parameters: dict[str, Any]  # that the result was made with
    found: dict[str, Any] | None

    @property
    def asked(self) -> dict[str, Any]:
        """The parameters of the last job; empty where there was none."""
        return self.job.parameters if self.job else self.parameters

    @property
    def under_way(self) -> bool:
        return self.job is not None and self.job.state in ("waiting", "running")

    def made_with(self, parameters: dict[str, Any] | None = None) -> bool:
        """Whether there is a result of these parameters (or of its own), and of table and description as they are now."""
        given = self.parameters if parameters is None else parameters
        return self.found is not None and self.key == key_of(self.project, self.kind, given)


def time_left(started: float, share: float | None) -> dict[str, float | None]:
    """Seconds since the start, and those that are left by what was done so far."""
    seconds = time.monotonic() - started
    return {"seconds": round(seconds, 1), "left": round(seconds * (1 - share) / share, 1) if share else None}


def key_of(project: Project, kind: str, parameters: dict[str, Any]) -> str:
    """What a result was made from: the table, its description and the settings."""
    loaded = project.state.loaded
    schema = project.schema_path.read_text() if project.schema_path.exists() else ""
    schema = schema.partition("\nparameters:")[0]  # why they are public changes no result
    made_from = [kind, loaded.digest if loaded else "", schema, parameters]
    return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()


def error_in_words(error: Exception) -> tuple[str, str]:
    """Problem and advice. An exception's own text may hold data values: of those that are not ours, only the kind."""
    if isinstance(error, CoterieError):
        return error.located, error.advice
    return (
        f"Something went wrong inside Coterie ({type(error).__name__}).",
        "This is a bug: please report what you did.",
    )


class Jobs:
    def __init__(self) -> None:
        self._jobs: dict[tuple[str, str], Job] = {}
        self._waiting: deque[Job] = deque()
        self._change = threading.Condition()
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._closed = False
        threading.Thread(target=self._work_off, daemon=True, name="studio jobs").start()

    def start(
        self, project: Project, kind: str, parameters: dict[str, Any], secret: dict[str, Any] | None = None
    ) -> Job:
        """Queue the job, unless the very same one is under way. A new one of its kind replaces an older one.

        What is `secret`, such as an address with a password, goes to the worker and nowhere else.
        """
        key = key_of(project, kind, parameters)
        with self._change:
            old = self._jobs.get((project.id, kind))
            if old and old.key == key and old.state in ("waiting", "running"):
                return old
            self._stop(old)
            job = Job(project.id, kind, key, project.folder, parameters, secret or {})
            self._jobs[project.id, kind] = job
            self._waiting.append(job)
            self._change.notify_all()
        return job

    def cancel(self, project: Project, kind: str) -> None:
        with self._change:
            self._stop(self._jobs.get((project.id, kind)))

    def job(self, project: Project, kind: str) -> Job | None:
        """The last job of a kind as it stands now. Reads no file: pages ask again and again."""
        job = self._jobs.get((project.id, kind))
        return replace(job) if job else None

    def latest(self, project: Project, kind: str) -> Latest:
        # The job first: one that ends in between would be shown neither as running nor as done.
        job = self.job(project, kind)
        try:
            made = json.loads((project.folder / f"{kind}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            made = {}
        if made.get("coterie") != __version__:  # another version's pages may need more
            return Latest(project, kind, job, "", {}, None)
        return Latest(project, kind, job, made["key"], made["parameters"], made["found"])

    def close(self) -> None:
        with self._change:
            self._closed = True
            self._kill()
            self._change.notify_all()

    def _stop(self, job: Job | None) -> None:
        if job is None or job.state not in ("waiting", "running"):
            return
        if job.state == "running":
            self._kill()
        job.state = "cancelled"

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None

    def _work_off(self) -> None:
        while True:
            with self._change:
                while not self._waiting and not self._closed:
                    self._change.wait()
                if self._closed:
                    return
                job = self._waiting.popleft()
                if job.state != "waiting":
                    continue
                pipe = self._worker()
                job.state, job.started = "running", time.monotonic()
                pipe.send((job.kind, str(job.folder), job.parameters, job.key, job.secret))
                job.secret = {}
            self._listen(job, pipe)

    def _listen(self, job: Job, pipe: Connection) -> None:
        while True:
            try:
                told = pipe.recv()
            except (EOFError, OSError):  # killed by cancel, or by the system
                with self._change:
                    if job.state == "running":
                        self._kill()
                        job.state, job.problem = "failed", "The work was stopped by the system."
                        job.advice = "Perhaps memory ran out: try fewer rows or methods."
                return
            with self._change:
                if job.state != "running":
                    return
                for name, value in told.items():
                    setattr(job, name, value)
                if job.state != "running":
                    return

    def _worker(self) -> Connection:
        if self._process is None or not self._process.is_alive() or self._pipe is None:
            context = get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=work_forever, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()
        return self._pipe
