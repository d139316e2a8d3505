"""A dossier as one HTML file that opens offline: two sheets of paper on a screen, one column on a phone, A4 in print."""

from __future__ import annotations

from functools import singledispatch

from coterie.report.charts.figure import STATIC
from coterie.report.dossier_blocks import (
    Belief,
    Block,
    Cell,
    Command,
    Dossier,
    GoodAndBad,
    Grid,
    Meter,
    Pairs,
    Section,
    Signatures,
    Words,
    markup_of,
)

_INSIDE = 0.75  # a longer bar has its label inside


def dossier_page(dossier: Dossier) -> str:
    """The whole page."""
    style = (STATIC / "dossier.css").read_text(encoding="utf-8")
    sheets = "\n".join(_sheet(dossier, number) for number in range(len(dossier.pages)))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>Dossier: {markup_of(dossier.title)}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>\n{style}</style>\n</head>\n<body>\n<main>\n{sheets}\n</main>\n</body>\n</html>\n"
    )


def version_words(dossier: Dossier) -> str:
    return "Public version" if dossier.public else "Internal copy: do not publish"


def footer_words(dossier: Dossier, number: int) -> tuple[str, str]:
    short = " ".join(dossier.fingerprint[place : place + 4] for place in range(0, 12, 4))
    return (
        f"Page {number + 1} of {len(dossier.pages)}, written {dossier.made[:10]}",
        f"Release fingerprint {short}",
    )


def _sheet(dossier: Dossier, number: int) -> str:
    version = f'<span class="{"" if dossier.public else "bad"}">{version_words(dossier)}</span>'
    title = ""
    if number == 0:
        title = f'<h1>{markup_of(dossier.title)}</h1><p class="by">{markup_of(dossier.subtitle)}</p>'
    sections = "\n".join(_section(section) for section in dossier.pages[number])
    left, right = footer_words(dossier, number)
    return (
        f'<article class="sheet" aria-label="Page {number + 1}">\n<header><b>Release dossier</b>{version}</header>\n'
        f"{title}\n{sections}\n<footer><span>{left}</span><span>{right}</span></footer>\n</article>"
    )


def _section(section: Section) -> str:
    chip = (
        f' <span class="chip {section.chip[0]}">{markup_of(section.chip[1])}</span>' if section.chip else ""
    )
    return f"<section><h2>{markup_of(section.heading)}{chip}</h2>{''.join(map(_block, section.blocks))}</section>"


@singledispatch
def _block(block: Block) -> str:
    raise TypeError(type(block).__name__)


@_block.register
def _(block: Pairs) -> str:
    return f"<dl>{''.join(f'<dt>{markup_of(name)}</dt><dd>{markup_of(text)}</dd>' for name, text in block.pairs)}</dl>"


@_block.register
def _(block: Belief) -> str:
    bars = "".join(
        f'<span>{markup_of(label)}</span><span class="t{" a" if place else ""}"><i style="width:{100 * share:.1f}%"></i>'
        + (
            f'<b class="in" style="right:{100 - 100 * share:.1f}%">{markup_of(words)}</b></span>'
            if share > _INSIDE
            else f'<b style="left:{100 * share:.1f}%">{markup_of(words)}</b></span>'
        )
        for place, (label, share, words) in enumerate(block.bars)
    )
    odds = f'<div class="odds">{bars}</div>' if bars else ""
    return f'<div class="promise"><p class="q">{markup_of(block.sentence)}</p>{odds}</div>'


@_block.register
def _(block: Words) -> str:
    style = ' class="small"' if block.small else ""
    return f"<p{style}>{markup_of(block.text)}</p>"


@_block.register
def _(block: GoodAndBad) -> str:
    def listed(tone: str, heading: str, lines: tuple[str, ...]) -> str:
        items = "".join(f"<li>{markup_of(line)}</li>" for line in lines)
        return f'<div><span class="chip {tone}">{heading}</span><ul>{items}</ul></div>'

    return f'<div class="two">{listed("ok", "Good for", block.good)}{listed("warn", "Not good for", block.bad)}</div>'


@_block.register
def _(block: Grid) -> str:
    head = "".join(
        f'<th scope="col" style="width:{100 * width:.0f}%">{markup_of(words)}</th>'
        for words, width in zip(block.headings, block.widths, strict=True)
    )
    rows = "".join(
        f'<tr><th scope="row">{_cell(row[0])}</th>'
        + "".join(
            f'<td data-label="{markup_of(heading)}">{_cell(cell)}</td>'
            for heading, cell in zip(block.headings[1:], row[1:], strict=True)
        )
        + "</tr>"
        for row in block.rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(cell: Cell) -> str:
    return (
        f'<span class="chip {cell.tone}">{markup_of(cell.text)}</span>' if cell.tone else markup_of(cell.text)
    )


@_block.register
def _(block: Meter) -> str:
    told = f"{markup_of(block.spent)}; {markup_of(block.left)}"
    bar = f'<i style="width:{100 * min(block.share, 1):.1f}%"></i>'
    legend = (
        f'<div class="legend"><span>{markup_of(block.spent)}</span><span>{markup_of(block.left)}</span></div>'
    )
    return f'<div class="meter" role="img" aria-label="{told}">{bar}</div>{legend}'


@_block.register
def _(block: Command) -> str:
    return f"<pre>{markup_of(block.text)}</pre>"


@_block.register
def _(block: Signatures) -> str:
    lines = "".join(f"<div><b>{markup_of(who)}</b><span>Name, date</span></div>" for who in block.who)
    return f'<div class="sign">{lines}</div>'
