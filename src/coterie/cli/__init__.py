"""The command: thin. Parse, call, print."""

from __future__ import annotations

import atexit
import errno
import gc
import os
import sys
import warnings

from coterie.cli.app import app
from coterie.cli.output import print_error, wants_json
from coterie.errors import CoterieError, OutputError


def _app_in_json() -> int:
    """Programs get a command line that cannot be read as JSON too, not as a drawn box."""
    try:
        return int(app(prog_name="coterie", standalone_mode=False) or 0)
    except Exception as error:
        explain = getattr(error, "format_message", None)
        if explain is None:
            raise
        fault = CoterieError(str(explain()), "`--help` shows what can be given.")
        print_error(fault, as_json=True, exit_code=2, name="UsageError")
        return 2


def main() -> None:
    # Loading modules makes many objects and no garbage, and what is left at the end goes with the process.
    gc.set_threshold(100_000)
    warnings.formatwarning = lambda message, *_, **__: f"Warning: {message}\n"
    atexit.register(gc.freeze)
    if sys.argv[1:2] == ["protect"] and not any(word.startswith("--memory") for word in sys.argv):
        # Arrow's pool reads it when it is loaded, which is later. A run that holds the whole table needs what it freed
        # again at once, and memory that was given back to the system in between is cleared page by page.
        os.environ.setdefault("MIMALLOC_PURGE_DELAY", "-1")
    try:
        if wants_json(sys.argv):
            sys.exit(_app_in_json())
        app(prog_name="coterie")
    except Exception as error:
        fault = error if isinstance(error, CoterieError) else _told(error)
        print_error(fault, as_json=wants_json(sys.argv))
        sys.exit(fault.exit_code)


def _told(error: Exception) -> CoterieError:
    """What is no fault that we foresaw. An exception's own text may hold data values: name its kind only."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return OutputError("The disk is full.", "Make room, then run it again; nothing half-written is left.")
    if os.environ.get("COTERIE_DEBUG"):
        raise error
    from coterie.registry import raised_by  # loads the metadata of packages, which `--help` does without

    package = raised_by(error)
    where = f"in the package '{package}', which adds parts to Coterie" if package else "inside Coterie"
    return CoterieError(
        f"Something went wrong {where} ({type(error).__name__}).",
        f"This is a bug: please report it{' there' if package else ''} with the command you ran. COTERIE_DEBUG=1 "
        "shows where it happened; that output may hold data values, so read it before you share it.",
    )
