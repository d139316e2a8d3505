"""A port for a server whose address must be known before it listens."""

from __future__ import annotations

import itertools
import os
import socket
from contextlib import suppress

# Below the ports that the system gives to connections (32768 and up), one of which could otherwise take the number before
# the server does, or while a killed server is started again. Each worker of pytest-xdist has a range of its own.
_FIRST, _EACH = 12_000, 2_000
_RANGE = _FIRST + _EACH * (int(os.environ.get("PYTEST_XDIST_WORKER", "gw9").removeprefix("gw")) % 10)
_numbers = itertools.count(os.getpid() * 101)  # not where another run begins


def free_port() -> int:
    for number in itertools.islice(_numbers, _EACH):
        port = _RANGE + number % _EACH
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError(f"no port is free between {_RANGE} and {_RANGE + _EACH}")
