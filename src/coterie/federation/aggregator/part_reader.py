"""What an owner delivered is read in a child process with limits of memory and time: no file can stop the service.

`PartReader` starts one helper process (this module, run by `python -m`) and keeps it. For each part the helper
forks a child, which unpacks and checks every chunk and writes it again, in our own hand, beside the one that came.
Only these copies are ever opened by the aggregator. A child that dies, or needs more than it may, has read a part that is
quarantined.
"""

from __future__ import annotations

import io
import json
import os
import resource
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from coterie.errors import CoterieError
from coterie.federation.documents.chunks import (
    Chunk,
    arrow_schema,
    canonical_parquet,
    require_domain,
    unpacked,
)
from coterie.federation.documents.study import StudyAttribute
from coterie.federation.secrets.blinding import COLUMN
from coterie.federation.secrets.keys import open_chunk
from coterie.table.hidden_files import write_whole

MEMORY_BYTES = 1536 * 1024 * 1024  # beyond what the helper itself needs; a chunk unpacks to 512 MB at most
SECONDS = 60  # of CPU, for as many chunks as are read at once
AT_ONCE = 25  # chunks of one part; then other studies have their turn
_WALL = 10  # times as long by the clock: the machine may have much else to do
CHECKED = ".checked"
UNREADABLE = "it could not be read within the limits of memory and time"


class PartKilledItsReader(Exception):
    """The part needs more memory or time than any honest one, or crashed its reader."""


class PartReader:
    """Checks parts one at a time. Thread-safe; the helper is started when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._helper: subprocess.Popen[bytes] | None = None

    def wrong(
        self,
        files: Sequence[Path],
        chunks: Sequence[Chunk],
        attributes: Sequence[StudyAttribute],
        *,
        pseudonymous: bool,
        key: bytes | None = None,
        study: str = "",
        first: int = 0,
    ) -> str | None:
        """Why the chunks from `first` on cannot be used, or None: then a checked copy of each is there, up to `AT_ONCE`.

        `key`: of a sealed part.
        """
        job = {
            "first": first,
            "before": str(files[first - 1]) if first else None,
            "files": [str(path) for path in files[first : first + AT_ONCE]],
            "chunks": [chunk.content() for chunk in chunks[first : first + AT_ONCE]],
            "attributes": [attribute.content() for attribute in attributes],
            "pseudonymous": pseudonymous,
            "key": None if key is None else key.hex(),
            "study": study,
            "seconds": SECONDS,
            "memory": MEMORY_BYTES,
        }
        with self._lock:
            answer = self._asked(job)
        if answer.get("killed"):
            raise PartKilledItsReader(str(answer["killed"]))
        if answer.get("trouble"):
            raise OSError(int(answer["trouble"]), os.strerror(int(answer["trouble"])))
        wrong = answer["wrong"]
        return None if wrong is None else str(wrong)

    def close(self) -> None:
        helper, self._helper = self._helper, None
        if helper is not None:
            with suppress(OSError), helper:  # closes its input, by which it ends, and waits
                pass

    def _asked(self, job: dict[str, Any]) -> dict[str, Any]:
        if self._helper is not None and self._helper.poll() is not None:
            self.close()
        if self._helper is None:
            self._helper = subprocess.Popen(
                [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        assert self._helper.stdin is not None
        assert self._helper.stdout is not None
        self._helper.stdin.write(json.dumps(job).encode() + b"\n")
        self._helper.stdin.flush()
        line = self._helper.stdout.readline()
        if not line:  # the helper itself was ended: by a person, or with the machine's memory
            self.close()
            raise RuntimeError("the reader's helper ended")
        return dict(json.loads(line))


def checked(chunk: Path) -> Path:
    """Where the checked copy of a chunk stands."""
    return chunk.with_name(chunk.name + CHECKED)


# In the helper: one line asks, one line answers; between them lives one child.


def _serve() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the service says when it ends, by closing our input
    for line in sys.stdin.buffer:
        answer = _in_child(json.loads(line))
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()


def _in_child(job: dict[str, Any]) -> dict[str, Any]:
    theirs, ours = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(theirs)
        os._exit(_child(job, ours))
    os.close(ours)
    told = b""
    end = time.monotonic() + _WALL * job["seconds"]
    with os.fdopen(theirs, "rb") as pipe:
        while time.monotonic() < end and select.select([pipe], [], [], max(end - time.monotonic(), 0))[0]:
            part = os.read(pipe.fileno(), 65536)
            if not part:
                break
            told += part
        else:
            os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) != 0 or not told:
        return {"killed": f"exit {os.waitstatus_to_exitcode(status)}"}
    return dict(json.loads(told))


def _child(job: dict[str, Any], sink: int) -> int:
    try:
        _limit(job["memory"], job["seconds"])
        answer: dict[str, Any] = {"wrong": _wrong(job)}
    except (MemoryError, pa.ArrowMemoryError):
        return 3
    except OSError as error:  # our own disk: the part is not at fault
        answer = {"trouble": error.errno or 5}
    except BaseException:  # whatever a hostile file makes a reader do; its message might hold a value
        answer = {"wrong": "A chunk of the contribution is wrong: it is not a Parquet file that can be read."}
    os.write(sink, json.dumps(answer).encode())
    return 0


def _limit(memory: int, seconds: int) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)


def _wrong(job: dict[str, Any]) -> str | None:
    attributes = [StudyAttribute.model_validate(content) for content in job["attributes"]]
    schema = arrow_schema(attributes, pseudonymous=job["pseudonymous"])
    previous = b""
    if job["pseudonymous"] and job["before"]:
        previous = pq.read_table(checked(Path(job["before"]))).column(COLUMN)[-1].as_py()
    for number, (name, content) in enumerate(zip(job["files"], job["chunks"], strict=True), job["first"]):
        try:
            data = Path(name).read_bytes()
            if job["key"] is not None:
                data = open_chunk(data, bytes.fromhex(job["key"]), job["study"], number)
            table = unpacked(io.BytesIO(data), Chunk.model_validate(content), schema)
            require_domain(table, attributes)
        except CoterieError as error:
            return error.problem
        if job["pseudonymous"]:
            for value in table.column(COLUMN).to_pylist():
                if value <= previous:
                    return "its pseudonyms are not in ascending order, each once"
                previous = value
        write_whole(checked(Path(name)), canonical_parquet(table))
    return None


if __name__ == "__main__":
    _serve()
