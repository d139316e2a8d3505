"""A real PostgreSQL server for tests: one a process, in a temporary folder, gone afterwards."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from free_port import free_port

USER, PASSWORD = "coterie", "not-in-any-message"


def _programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[4]))
    return found[-1].parent if found else None


def _as_server(command: list[str]) -> list[str]:
    """PostgreSQL refuses to run as root, so root borrows the user that Debian's package makes."""
    return ["runuser", "-u", "postgres", "--", *command] if os.geteuid() == 0 else command


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    """`postgresql://…` of an empty database that no other test sees."""
    return new_database(postgres_server)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """`postgresql://…` of a server of our own. Tests take databases of their own on it: `postgres_url`, `new_database`."""
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    # Not pytest's folder: that one is closed to other users, and its path is too long for a socket.
    folder = Path(tempfile.mkdtemp(prefix="coterie-pg-"))
    folder.chmod(0o755)
    server = folder / "server"
    server.mkdir()
    (folder / "password").write_text(PASSWORD)
    if os.geteuid() == 0:
        shutil.chown(server, "postgres", "postgres")
    data, port = server / "data", free_port()
    control = [str(programs / "pg_ctl"), "-D", str(data)]
    settings = f"-p {port} -k {server} -c listen_addresses=127.0.0.1 -c fsync=off"
    try:
        initialise = [str(programs / "initdb"), "-D", str(data), "-U", USER, "-A", "scram-sha-256"]
        _run([*initialise, f"--pwfile={folder / 'password'}", "-E", "UTF8", "--locale=C", "--no-sync"])
        _run([*control, "-w", "-l", str(server / "log"), "-o", settings, "start"])
        try:
            yield f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{port}/postgres"
        finally:
            _run([*control, "-m", "immediate", "-w", "stop"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def new_database(server: str) -> str:
    """An empty database of its own on the server: what one test leaves there, no other one sees."""
    url, name = make_url(server), f"of_a_test_{uuid4().hex}"
    engine = create_engine(url.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return url.set(database=name).render_as_string(hide_password=False)


def _run(command: list[str]) -> None:
    # Output goes nowhere: the server would inherit a pipe and keep it open.
    subprocess.run(
        _as_server(command),
        check=True,
        cwd="/",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=120,
    )
