"""How far a reader follows one command: modules that run code, and how often control changes room, call by call.

    python tools/walk.py protect laplace        # or another method
    python tools/walk.py compare                # 20 releases
    python tools/walk.py stats SPECIFICATION DATA
    python tools/walk.py --pairs protect laplace   # also the pairs of calls between rooms, the most frequent first

A room is the first folder below `src/coterie`. The command runs once before it is counted, so that loading modules does not
count; neither do generator expressions, lambdas and other threads.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType

from typer.testing import CliRunner

import coterie
from coterie.cli import app

ROOT = f"{Path(coterie.__file__).parent}/"
_FUNCTION = 1  # flag of code with fast locals: bodies of modules and classes have none


class Walk:
    """Counts calls while it is the profiler of this thread."""

    def __init__(self) -> None:
        self.modules: Counter[str] = Counter()
        self.pairs: Counter[tuple[str, str]] = Counter()
        self._last: tuple[str, str] | None = None

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        inside = code.co_filename.startswith(ROOT) and code.co_flags & _FUNCTION
        if event != "call" or not inside or code.co_name.startswith("<"):
            return
        module = code.co_filename.removeprefix(ROOT)
        room, place = module.partition("/")[0], f"{module}: {code.co_qualname}"
        self.modules[module] += 1
        if self._last is not None and self._last[0] != room:
            self.pairs[self._last[1], place] += 1
        self._last = room, place


def arguments(what: str, more: list[str], folder: Path) -> list[str]:
    """The command line to walk, with its inputs written to `folder`."""
    people, schema = folder / "people.csv", folder / "schema.yaml"
    coterie.demo_population().to_pandas().to_csv(people, index=False)
    schema.write_text(coterie.demo_schema().to_yaml())
    if what == "stats":
        return ["stats", "release", *more[:1], "--data", *more[1:]]
    given = [what, str(people), "--schema", str(schema)]
    if what == "compare":
        return [*given, "--methods", "dp-ir,laplace", "--k", "10", "--epsilon", "0.1,1", "--runs", "5"]
    method = coterie.list_methods()[more[0]]
    k = [] if method["k_may_be_left_out"] or method["fixed_k"] else ["--k", "20"]
    return [*given, "--method", more[0], "--epsilon", "1", *k]


def walk(what: str, more: list[str]) -> Walk:
    found = Walk()
    with tempfile.TemporaryDirectory() as name:
        given = arguments(what, more, Path(name))
        for number, profiler in enumerate((None, found)):
            sys.setprofile(profiler)
            result = CliRunner().invoke(app, [*given, "--output", f"{name}/out-{number}.csv"])
            sys.setprofile(None)
            if result.exit_code:
                sys.exit(result.output)
    return found


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--pairs"]
    done = walk(words[0], words[1:])
    print(f"{len(done.modules)} modules, {done.pairs.total()} changes of room, {done.modules.total()} calls")
    if len(words) < len(sys.argv) - 1:
        for (before, after), times in done.pairs.most_common(40):
            print(f"{times:6}  {before} → {after}")
