"""The parts that a dossier is made of: what they say, not how they look."""

from __future__ import annotations

from dataclasses import dataclass

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
class DossierText:
    text: str
    small: bool = False


@dataclass(frozen=True, slots=True)
class GoodAndBad:
    good: tuple[str, ...]
    bad: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DossierCell:
    text: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class DossierTable:
    headings: tuple[str, ...]
    rows: tuple[tuple[DossierCell, ...], ...]
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


Block = Pairs | Belief | DossierText | GoodAndBad | DossierTable | Meter | Command | Signatures


@dataclass(frozen=True, slots=True)
class DossierSection:
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
    pages: tuple[tuple[DossierSection, ...], ...]

    @property
    def version(self) -> str:
        return "Public version" if self.public else "Internal copy: do not publish"

    def footer(self, page: int) -> tuple[str, str]:
        short = " ".join(self.fingerprint[place : place + 4] for place in range(0, 12, 4))
        return f"Page {page} of {len(self.pages)}, written {day(self.made)}", f"Release fingerprint {short}"


def day(at: str) -> str:
    """2026-11-18T12:00:21+00:00 → 18 Nov 2026."""
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    try:
        year, month, date = (int(part) for part in at[:10].split("-"))
        return f"{date} {months[month - 1]} {year}"
    except (ValueError, IndexError):
        return at or "date not recorded"
