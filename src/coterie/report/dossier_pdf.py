"""A dossier as PDF, by ReportLab: the same content as the page, on A4, with letters that are part of the file."""

from __future__ import annotations

from functools import singledispatch
from html import escape
from io import BytesIO
from typing import Any

from reportlab.graphics.shapes import Drawing, Rect, String
from reportlab.lib.colors import HexColor
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase.pdfmetrics import getFont, registerFont, registerFontFamily
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import KeepInFrame, PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table

from coterie.report.charts.figure import STATIC
from coterie.report.dossier_blocks import (
    Belief,
    Block,
    Command,
    Dossier,
    DossierCell,
    DossierSection,
    DossierTable,
    DossierText,
    GoodAndBad,
    Meter,
    Pairs,
    Signatures,
)
from coterie.report.dossier_page import unbroken

MM = 72 / 25.4
SIDE, TOP, BOTTOM = 17 * MM, 20 * MM, 15 * MM
WIDTH = 210 * MM - 2 * SIDE
_PADDING = 6  # that ReportLab puts around a frame
COLOURS = {
    "ink": "#14181d",
    "quiet": "#444d58",
    "line": "#d3d9e0",
    "soft": "#f4f5f7",
    "accent": "#0a58a8",
    "accent-soft": "#eef4fb",
    "ok": "#0b6a50",
    "warn": "#855000",
    "bad": "#a3260f",
    "plain": "#444d58",
}
REGULAR, BOLD = "CoterieSans", "CoterieSans-Bold"


def drawn(dossier: Dossier) -> bytes:
    """The bytes of the file. The same dossier gives the same bytes."""
    for name, file in ((REGULAR, "DejaVuSans-subset.ttf"), (BOLD, "DejaVuSans-Bold-subset.ttf")):
        registerFont(TTFont(name, str(STATIC / file)))
    registerFontFamily(REGULAR, normal=REGULAR, bold=BOLD, italic=REGULAR, boldItalic=BOLD)
    head = [_text(markup_of(dossier.title), 17, bold=True, after=1)]
    head.append(_text(markup_of(dossier.subtitle), 9, colour="quiet", after=2))
    pages = [[part for section in page for part in _section(section)] for page in dossier.pages]
    pages[0] = [*head, *pages[0]]
    # Whatever is long, each page stays one page: its letters become smaller.
    parts: list[Any] = []
    for page in pages:
        parts += [KeepInFrame(0, 0, page, mode="shrink"), PageBreak()]

    def frame(canvas: Any, document: Any) -> None:
        _frame(canvas, dossier, document.page)

    written = BytesIO()
    template = SimpleDocTemplate(
        written,
        pagesize=(210 * MM, 297 * MM),
        leftMargin=SIDE - _PADDING,
        rightMargin=SIDE - _PADDING,
        topMargin=TOP,
        bottomMargin=BOTTOM,
        title=f"Dossier: {dossier.title}",
        author="Coterie",
        lang="en",
        invariant=1,
    )
    template.build(parts, onFirstPage=frame, onLaterPages=frame)
    return written.getvalue()


def markup_of(words: str) -> str:
    """Safe to stand in a paragraph; a letter that the file does not have shows as a question mark."""
    known = {ord("\n"), *getFont(REGULAR).face.charToGlyph}
    words = "".join(letter if ord(letter) in known else "?" for letter in unbroken(words))
    return escape(words).replace("\n", "<br/>")


def _frame(canvas: Any, dossier: Dossier, page: int) -> None:
    canvas.saveState()
    edge, right = 297 * MM - 13 * MM, 210 * MM - SIDE
    canvas.setFont(BOLD, 8.5)
    canvas.setFillColor(COLOURS["ink"])
    canvas.drawString(SIDE, edge, "Release dossier")
    canvas.setFillColor(COLOURS["quiet" if dossier.public else "bad"])
    canvas.drawRightString(right, edge, dossier.version)
    canvas.setStrokeColor(COLOURS["ink"])
    canvas.line(SIDE, edge - 5, right, edge - 5)
    left_words, right_words = dossier.footer(page)
    canvas.setFont(REGULAR, 7.5)
    canvas.setFillColor(COLOURS["quiet"])
    canvas.drawString(SIDE, 9 * MM, left_words)
    canvas.drawRightString(right, 9 * MM, right_words)
    canvas.restoreState()


def _text(
    markup: str,
    size: float = 8.6,
    *,
    bold: bool = False,
    colour: str = "ink",
    after: float = 0.0,
    hang: float = 0.0,
) -> Any:
    """`markup` is escaped already."""
    style = ParagraphStyle(
        "dossier",
        fontName=BOLD if bold else REGULAR,
        fontSize=size,
        leading=size * 1.36,
        textColor=HexColor(COLOURS[colour]),
        spaceAfter=after * MM,
        splitLongWords=1,
        leftIndent=hang,
        firstLineIndent=-hang,
    )
    return Paragraph(markup, style)


def _boxed(rows: list[list[Any]], widths: list[float], *style: tuple[Any, ...]) -> Any:
    usual = [
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("LEFTPADDING", (0, 0), (-1, -1), 0),
        ("RIGHTPADDING", (0, 0), (-1, -1), 6),
        ("TOPPADDING", (0, 0), (-1, -1), 1.6),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 1.6),
    ]
    return Table(rows, colWidths=widths, style=[*usual, *style], hAlign="LEFT")


def _chip(tone: str, words: str) -> str:
    return f'<font color="{COLOURS[tone]}"><b>• {markup_of(words)}</b></font>'


def _section(section: DossierSection) -> list[Any]:
    chip = f" &nbsp; <font size='8.6'>{_chip(*section.chip)}</font>" if section.chip else ""
    parts = [Spacer(1, 3.2 * MM), _text(f"<b>{markup_of(section.heading)}</b>{chip}", 10.4, after=1)]
    for block in section.blocks:
        parts += _block(block)
    return parts


@singledispatch
def _block(block: Block) -> list[Any]:
    raise TypeError(type(block).__name__)


@_block.register
def _(block: Pairs) -> list[Any]:
    rows = [[_text(markup_of(name), colour="quiet"), _text(markup_of(text))] for name, text in block.pairs]
    return [_boxed(rows, [29 * MM, WIDTH - 29 * MM])]


@_block.register
def _(block: Belief) -> list[Any]:
    inner = WIDTH - 8 * MM
    rows: list[list[Any]] = [[_text(markup_of(block.sentence), 11, bold=True)]]
    if block.bars:
        bars = [
            [_text(markup_of(label)), _bar(share, words, place > 0)]
            for place, (label, share, words) in enumerate(block.bars)
        ]
        rows.append([_boxed(bars, [48 * MM, inner - 48 * MM])])
    soft = ("BACKGROUND", (0, 0), (-1, -1), COLOURS["accent-soft"])
    padding = [(side, (0, 0), (-1, -1), 4 * MM) for side in ("LEFTPADDING", "RIGHTPADDING")]
    space = [(side, (0, 0), (-1, -1), 2 * MM) for side in ("TOPPADDING", "BOTTOMPADDING")]
    return [_boxed(rows, [WIDTH], soft, *padding, *space)]


def _bar(share: float, words: str, after: bool) -> Any:
    length, height = WIDTH - 8 * MM - 48 * MM - 6, 11.0
    drawing = Drawing(length, height)
    drawing.add(Rect(0, 0, length, height, fillColor=HexColor("#d9e3ee"), strokeColor=None))
    fill = HexColor(COLOURS["accent"] if after else "#76818e")
    drawing.add(Rect(0, 0, length * share, height, fillColor=fill, strokeColor=None))
    inside = share > 0.65
    place = length * share + (-4 if inside else 4)
    label = String(place, 2.6, words, fontName=BOLD, fontSize=7.6, textAnchor="end" if inside else "start")
    label.fillColor = HexColor("#ffffff" if inside else COLOURS["ink"])
    drawing.add(label)
    return drawing


@_block.register
def _(block: DossierText) -> list[Any]:
    size, colour = (7.6, "quiet") if block.small else (8.6, "ink")
    return [Spacer(1, 1.2 * MM), _text(markup_of(block.text), size, colour=colour)]


@_block.register
def _(block: GoodAndBad) -> list[Any]:
    def column(tone: str, heading: str, lines: tuple[str, ...]) -> list[Any]:
        return [_text(_chip(tone, heading)), *(_text(f"•&nbsp;{markup_of(line)}", hang=7) for line in lines)]

    columns = [[column("ok", "Good for", block.good), column("warn", "Not good for", block.bad)]]
    return [_boxed(columns, [WIDTH / 2, WIDTH / 2])]


@_block.register
def _(block: DossierTable) -> list[Any]:
    rows = [[_text(markup_of(words), 7.6, colour="quiet") for words in block.headings]]
    rows += [[_text(_cell(cell), 8.2) for cell in row] for row in block.rows]
    line = ("LINEBELOW", (0, 0), (-1, -1), 0.5, COLOURS["line"])
    return [_boxed(rows, [width * WIDTH for width in block.widths], line)]


def _cell(cell: DossierCell) -> str:
    return _chip(cell.tone, cell.text) if cell.tone else markup_of(cell.text)


@_block.register
def _(block: Meter) -> list[Any]:
    drawing = Drawing(WIDTH, 12)
    drawing.add(Rect(0, 0, WIDTH, 12, fillColor=HexColor("#e3e8ee"), strokeColor=None))
    spent = Rect(
        0, 0, WIDTH * min(block.share, 1), 12, fillColor=HexColor(COLOURS["accent"]), strokeColor=None
    )
    drawing.add(spent)
    words = [[_text(markup_of(block.spent), 8, bold=True), _text(markup_of(block.left), 8, bold=True)]]
    return [drawing, _boxed(words, [WIDTH * 0.6, WIDTH * 0.4])]


@_block.register
def _(block: Command) -> list[Any]:
    soft = ("BACKGROUND", (0, 0), (-1, -1), COLOURS["soft"])
    padding = [(side, (0, 0), (-1, -1), 2.2 * MM) for side in ("LEFTPADDING", "TOPPADDING", "BOTTOMPADDING")]
    return [_boxed([[_text(markup_of(block.text), 8)]], [WIDTH], soft, *padding)]


@_block.register
def _(block: Signatures) -> list[Any]:
    gap = 7 * MM
    width = (WIDTH - gap * (len(block.who) - 1)) / len(block.who)
    cells: list[Any] = []
    widths: list[float] = []
    lines: list[tuple[Any, ...]] = []
    for place, who in enumerate(block.who):
        if place:
            cells.append("")
            widths.append(gap)
        lines.append(("LINEABOVE", (2 * place, 0), (2 * place, 0), 0.8, COLOURS["ink"]))
        cells.append([_text(markup_of(who), bold=True), _text("Name, date", 7.6, colour="quiet")])
        widths.append(width)
    return [Spacer(1, 13 * MM), _boxed([cells], widths, *lines)]
