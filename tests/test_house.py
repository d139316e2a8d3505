"""House rules that a reader would otherwise have to check by eye."""

from __future__ import annotations

import ast
import hashlib
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import count_lines

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "src").rglob("*.pyi")])
# The data sets beside the repository are not ours to publish (sha256, from their README).
NOT_OURS = {
    "40fb91564d4379274610e941161fd38729adb471bddb9c71d7c01ef142fd0f5b",
    "fe24177a5b0df1874e6afc5748b7d9e547ca25880a84c4310f39b7ccf1b0da37",
    "e809ea7e82c113838d8ca6ff3cb3557a163ddce5ece7785639e9fb3e533bb347",
    "d22f4f11db0456ff21745d2fa96d26fa348a8cdb889efda65bde802085be45fd",
    "d99ea899f7ea892b717e34b0b6eaca33244c52d0d038dc4fcb6c728a64842562",
    "6e3894cf7d9210613f62c866684055decea694345cd4f244ecd7167041578c68",
}
# Written in two halves, or this file would break its own rule.
HOSTS = [
    first + second
    for first, second in [
        ("pypi", ".org"),
        ("files.python", "hosted.org"),
        ("test.py", "pi.org"),
        ("npm", "js.com"),
        ("npm", "js.org"),
        ("anaconda", ".org"),
        ("cran.r-", "project.org"),
    ]
]
GLOBAL_RANDOM = re.compile(
    r"\b(np|numpy)\.random\.(seed|rand|randn|randint|random|random_sample|uniform|normal|laplace|exponential"
    r"|choice|shuffle|permutation|get_state|set_state)\b"
    r"|^\s*(import random|from random import)\b"
    r"|default_rng\(\s*\)",
    re.MULTILINE,
)


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode != 0:
        pytest.skip("this is no git checkout, so nothing is tracked")
    return [path for name in listed.stdout.decode().split("\0") if name and (path := ROOT / name).is_file()]


def test_no_source_file_is_long() -> None:
    assert SOURCES
    assert {path.name: n for path in SOURCES if (n := path.read_text().count("\n")) > 400} == {}


def test_lines_are_counted_as_what_they_are() -> None:
    text = '"""Says what."""\n\n# why\nx = 1  # beside\n\n\n'
    text += 'def f():\n    """Says.\n\n    More.\n    """\n    return """a\n\nb"""\n'
    assert count_lines.lines_of(text) == {"code": 5, "docstrings": 5, "comments": 1, "blank": 3}
    room = ROOT / "src/coterie/promise"
    (found,) = count_lines.measured(room).values()
    assert sum(found[kind] for kind in count_lines.KINDS) == sum(
        p.read_text().count("\n") for p in room.glob("*.py")
    )
    assert found["files"] == len(list(room.glob("*.py")))


def test_no_catch_all_modules() -> None:
    assert not [path for path in SOURCES if path.stem in ("utils", "util", "helpers", "misc", "common")]


def test_randomness_is_never_global() -> None:
    assert [str(path) for path in SOURCES if GLOBAL_RANDOM.search(path.read_text())] == []


@pytest.mark.parametrize(
    "line",
    ["np.random.seed(1)", "x = numpy.random.rand(3)", "import random", "np.random.default_rng()"],
)
def test_the_rule_about_randomness_would_notice(line: str) -> None:
    assert GLOBAL_RANDOM.search(f"x = 1\n{line}\n")
    assert not GLOBAL_RANDOM.search("np.random.Generator(np.random.PCG64(seed)); np.random.Philox(key=k)\n")


def test_no_package_host_is_named() -> None:
    found = []
    for path in tracked():
        content = path.read_bytes().lower()
        found += [(path.name, host) for host in HOSTS if host.encode() in content]
    assert found == []


def test_no_data_set_is_committed() -> None:
    committed = [path.name for path in tracked() if hashlib.sha256(path.read_bytes()).hexdigest() in NOT_OURS]
    assert committed == []


def test_no_unfinished_work_is_left() -> None:
    """Marks of things to do belong in issues."""
    mark = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|raise NotImplementedError")
    assert [str(path) for path in SOURCES if mark.search(path.read_text())] == []


def names_of_types(path: Path) -> list[str]:
    """Classes and names for arrays that a module defines."""
    found = []
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef):
            found.append(node.name)
        elif isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("NDArray["):
            found += [ast.unparse(target) for target in node.targets]
    return found


def test_one_name_one_type() -> None:
    """A reader who meets `Plan` or `Codes` in two rooms must not have to ask which one it is."""
    names = Counter(name for path in SOURCES for name in names_of_types(path))
    assert len(names) > 300
    assert [name for name, count in names.items() if count > 1] == []


# What a process keeps, each with its reason. A cache or a lock that belongs to one run belongs in that run's objects.
STATE = {
    "chain/noise/discrete_laplace.py:_drawn_so_far",  # whether compiling pays; the draws are the same
    "chain/partition/univariate.py:_workspace",  # memory of a thread, used again
    "registry.py:_outside",  # packages that offered parts
    "schema/draft.py:open_source",  # set once by the room above, which knows files
}
EMPTY = {"{}", "[]", "set()", "dict()", "list()", "OrderedDict()", "threading.local()", "threading.Lock()"}


def state_of(text: str) -> set[str]:
    """Names of a module that begin empty, and those that a function assigns to."""
    tree = ast.parse(text)
    found = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value and ast.unparse(node.value) in EMPTY:
            found.add(ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target))
    return found


def test_the_state_of_the_process_is_what_is_listed() -> None:
    root = ROOT / "src/coterie"
    found = {
        f"{path.relative_to(root).as_posix()}:{name}"
        for path in SOURCES
        for name in state_of(path.read_text())
    }
    assert found == STATE
    assert state_of("_held: dict[Path, Lock] = {}\nSIZES = {1: 2}\ndef f():\n    global n\n    n = 1\n") == {
        "_held",
        "n",
    }


def bodies(path: Path) -> Iterator[tuple[str, str]]:
    """What each function does, without its docstring, and where; a line that calls something else is no body."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            steps = [step for step in node.body if not isinstance(getattr(step, "value", None), ast.Constant)]
            text = "\n".join(map(ast.unparse, steps))
            if len(text) >= 70:
                yield text, f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"


def test_no_function_is_written_twice() -> None:
    found: dict[str, list[str]] = {}
    for path in SOURCES:
        for text, place in bodies(path):
            found.setdefault(text, []).append(place)
    assert len(found) > 2000
    assert [places for places in found.values() if len(places) > 1] == []


# Where a rounded number is stored, typed again or part of a name; papers print figures of a known size.
ROUNDED_FOR_MACHINES = {
    *("exact.py", "composition.py", "solving.py", "tidy_table.py", "equations.py", "aggregates.py"),
    *("audit.py", "classification.py"),
}


def test_no_person_reads_powers_of_ten() -> None:
    """`f"{1588:.3g}"` is 1.59e+03. What people read is written by `coterie.schema.exact.number`: 1,590."""
    pages = [path for path in (ROOT / "src").rglob("*.html") if re.search(r"%\.\d+g", path.read_text())]
    found = {
        path.name
        for path in SOURCES
        if path.parent.name != "papers" and re.search(r":[.,0-9]*[ge][}]", path.read_text())
    }
    assert (pages, found) == ([], ROUNDED_FOR_MACHINES)


def test_nothing_below_the_command_prints() -> None:
    called = re.compile(r"^\s*print\(|sys\.argv|\binput\(", re.MULTILINE)
    below = [path for path in SOURCES if "cli" not in path.relative_to(ROOT / "src/coterie").parts]
    assert [str(path) for path in below if called.search(path.read_text())] == []


def test_every_locked_requirement_has_its_hash() -> None:
    text = (ROOT / "requirements/dev.txt").read_text().replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]
    assert len(lines) > 30
    assert [line[:40] for line in lines if "==" not in line or "--hash=sha256:" not in line] == []
