"""A signed document: content, key and signature travel together, and the reader names the kind that it expects."""

from __future__ import annotations

import hmac
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from coterie.federation.canonical import canonical, parsed
from coterie.federation.errors import FederationError
from coterie.federation.keys import Keys, verify


class Document(BaseModel):
    """Frozen, and strict about unknown fields: what is not understood is not agreed to."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def content(self) -> dict[str, Any]:
        return self.model_dump(mode="json")

    def canonical(self) -> bytes:
        return canonical(self.content())


D = TypeVar("D", bound=Document)


class Signed(Document):
    document: dict[str, Any]
    key: str
    signature: str

    @classmethod
    def of(cls, document: Document, kind: str, keys: Keys) -> Signed:
        content = document.content()
        return cls(document=content, key=keys.public, signature=keys.sign(kind, canonical(content)))

    def text(self) -> str:
        return self.canonical().decode()

    def opened(self, kind: str, model: type[D], *, key: str) -> D:
        """The document, if `key` signed it as this kind and every field is known."""
        same = hmac.compare_digest(self.key.encode(), key.encode())
        if not same or not verify(key, kind, canonical(self.document), self.signature):
            raise FederationError(
                f"The signature on this {kind} does not fit its content.",
                "It was changed on the way, or somebody else signed it: do not rely on it.",
            )
        return validated(model, self.document, kind)


def signed_from(data: bytes | str) -> Signed:
    return validated(Signed, parsed(data.encode() if isinstance(data, str) else data), "signed document")


def validated(model: type[D], content: Any, kind: str) -> D:
    """Names the field at fault, never its content."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, fault["loc"])) or "the document"
        reason = fault["msg"].removeprefix("Value error, ").rstrip(".")
        raise FederationError(
            f"This {kind} cannot be accepted ({place}: {reason[:1].lower()}{reason[1:]}).",
            "Ask its sender for a correct one.",
        ) from None
