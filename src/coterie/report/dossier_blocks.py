"""The parts that a dossier is made of: what they say, not how they look."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

# Tone of a chip: how something is coloured. The words always say it too.
OK, WARN, BAD, PLAIN = "ok", "warn", "bad", "plain"


@dataclass(frozen=True, slots=True)
class Pairs:
    """Short headings, each with its text."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Belief:
    """The promise as one sentence, and how sure somebody can be before and after."""

    sentence: str
    bars: tuple[tuple[str, float, str], ...]


@dataclass(frozen=True, slots=True)
class Words:
    text: str
    small: bool = False


@dataclass(frozen=True, slots=True)
class GoodAndBad:
    good: tuple[str, ...]
    bad: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    widths: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Meter:
    """How much of a budget is spent."""

    share: float
    spent: str
    left: str


@dataclass(frozen=True, slots=True)
class Command:
    text: str


@dataclass(frozen=True, slots=True)
class Signatures:
    who: tuple[str, ...]


Block = Pairs | Belief | Words | GoodAndBad | Grid | Meter | Command | Signatures


@dataclass(frozen=True, slots=True)
class Section:
    heading: str
    blocks: tuple[Block, ...]
    chip: tuple[str, str] | None = None  # tone and words


@dataclass(frozen=True, slots=True)
class Dossier:
    """A dossier, ready to be written. Two pages: what is promised, and what was checked."""

    title: str
    subtitle: str
    fingerprint: str
    made: str
    public: bool
    pages: tuple[tuple[Section, ...], ...]


def markup_of(words: str) -> str:
    """Safe to stand in a page or a paragraph; no line begins with a percent sign."""
    return escape(words.replace(" %", "\u00a0%"))
