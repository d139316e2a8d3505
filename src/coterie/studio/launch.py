"""open_studio(): serve the studio on this machine, or open the one that runs already."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from pathlib import Path

from coterie.errors import MissingExtra, OutputError


def open_studio(
    file: str | Path | None = None,
    *,
    home: str | Path | None = None,
    port: int | None = None,
    largest_upload: int = 2000,
    ready: Callable[[str], object] = webbrowser.open,
) -> None:
    """Open the studio: a table's way to a release, in the browser. This is what `coterie studio` does.

    It listens on this machine only, and serves until it is interrupted (Ctrl-C). If a studio with this folder runs
    already, `ready` gets its address, and this call ends at once.

    Parameters
    ----------
    file : str or Path, optional
        A table to begin with.
    home : str or Path, optional
        The folder for projects and settings. Default: ~/.local/state/coterie/studio.
    port : int, optional
        Default: the port of last time, if it is free.
    largest_upload : int, default 2000
        The largest file that may be uploaded, in MB. A path has no limit.
    ready : callable, optional
        Called with the address, which is good for one visit. Default: open it in the browser.

    Returns
    -------
    None
        When the studio was stopped.

    Raises
    ------
    OutputError
        Where the folder cannot be made, the port is taken, or another studio with this folder has another port.
    MissingExtra
        Where the extra `studio` is not installed.

    Examples
    --------
    >>> import coterie
    >>> coterie.open_studio("people.csv")  # doctest: +SKIP
    """
    try:
        from coterie.studio.app import address, serve
        from coterie.studio.auth import StudioHome, default_folder
    except ImportError:
        raise MissingExtra.named("studio", "The studio") from None

    table = None if file is None else Path(file)
    place = StudioHome(default_folder() if home is None else Path(home))
    if not place.take():
        running = place.running
        if running is None or port not in (None, running["port"]):
            raise OutputError(
                "A studio with this folder runs already.", "Stop it, or choose another folder with --home."
            )
        ready(address(place, running["port"], running["boot"], table))
        return
    serve(place, port, table, largest_upload * 1_000_000, ready)
