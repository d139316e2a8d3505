"""Where what should be public comes from: declared, or taken from the data; and why it is public all the same."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer

_LONGEST_REASON = 500


class Source(StrEnum):
    DECLARED = "declared"  # public knowledge, written by the user
    DATA = "data"  # all of it is a function of the data: leaks, and the certificate says so
    DP = "dp"  # found inside a wide public range by a differentially private quantile, paid from ε


def _reasons(value: object) -> object:
    """One sentence for everything, or one for each part (a bound, a label)."""
    if isinstance(value, Mapping):
        value = tuple(value.items())
    if isinstance(value, tuple) and value:
        return tuple((part, _reason(text)) for part, text in value)
    return None if value is None else _reason(value)


def _reason(text: object) -> str:
    if not isinstance(text, str) or not any(
        map(str.isalpha, text)
    ):  # a dash or an invisible sign is no reason
        raise ValueError("say where anybody can read it, such as 'the form allows 0 to 120'")
    if len(text) > _LONGEST_REASON:
        raise ValueError(f"a reason has at most {_LONGEST_REASON} characters")
    return " ".join(text.split())


Reasons = Annotated[
    str | tuple[tuple[str, str], ...] | None,
    BeforeValidator(_reasons),
    PlainSerializer(lambda value: dict(value) if isinstance(value, tuple) else value),
]


class Public(BaseModel):
    """What should be public knowledge. Where a value came from the data, it stays so through every edit.

    Only a stated reason (`public_because`) makes it public; take the reason away, and it is from the data again. A reason
    for labels also covers the order in which they are listed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    public_because: Reasons = None

    def unexplained(self, taken: tuple[str, ...]) -> tuple[str, ...]:
        """Those parts for which nobody said why they are public."""
        because = self.public_because
        if isinstance(because, tuple):
            known = {part for part, text in because if any(map(str.isalpha, text))}
            return tuple(part for part in taken if part not in known)
        return () if because and any(map(str.isalpha, because)) else taken

    @property
    def reasons(self) -> str | dict[str, str] | None:
        """Why it is public, as the certificate repeats it."""
        because = self.public_because
        return dict(because) if isinstance(because, tuple) else because

    def notes(self, name: str) -> list[str]:
        """The same as sentences about the attribute of this name."""
        because = self.public_because
        each = because if isinstance(because, tuple) else (("", because),) if because else ()
        return [f"{name}{part and f' ({part})'}: public because {text}" for part, text in each]


class Parameters(Public):
    """Where method, ε and k come from, if somebody chose them by comparing results on these very data."""

    source: Literal[Source.DECLARED, Source.DATA] = Source.DECLARED

    @property
    def leaks(self) -> bool:
        return self.source == Source.DATA and bool(self.unexplained(("parameters",)))
