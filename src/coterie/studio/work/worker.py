"""The worker's process: waits for a job, does it, leaves the result in the project's folder."""

from __future__ import annotations

import json
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from coterie._version import __version__
from coterie.errors import CoterieError
from coterie.publication.staging import stage_bytes
from coterie.studio.project import Project


def work_forever(pipe: Connection) -> None:
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
        work = import_module(f"coterie.studio.work.{kind}").work
        found = work(Project(folder), {**parameters, **secret}, tell)
        made = {"coterie": __version__, "key": key, "parameters": parameters, "found": found}
        content = json.dumps(made, allow_nan=False)
        stage_bytes(content.encode(), folder / f"{kind}.json", force=True, private=True).publish()
    except CoterieError as error:
        return {"state": "failed", "problem": error.located, "advice": error.advice}
    except Exception as error:
        # An exception's own text may hold data values: name its kind only.
        return {
            "state": "failed",
            "problem": f"Something went wrong inside Coterie ({type(error).__name__}).",
            "advice": "This is a bug: please report what you did.",
        }
    return {"state": "done", "share": 1.0}
