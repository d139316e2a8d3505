"""One text for one meaning: JSON in the form of RFC 8785, so that a signature fits in every language.

Documents of the federation hold no floats (ε and bounds are decimal text), so the one hard part of RFC 8785,
the shortest form of a double, never arises: a float is refused instead of being written differently elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from coterie.federation.errors import FederationError

_LARGEST = 2**53 - 1  # beyond it, other languages would read another number
_DEEPEST = 32


def canonical(content: Any) -> bytes:
    return _text(content, 0).encode("utf-8")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def parsed(data: bytes) -> Any:
    """JSON that has one reading only: no name twice in an object, no NaN, no float."""
    try:
        return json.loads(data, object_pairs_hook=_once, parse_constant=_no_float, parse_float=_no_float)
    except (ValueError, RecursionError) as error:
        raise _fault("It is not JSON with one reading") from error


def _text(content: Any, depth: int) -> str:
    if depth > _DEEPEST:
        raise _fault("It is nested too deeply")
    if content is None or isinstance(content, bool):
        return {None: "null", True: "true", False: "false"}[content]
    if isinstance(content, int):
        if abs(content) > _LARGEST:
            raise _fault("It holds a whole number beyond 2^53")
        return str(content)
    if isinstance(content, str):
        return _string(content)
    if isinstance(content, list | tuple):
        return "[" + ",".join(_text(item, depth + 1) for item in content) + "]"
    if isinstance(content, dict):
        # RFC 8785 §3.2.3: names are sorted by their UTF-16 code units, not by code points.
        try:
            names = sorted(content, key=lambda name: name.encode("utf-16-be"))
        except (AttributeError, UnicodeEncodeError):
            raise _fault("It has a name that is not text") from None
        pairs = (f"{_string(name)}:{_text(content[name], depth + 1)}" for name in names)
        return "{" + ",".join(pairs) + "}"
    raise _fault(f"It holds a {type(content).__name__}, which has no canonical form")


def _string(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise _fault("It holds text that is not Unicode") from None
    return json.dumps(text, ensure_ascii=False)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a name appears twice")
    return content


def _no_float(text: str) -> Any:
    raise ValueError("a float")


def _fault(reason: str) -> FederationError:
    return FederationError(
        f"The document cannot be put in canonical form. {reason}.",
        "Write numbers that are not whole as text, and every name once.",
    )
