"""coterie studio: the workbench in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

from rich.markup import escape
from typer import Argument, Option

import coterie
from coterie.cli.output import say_event


def studio_command(
    file: Annotated[
        Path | None, Argument(metavar="FILE", help="A table to begin with. You can also load one there.")
    ] = None,
    home: Annotated[
        Path | None, Option(help="Folder for projects and settings. Default: ~/.local/state/coterie/studio.")
    ] = None,
    port: Annotated[
        int | None, Option(min=0, max=65535, help="Default: the port of last time, if it is free.")
    ] = None,
    browser: Annotated[bool, Option("--browser/--no-browser", help="Open the page at once.")] = True,
    largest_upload: Annotated[
        int, Option(min=1, help="Largest file that may be uploaded, in MB. A path has no limit.")
    ] = 2000,
    as_json: Annotated[
        bool, Option("--json", help="Print the address as one line of JSON, then serve.")
    ] = False,
) -> None:
    """Take a table to a release in the browser: load, describe, choose, look, audit, release.

    It listens on this machine only (127.0.0.1), works offline, and lets in the browser that has the one-time token of the
    printed address. Stop it with Ctrl-C; your work is kept and goes on next time.

    Example: coterie studio people.csv
    """

    def tell(opened: str) -> None:
        once = "[dim]The address is good for one visit. Ctrl-C stops the studio.[/]"
        lines = ("Coterie Studio is open at", f"  {escape(opened)}", once)
        say_event({"address": opened}, *lines, as_json=as_json)
        if browser:
            webbrowser.open(opened)

    coterie.open_studio(file, home=home, port=port, largest_upload=largest_upload, ready=tell)
