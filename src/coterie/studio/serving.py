"""Run the studio on this machine only, until it is stopped."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import uvicorn

from coterie.errors import OutputError
from coterie.studio.app import make_app
from coterie.studio.home import Home


def address(home: Home, port: int, boot: str, file: Path | None) -> str:
    """What to open: good for one visit."""
    asked = {"token": home.token(boot), **({"open": str(file.absolute())} if file else {})}
    return f"http://127.0.0.1:{port}/?{urlencode(asked)}"


def serve(
    home: Home, port: int | None, file: Path | None, largest_upload: int, ready: Callable[[str], None]
) -> None:
    """`ready` is called with the address once the port is ours. Without `port`: the last one, if it is free."""
    listening = _listen(port, home.running["port"] if home.running else 0)
    port = listening.getsockname()[1]
    boot = home.announce(port)
    app = make_app(home, port, boot, largest_upload=largest_upload)
    config = uvicorn.Config(
        app,
        access_log=False,  # the first request's address holds the token
        log_level="warning",
        server_header=False,
        h11_max_incomplete_event_size=32 * 1024,
        timeout_graceful_shutdown=2,
    )
    ready(address(home, port, boot, file))
    uvicorn.Server(config).run(sockets=[listening])


def _listen(wanted: int | None, last: int) -> socket.socket:
    """An open page finds the studio again after a restart, if it listens where it did before."""
    for port in [wanted] if wanted is not None else [last, 0]:
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
            listening.listen(
                128
            )  # the address is told now: a browser that comes at once waits, and is not refused
        except OSError:
            listening.close()
            continue
        listening.listen()  # from now on a browser waits for us instead of being turned away
        return listening
    raise OutputError(f"Port {wanted} is taken.", "Choose another one, or leave --port out.")
