"""A peer's own virtual environment, made on first use in a cache folder; nothing of it touches Coterie's.

COTERIE_PEERS names the folder (else ~/.cache/coterie-peers). What cannot be installed or run is reported in one sentence.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import venv
from pathlib import Path
from typing import Any

INSTALL_SECONDS = 600
RUN_SECONDS = 240
HERE = Path(__file__).resolve().parent


class PeerMissing(Exception):
    """The comparison cannot be made here, and why."""


def cache_folder() -> Path:
    return Path(os.environ.get("COTERIE_PEERS", Path.home() / ".cache" / "coterie-peers"))


def python_of(peer: str, packages: tuple[str, ...]) -> Path:
    """The peer's interpreter; installs it once."""
    folder = cache_folder() / peer
    python = folder / "bin" / "python"
    if (folder / "installed").is_file():
        return python
    try:
        venv.create(folder, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise PeerMissing(f"{peer} could not be installed ({type(error).__name__})") from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise PeerMissing(f"{peer} could not be installed: {last}")
    (folder / "installed").write_text("\n".join(packages) + "\n")
    return python


def run_inside(
    peer: str, packages: tuple[str, ...], request: dict[str, Any], seconds: int = RUN_SECONDS
) -> Any:
    """`inside_PEER.py REQUEST ANSWER` in the peer's environment: JSON in, JSON out."""
    python = python_of(peer, packages)
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder) / "request.json", Path(folder) / "answer.json"
        asked.write_text(json.dumps(request))
        command = [str(python), str(HERE / f"inside_{peer}.py"), str(asked), str(answered)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=seconds, check=False, env=_clean()
            )
        except subprocess.TimeoutExpired:
            raise PeerMissing(f"{peer} did not finish within {seconds} s") from None
        if done.returncode != 0 or not answered.is_file():
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise PeerMissing(f"{peer} failed: {last}")
        return json.loads(answered.read_text())


def _clean() -> dict[str, str]:
    """Without our import path, which would shadow the peer's packages."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
