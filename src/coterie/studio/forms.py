"""The fields that a form sent, as text, numbers and flags; with a limit on the size."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qs

from fastapi import Depends, Request

from coterie.errors import ParameterError

_LARGEST = 4_000_000  # a schema of thousands of attributes; files come another way


class Sent:
    def __init__(self, fields: dict[str, list[str]]) -> None:
        self._fields = fields

    def text(self, name: str, default: str = "") -> str:
        return self._fields.get(name, [default])[-1].strip()

    def several(self, name: str) -> list[str]:
        return [text.strip() for text in self._fields.get(name, []) if text.strip()]

    @property
    def names(self) -> list[str]:
        return list(self._fields)

    def flag(self, name: str) -> bool:
        return self.text(name) not in ("", "no")

    def whole(self, name: str, words: str) -> int | None:
        """A whole number, or None where the field was left empty."""
        text = self.text(name).replace(",", "").replace(" ", "")
        if not text:
            return None
        if not text.isascii() or not text.removeprefix("-").isdigit():
            raise ParameterError(f"{words} is not a whole number.", "Write digits only, such as 10.")
        return int(text)

    def number(self, name: str, words: str) -> float | None:
        """A number, or None where the field was left empty."""
        text = self.text(name).replace(",", ".")
        try:
            return float(text) if text else None
        except ValueError:
            raise ParameterError(f"{words} is not a number.", "Write digits only, such as 2.4.") from None

    @property
    def version(self) -> int:
        """Which state of the project the page showed."""
        text = self.text("version")
        return int(text) if text.isdigit() else -1


async def _read(request: Request) -> Sent:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST:
            raise ParameterError("The form is too large.", "Send less, or give a file's path.")
    return Sent(parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True))


Form = Annotated[Sent, Depends(_read)]
