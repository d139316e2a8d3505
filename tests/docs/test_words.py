"""Phrases that must not come back: in the documentation, the help texts, the messages, the reports and the studio.

Each pattern names what to write instead. Papers are cited by author, never by file number; the one table of references
has the numbers.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TIME = "day|hour|minute|month|second|week|year"
THING = (
    "attribute|bin|bucket|cell|claim|cluster|column|description|draw|event|example|figure|file|group|label|leaf|line|method|"
    "node|original|owner|package|panel|party|person|query|record|release|row|run|statistic|study|table|thread|value|ε"
)
# Words after which "a value" is no measure of anything: "share a value", "all but one attribute of a person".
FREE = (
    "of|or|and|as|in|on|for|with|without|by|from|to|that|while|where|if|about|inside|beside|below|than|is|was|"
    "becomes?|needs?|shares?|draws|takes?|puts?|makes?|marks?|wins?|mean|an?"
)
NOUN = rf"(?!(?:{FREE}) )[\w-]+"
END = rf"an? (?:{THING})\b(?! (?:may|can|must|has|is|of|that))"
AMOUNT = "variances|bytes|values|[Rr]ecords|seconds|ms|µs|ns|MB|GB|EUR|queries|million"
BANNED = {
    rf"\b(?:[Oo]ne|two|\d[\d,]*) (?:{NOUN} )?{NOUN} an? (?:{TIME})\b": "one X per Y",
    rf"\b(?:[Oo]ne|two|\d[\d,]*) (?:{NOUN} )?{NOUN} {END}": "one X per Y",
    rf"\b(?:[Oo]ne|two|[Oo]nce) {END}": "one per Y, once per Y",
    rf"\b[Aa]n? (?:{NOUN} )?{NOUN} {END}": "an X per Y",
    rf"(?<!hich )(?<!kind of )\b(?:{AMOUNT}) an? (?:{THING}|{TIME})\b": "X per Y",
    r"\b(?:[Ss]econds|s|ms|µs) of processor\b|\bprocessor (?:time|seconds)\b": "CPU seconds, CPU time",
    r"\bheld against\b|\bis said for\b|\b(?:is|been) told of\b": "compared with, reported for",
    r"\bpublishing (?:the |each attribute's )?means?\b": "as inaccurate as replacing every value by the mean",
    r"\bby any sharing\b|\bno sharing could\b": "upper limit for any shared computation",
    r"\banother hand\b": "another process has written since",
    r"\bnobody (?:counts|adds)\b|\bthat nobody looked\b|\bNo ledger counts\b|\bcounted by no\b": "not in the ledger",
    r"\battacks? gain(?:s|ed)?\b|\battackers? gains?\b": "the attack re-identifies N % of rows (guessing: M %)",
    r"\bpromise of (?:a|the) (?:release|rows) is refuted\b": "this release is not differentially private",
    r"\d ?· ?10[⁴⁵⁶⁷⁸⁹¹]": "20 million",
    r"\b(?:[Pp]aper )?00[0-4] (?:§|Fig\.|Table|Prop\.|Lemma|Algorithm|Eq\.|eq\.|Theorem|claims|does)": "the authors",
    r"\b00[0-4]-(?:fig|table|scores)": "sanchez-2016-table1",
    r"\bas in 00[0-4]\b|\bsse-004\b|\bpaper 00[0-4]\b": "as in Nunes 2024",
    r"\d{1,3}\.\d{7,}": "at most three significant digits",
}
# Text that was published, or that speaks of faults as they were.
EXEMPT = {"docs/reference/papers.md", "docs/guarantees/what-was-broken.md"}


def pages() -> Iterator[tuple[str, str]]:
    for path in (
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "SECURITY.md",
        *(ROOT / "docs").rglob("*.md"),
    ):
        name = str(path.relative_to(ROOT))
        if name not in EXEMPT:
            yield name, path.read_text(encoding="utf-8")
    for path in (ROOT / "src").rglob("*"):
        if path.suffix in {".html", ".js"} and ".min." not in path.name:
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def strings(path: Path) -> Iterator[str]:
    """What a program can say: all its strings but docstrings of private things. Commands show their docstrings as help."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    hidden = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
        and "cli" not in path.parts
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in hidden:
            yield node.value


def messages() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "src").rglob("*.py")):
        yield str(path.relative_to(ROOT)), "\n\n".join(strings(path))


def remarks() -> Iterator[tuple[str, str]]:
    """What only a reader of the code sees: docstrings and comments."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        docstrings = [
            ast.get_docstring(node, clean=False) or ""
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        comments = [token.string.removeprefix("#") for token in tokens if token.type == tokenize.COMMENT]
        blocks = (
            re.sub(r"^[ \t]*# ?", "", block[0], flags=re.MULTILINE)
            for block in re.finditer(r"(?:^[ \t]*#.*\n)+", text, re.MULTILINE)
        )
        yield str(path.relative_to(ROOT)), "\n\n".join([*docstrings, *comments, *blocks])


def found(text: str) -> list[str]:
    plain = re.sub(r"[ \t]*\n[ \t]*(?!\n)", " ", text)
    return [
        f"'{match[0]}' in '…{plain[max(0, match.start() - 40) : match.end() + 30]}…': write {instead}"
        for pattern, instead in BANNED.items()
        for match in re.finditer(pattern, plain)
    ]


def test_the_documentation_and_the_pages_of_the_studio() -> None:
    bad = [f"{name}: {words}" for name, text in pages() for words in found(text)]
    assert not bad, "\n".join(bad)


def test_messages_help_and_reports() -> None:
    bad = [f"{name}: {words}" for name, text in messages() for words in found(text)]
    assert not bad, "\n".join(bad)


def test_docstrings_and_comments_count_as_people_do() -> None:
    """One X per Y, there too. The other words are for users; what numbers a comment has is its own business."""
    bad = [f"{name}: {words}" for name, text in remarks() for words in found(text) if "per Y" in words]
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize(
    "text",
    [
        "1.2 seconds of processor", "0.7 variances an attribute", "one draw a group", "about 100 bytes a value",
        "it is held against the original", "no better than publishing means", "the attacker gains 98 %",
        "unless another hand came in", "001 §3.4 orders labels", "coterie reproduce 001-table1", "2·10⁷ records",
        "a mean of 1219.2955829801408", "(003 Theorem 1)", "a number, a range, or one a group", "one a value only where",
        "does so, once a description.", "One normalised id a row; ids", "one random access a record; short",
        "one table, a column a run.", "spares a logarithm a bin", "A line an example release", "two runs a day",
    ],
)  # fmt: skip
def test_what_is_banned_is_found(text: str) -> None:
    assert found(text)


@pytest.mark.parametrize(
    "text",
    [
        "no two rows share a value", "all but one attribute of a person", "one draw per group", "1,001 records",
        "0.001 or less", "at most 74 % sure after", "List at least one label a record may hold.", "3 · 10 runs",
        "a cell becomes a value", "a risk is a value", "no two spellings of a label", "-2 marks a label", "once a day",
        "an idea for a method", "a comma wins a draw", "a contribution or a study moved",
    ],
)  # fmt: skip
def test_plain_words_are_not(text: str) -> None:
    assert not found(text)
