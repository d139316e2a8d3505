"""Signed documents in canonical form: one text for one meaning (JSON as in RFC 8785), so signatures fit in every language.

Documents of the federation hold no floats (ε and bounds are decimal text), so the one hard part of RFC 8785, the shortest
form of a double, never arises: a float is refused instead of being written differently elsewhere.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any, ClassVar, TypeVar

from pydantic import ValidationError

from coterie.federation.errors import FederationError
from coterie.federation.secrets.keys import Keys, verify
from coterie.promise.certificate import named_once
from coterie.schema.domain import Frozen

_LARGEST = 2**53 - 1  # beyond it, other languages would read another number
_DEEPEST = 32


def canonical(content: Any) -> bytes:
    return _text(content, 0).encode("utf-8")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def parsed(data: bytes) -> Any:
    """JSON that has one reading only: no name twice in an object, no NaN, no float."""
    try:
        return json.loads(data, object_pairs_hook=named_once, parse_constant=_no_float, parse_float=_no_float)
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


def _no_float(text: str) -> Any:
    raise ValueError("a float")


def _fault(reason: str) -> FederationError:
    return FederationError(
        f"The document cannot be put in canonical form. {reason}.",
        "Write numbers that are not whole as text, and every name once.",
    )


# A signed document: content, key and signature travel together, and the reader says which kind it expects.


class Document(Frozen):
    """`kind` names it in messages, and is part of what a signature covers."""

    kind: ClassVar[str] = "document"

    def content(self) -> dict[str, Any]:
        return self.model_dump(mode="json")

    def canonical(self) -> bytes:
        return canonical(self.content())


D = TypeVar("D", bound=Document)


class Signed(Document):
    kind = "signed document"
    document: dict[str, Any]
    key: str
    signature: str

    @classmethod
    def of(cls, document: Document, keys: Keys) -> Signed:
        content = document.content()
        return cls(document=content, key=keys.public, signature=keys.sign(document.kind, canonical(content)))

    def text(self) -> str:
        return self.canonical().decode()

    def opened(self, model: type[D], *, key: str) -> D:
        """The document, if `key` signed it as one of this kind and every field is known."""
        same = hmac.compare_digest(self.key.encode("utf-8", "surrogatepass"), key.encode())
        if not same or not verify(key, model.kind, canonical(self.document), self.signature):
            raise FederationError(
                f"The signature on this {model.kind} does not fit its content.",
                "It was changed on the way, or somebody else signed it: do not rely on it.",
            )
        return validated(model, self.document)


def signed_from(data: bytes | str) -> Signed:
    return validated(Signed, parsed(data.encode() if isinstance(data, str) else data))


def validated(model: type[D], content: Any) -> D:
    """The document, or a refusal that names the field at fault and never its content."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, fault["loc"])) or "the document"
        reason = fault["msg"].removeprefix("Value error, ").rstrip(".")
        raise FederationError(
            f"This {model.kind} cannot be accepted ({place}: {reason[:1].lower()}{reason[1:]}).",
            "Ask its sender for a correct one.",
        ) from None
