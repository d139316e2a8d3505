"""Spreadsheets for tests, written by hand as the standards say: nothing that reads them had a part in it."""

from __future__ import annotations

import datetime as dt
import struct
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

Sheets = Mapping[str, Sequence[Sequence[Any]]]
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_TIES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
_STYLES = {dt.date: 1, dt.datetime: 2, dt.time: 3}


def write_xlsx(path: Path, sheets: Sheets, *, hidden: Sequence[str] = (), merged: str | None = None) -> Path:
    """None is an empty cell, '#N/A' an error. ECMA-376, part 1, §18.3 and §18.8."""
    entries = list(enumerate(sheets.items(), start=1))
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{n}"{" state=" + chr(34) + "hidden" + chr(34) if name in hidden else ""}'
        f' r:id="r{n}"/>'
        for n, (name, _) in entries
    )
    ties = "".join(
        f'<Relationship Id="r{n}" Type="{_TIES}/worksheet" Target="worksheets/s{n}.xml"/>' for n, _ in entries
    )
    formats = "".join(f'<xf numFmtId="{number}"/>' for number in (0, 14, 22, 21))
    parts = "".join(
        f'<Override PartName="/xl/worksheets/s{n}.xml" '
        'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>'
        for n, _ in entries
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "[Content_Types].xml",
            f'{_XML}<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" '
            'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
            f"{parts}</Types>",
        )
        archive.writestr(
            "_rels/.rels",
            f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
            f'Type="{_TIES}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/workbook.xml",
            f'{_XML}<workbook xmlns="{_MAIN}" xmlns:r="{_TIES}"><sheets>{listed}</sheets></workbook>',
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">{ties}'
            f'<Relationship Id="styles" Type="{_TIES}/styles" Target="styles.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/styles.xml", f'{_XML}<styleSheet xmlns="{_MAIN}"><cellXfs>{formats}</cellXfs></styleSheet>'
        )
        for n, (_, rows) in entries:
            joined = f'<mergeCells count="1"><mergeCell ref="{merged}"/></mergeCells>' if merged else ""
            with archive.open(f"xl/worksheets/s{n}.xml", "w") as sink:
                sink.write(f'{_XML}<worksheet xmlns="{_MAIN}"><sheetData>'.encode())
                for place, row in enumerate(rows, start=1):
                    cells = "".join(_cell(column, place, value) for column, value in enumerate(row))
                    sink.write(f'<row r="{place}">{cells}</row>'.encode())
                sink.write(f"</sheetData>{joined}</worksheet>".encode())
    return path


def _cell(column: int, row: int, value: Any) -> str:
    if value is None:
        return ""
    where = f'r="{_letters(column)}{row}"'
    if isinstance(value, bool):
        return f'<c {where} t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f"<c {where}><v>{value!r}</v></c>"
    if type(value) in _STYLES:
        return f'<c {where} s="{_STYLES[type(value)]}"><v>{_serial(value)!r}</v></c>'
    if value.startswith("#"):
        return f'<c {where} t="e"><v>{value}</v></c>'
    return f'<c {where} t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'


def _letters(column: int) -> str:
    before, last = divmod(column, 26)
    return (_letters(before - 1) if before else "") + chr(ord("A") + last)


def _serial(value: dt.date | dt.time) -> float:
    """Days since 1899-12-30."""
    if isinstance(value, dt.time):
        return (value.hour * 3600 + value.minute * 60 + value.second) / 86400
    moment = value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())
    return (moment - dt.datetime(1899, 12, 30)) / dt.timedelta(days=1)


def write_ods(path: Path, sheets: Sheets) -> Path:
    """OpenDocument 1.2, part 1, §9: text, numbers, truth values and dates."""
    name = "urn:oasis:names:tc:opendocument:xmlns"

    def cell(value: Any) -> str:
        if value is None:
            return "<table:table-cell/>"
        if isinstance(value, bool):
            held = f'office:value-type="boolean" office:boolean-value="{str(value).lower()}"'
        elif isinstance(value, int | float):
            held = f'office:value-type="float" office:value="{value!r}"'
        elif isinstance(value, dt.date):
            held = f'office:value-type="date" office:date-value="{value.isoformat()}"'
        else:
            held = 'office:value-type="string"'
        return f"<table:table-cell {held}><text:p>{escape(str(value))}</text:p></table:table-cell>"

    tables = "".join(
        f'<table:table table:name="{escape(title)}">'
        + "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
        + "</table:table>"
        for title, rows in sheets.items()
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr(
            "META-INF/manifest.xml",
            f'{_XML}<manifest:manifest xmlns:manifest="{name}:manifest:1.0"><manifest:file-entry '
            'manifest:full-path="/" manifest:media-type="application/vnd.oasis.opendocument.spreadsheet"/>'
            "</manifest:manifest>",
        )
        archive.writestr(
            "content.xml",
            f'{_XML}<office:document-content xmlns:office="{name}:office:1.0" xmlns:table="{name}:table:1.0" '
            f'xmlns:text="{name}:text:1.0"><office:body><office:spreadsheet>{tables}</office:spreadsheet>'
            "</office:body></office:document-content>",
        )
    return path


def write_xls(path: Path, sheets: Sheets) -> Path:
    """Excel 97: numbers, text and truth values as BIFF8 records ([MS-XLS] §2.4) in a compound file ([MS-CFB] §2)."""

    def record(kind: int, body: bytes) -> bytes:
        return struct.pack("<HH", kind, len(body)) + body

    def begin(kind: int) -> bytes:
        return record(0x0809, struct.pack("<HHHHII", 0x0600, kind, 0x0DBB, 0x07CC, 0, 0x06))

    def cell(row: int, column: int, value: Any) -> bytes:
        place = struct.pack("<HHH", row, column, 0)
        if isinstance(value, bool):
            return record(0x0205, place + struct.pack("<BB", value, 0))
        if isinstance(value, int | float):
            return record(0x0203, place + struct.pack("<d", value))
        return record(0x0204, place + struct.pack("<HB", len(value), 1) + value.encode("utf-16-le"))

    bodies = [
        begin(0x10)
        + b"".join(
            cell(r, c, value)
            for r, row in enumerate(rows)
            for c, value in enumerate(row)
            if value is not None
        )
        + record(0x0A, b"")
        for rows in sheets.values()
    ]
    start = begin(0x05)
    after = len(start) + sum(12 + 2 * len(name) for name in sheets) + 4
    places = [after + sum(map(len, bodies[:n])) for n in range(len(bodies))]
    for name, place in zip(sheets, places, strict=True):
        title = struct.pack("<IBBBB", place, 0, 0, len(name), 1) + name.encode("utf-16-le")
        start += record(0x85, title)
    stream = start + record(0x0A, b"") + b"".join(bodies)
    size = max(len(stream), 4096)  # a shorter one would need the small sectors of the format
    stream = stream.ljust(-(-size // 512) * 512, b"\0")
    count = len(stream) // 512
    header = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16)
    header += struct.pack("<HHHHH6xIIIIIIIIII", 0x3E, 3, 0xFFFE, 9, 6, 0, 1, 1, 0, 4096, _END, 0, _END, 0, 0)
    header += b"\xff\xff\xff\xff" * 108

    def entry(name: str, kind: int, child: int, first: int, length: int) -> bytes:
        title = (name + "\0").encode("utf-16-le")
        links = struct.pack("<BBIII", kind, 1, 0xFFFFFFFF, 0xFFFFFFFF, child)
        return (
            title.ljust(64, b"\0")
            + struct.pack("<H", len(title))
            + links
            + bytes(36)
            + struct.pack("<IQ", first, length)
        )

    folder = entry("Root Entry", 5, 1, _END, 0) + entry("Workbook", 2, 0xFFFFFFFF, 2, size) + bytes(256)
    chain = [0xFFFFFFFD, _END, *range(3, count + 2), _END]  # the table itself, the folder, the stream
    assert len(chain) <= 128, "one sector of the table is enough for a test"
    table = struct.pack(f"<{len(chain)}I", *chain).ljust(512, b"\xff")
    path.write_bytes(header + table + folder + stream)
    return path


_END = 0xFFFFFFFE
