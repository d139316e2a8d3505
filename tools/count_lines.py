"""How large the house is: files and lines per room, and what the lines are. `python tools/count_lines.py [FOLDER]`.

No document has these figures typed in; docs/adr/0011-how-large-the-house-is.md says what they mean.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "coterie"
KINDS = ("code", "docstrings", "comments", "blank")
_NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def lines_of(text: str) -> Counter[str]:
    """Each line of a module is one thing: code, if there is any on it."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if ast.get_docstring(node, clean=False) is not None:
                docstrings |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    code: set[int] = set()
    comments: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments.add(token.start[0])
        elif token.type not in _NOT_CODE:
            code |= set(range(token.start[0], token.end[0] + 1))
    code -= docstrings
    comments -= code | docstrings
    whole = text.count("\n")
    found = {"code": len(code), "docstrings": len(docstrings), "comments": len(comments)}
    return Counter({**found, "blank": whole - sum(found.values())})


def measured(folder: Path = SOURCE) -> dict[str, Counter[str]]:
    """By room: files, and lines of each kind. What stands beside the rooms is one entry."""
    rooms: dict[str, Counter[str]] = {}
    for path in sorted([*folder.rglob("*.py"), *folder.rglob("*.pyi")]):
        inside = path.relative_to(folder).parts
        room = f"{inside[0]}/" if len(inside) > 1 else "beside the rooms"
        found = rooms.setdefault(room, Counter())
        found += lines_of(path.read_text(encoding="utf-8"))
        found["files"] += 1
    return rooms


if __name__ == "__main__":
    counted = measured(Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE)
    counted["together"] = sum(counted.values(), Counter())
    print(f"{'':18}{'files':>7}{'lines':>8}" + "".join(f"{kind:>12}" for kind in KINDS))
    for name, found in counted.items():
        lines = sum(found[kind] for kind in KINDS)
        print(f"{name:18}{found['files']:>7}{lines:>8,}" + "".join(f"{found[kind]:>12,}" for kind in KINDS))
