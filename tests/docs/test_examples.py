"""Every example in the docs that is marked `<!-- run -->` is run; `<!-- file: NAME -->` blocks are written first.

In a console block a line that begins with `$ ` is a command and the lines below it are what it prints: `…` stands for
anything, at the end of a line or as a line of its own. Blanks and line breaks do not count. All blocks of a page share
one folder; the package of a `pyproject.toml` among them is installed. A command must succeed unless its block is marked
`<!-- run: exit N -->`.
"""

from __future__ import annotations

import contextlib
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from command_line import run_command
from coterie.report.demo import write_population
from installed import packages_in, write_metadata_of

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(
    r"<!-- (run(?:: exit (?P<code>\d+))?|file: (?P<file>\S+)) -->\n+```(?P<kind>\w*)\n(?P<text>.*?)```",
    re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    kind: str
    text: str
    file: str | None
    code: int


def blocks(page: Path) -> list[Block]:
    return [
        Block(found["kind"], found["text"], found["file"], int(found["code"] or 0))
        for found in BLOCK.finditer(page.read_text(encoding="utf-8"))
    ]


PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if blocks(page)]


def matches(printed: str, expected: str) -> bool:
    parts = [re.escape("".join(part.split())) for part in expected.split("…")]
    return re.fullmatch(".*".join(parts), "".join(printed.split()), re.DOTALL) is not None


def run_console(block: Block, folder: Path) -> None:
    for command, expected in re.findall(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
        words = shlex.split(command.replace("\\\n", " "))
        assert words[0] == "coterie", f"only coterie commands are run: {command}"
        with contextlib.chdir(folder):
            done = run_command(*words[1:])
        assert done.code == block.code, f"{command}\n{done.out}\n{done.err}"
        assert not expected or matches(done.out + done.err * (block.code > 0), expected), (
            f"{command}\nprinted:\n{done.out}\nthe page says:\n{expected}"
        )


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    if page.name == "README.md":  # which has said `make demo`
        write_population(tmp_path / "demo")
    with contextlib.ExitStack() as stack:
        run_page(page, tmp_path, stack)


def run_page(page: Path, tmp_path: Path, stack: contextlib.ExitStack) -> None:
    for block in blocks(page):
        if block.file is not None:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
            if block.file == "pyproject.toml":
                write_metadata_of(tmp_path, block.text)
                stack.enter_context(packages_in(tmp_path))
        elif block.kind == "python":
            with contextlib.chdir(tmp_path), contextlib.redirect_stdout(None):
                exec(compile(block.text, str(page), "exec"), {})
        else:
            assert block.kind == "console"
            run_console(block, tmp_path)


def test_the_tutorial_is_among_them() -> None:
    names = {page.name for page in PAGES}
    assert {"README.md", "first-release.md", "compare-methods.md", "reproduce-the-papers.md"} <= names


def test_the_runner_can_fail(tmp_path: Path) -> None:
    assert matches("a  b\nc", "a b c")
    assert matches("one two three", "one …")
    assert matches("one\ntwo\nthree\n", "…\nthree")
    assert not matches("one two", "one")
    assert not matches("one two", "two …")
    with pytest.raises(AssertionError, match="the page says"):
        run_console(Block("console", "$ coterie --version\ncoterie 0.0.0-wrong\n", None, 0), tmp_path)
    with pytest.raises(AssertionError, match="no-such-command"):
        run_console(Block("console", "$ coterie no-such-command\n", None, 0), tmp_path)


GUIDES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs/how-to").glob("*.md")),
    *(ROOT / "docs/tutorial").glob("*.md"),
]


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_commands_are_fenced_and_lines_fit_a_screen(page: Path) -> None:
    """An indented block escapes the tests that run the examples."""
    fenced, before = False, ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            assert not (line.startswith("    ") and (not before.strip() or before.startswith("#"))), number
            assert len(line) <= 140 or line.startswith("|"), number
        before = line
