"""Bad lines: cut connections, errors of proxies, a certificate or key that is not the pinned one."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from federation_world import PATIENCE, Look, command, environment, events, people
from lying_aggregator import lying

from coterie.federation.errors import Unreachable, Untrusted
from coterie.federation.owner import agent as agent_module
from coterie.federation.owner.agent import backoff
from coterie.federation.secrets import tls
from coterie.federation.secrets.keys import Keys
from coterie.publication.ledger import Ledger


def settings(home: Any, **changes: str) -> None:
    path = home.folder / "owner.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def run(home: Any) -> subprocess.CompletedProcess[str]:
    """Without --once: a process that retried would not end."""
    return subprocess.run(
        command("owner", "run", "--home", str(home.folder), "--json"),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_another_certificate_than_the_pinned_one(shared: Any, tmp_path: Any) -> None:
    home = shared.join("pinned")
    tls.make_certificate(tmp_path, ["127.0.0.1"])
    settings(home, tls=(tmp_path / tls.CERTIFICATE).read_text())
    done = run(home)
    assert done.returncode == 12, done.stderr
    assert "not the pinned one" in json.loads(done.stderr)["problem"]


def test_another_key_than_the_pinned_one(shared: Any) -> None:
    home = shared.join("other-key")
    settings(home, aggregator=Keys.generate().public)
    done = run(home)
    assert done.returncode == 12, done.stderr
    assert "not signed by the aggregator" in json.loads(done.stderr)["problem"]


def test_an_aggregator_with_the_certificate_but_not_the_key(shared: Any) -> None:
    home = shared.join("half-right")
    with lying(shared.aggregator.folder, Keys.generate()) as lies, pytest.raises(Untrusted):
        Look(shared, home, lies.url).once()


def test_errors_of_the_server_are_waited_out(shared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    home = shared.join("patient")
    pauses: list[int] = []

    def noted(failures: int) -> float:
        pauses.append(failures)
        lies.status = 503 if len(pauses) < 3 else 200
        return 0.0

    monkeypatch.setattr(agent_module, "backoff", noted)
    with lying(shared.aggregator.folder, shared.aggregator.keys) as lies:
        lies.status = 500
        Look(shared, home, lies.url).once()
    assert pauses == [1, 2, 3]


def test_backoff_grows_and_is_never_the_same() -> None:
    for failures in range(1, 20):
        drawn = [backoff(failures) for _ in range(50)]
        assert 0.5 <= min(drawn) <= max(drawn) <= min(30.0, 0.5 * 2**failures)
        assert len(set(drawn)) > 40
    assert max(backoff(10) for _ in range(200)) > 20


def test_nobody_there(shared: Any) -> None:
    home = shared.join("nobody-there")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"https://127.0.0.1:{closed.getsockname()[1]}"
        look = Look(shared, home, url)
        with look.client, pytest.raises(Unreachable):
            look.client.get("/v1/desired?after=&wait=0")


@contextmanager
def cutting(port: int, every: int) -> Iterator[tuple[str, list[int]]]:
    """A line to `port` that is cut after some bytes, on all but every `every`-th connection."""
    listener = socket.create_server(("127.0.0.1", 0))
    cuts: list[int] = []

    def pump(source: socket.socket, sink: socket.socket, limit: int | None) -> None:
        with suppress(OSError):
            while data := source.recv(16384):
                if limit is not None and (limit := limit - len(data)) < 0:
                    break
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    opened: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def serve() -> None:
        number = 0
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            number += 1
            limit = None if number % every == 0 else 2500 * (number % 5)
            if limit is not None:
                cuts.append(limit)
            far = socket.create_connection(("127.0.0.1", port))
            opened.extend((near, far))
            for ends in ((near, far, None), (far, near, limit)):
                threads.append(threading.Thread(target=pump, args=ends, daemon=True))
                threads[-1].start()

    accepting = threading.Thread(target=serve, daemon=True)
    accepting.start()
    try:
        yield f"https://127.0.0.1:{listener.getsockname()[1]}", cuts
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        accepting.join()
        listener.close()
        for end in opened:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()
        for end in opened:
            end.close()


def test_a_line_that_is_cut_again_and_again(shared: Any) -> None:
    homes = [shared.join(name) for name in ("cut-off", "well-connected")]
    for home in homes:
        shared.give(home, people(40, 3))
    study = shared.study([home.owner for home in homes])
    with cutting(shared.port, every=3) as (url, cuts):
        settings(homes[0], url=url)
        running = [shared.run_owner(home, "--until-done") for home in homes]
        shared.await_state(study, "RELEASED")
        assert [process.wait(PATIENCE) for process in running] == [0, 0]
    assert len(cuts) >= 2
    assert any(event["event"] == "unreachable" for event in events(homes[0]))
    entries = Ledger.inspect(homes[0].default_ledger).entries.values()
    assert len([entry for entry in entries if entry.state.charged]) == 1
