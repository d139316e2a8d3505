"""Draw the pictures of the documentation from real runs: `python tools/draw_pictures.py [NAME…]`, about a minute.

Everything shown was computed by Coterie on the invented population; seeds make the pictures the same every time. SVG is
written by hand here, with the reader's own fonts, so that a picture is small, sharp, and legible on a telephone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

from coterie import Schema, audit, demo_population, demo_schema, evaluate, protect
from coterie.methods import as_dict, get_method

TARGET = Path(__file__).resolve().parent.parent / "docs" / "pictures"
INK, SOFT, LINE, BEFORE, AFTER, BAD = "#1a1f25", "#4c5663", "#dce1e7", "#b3bcc6", "#0a58a8", "#bb4d00"
GROUPS = (("#0a58a8", "#fff"), ("#f2c14e", INK), ("#0b6a50", "#fff"), ("#d5dbe1", INK))  # background and text
FONT = 'font-family="system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif"'


class Drawing:
    """Shapes in the order in which they are drawn, and what the picture says to a screen reader."""

    def __init__(self, height: float, title: str, width: float = 560) -> None:
        self.width, self.height, self.title, self.parts = width, height, title, []

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: float = 17,
        fill: str = INK,
        bold: bool = False,
        at: str = "start",
    ) -> None:
        look = f'font-size="{size}" fill="{fill}" text-anchor="{at}"' + ' font-weight="650"' * bold
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" {look}>{escape(words)}</text>')

    def box(self, x: float, y: float, w: float, h: float, fill: str, *, radius: float = 0) -> None:
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.2f}" height="{h:.2f}" rx="{radius}" fill="{fill}"/>'
        )

    def line(self, points: Sequence[tuple[float, float]], stroke: str, width: float = 2) -> None:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(
            f'<polyline points="{path}" fill="none" stroke="{stroke}" stroke-width="{width}" stroke-linejoin="round"/>'
        )

    def dot(self, x: float, y: float, radius: float, fill: str, *, hollow: bool = False) -> None:
        style = f'fill="#fff" stroke="{fill}" stroke-width="2.5"' if hollow else f'fill="{fill}"'
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" {style}/>')

    def histogram(
        self,
        x: float,
        y: float,
        w: float,
        h: float,
        values: np.ndarray,
        edges: np.ndarray,
        fill: str,
        most: float,
    ) -> None:
        """Bars that stand on y; `most` is the count that reaches h."""
        counts, _ = np.histogram(values, edges)
        step = w / len(counts)
        for place, count in enumerate(counts):
            tall = h * min(1, count / most)
            self.box(x + place * step + 0.6, y - tall, step - 1.2, tall, fill)

    def write(self, name: str) -> None:
        TARGET.mkdir(parents=True, exist_ok=True)
        body = "\n".join(self.parts)
        (TARGET / f"{name}.svg").write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" role="img" {FONT}>\n'
            f'<title>{escape(self.title)}</title>\n<rect width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>\n',
            encoding="utf-8",
        )


def only(schema: Schema, names: Sequence[str]) -> Schema:
    return Schema(attributes=tuple(attribute for attribute in schema.attributes if attribute.name in names))


def chain() -> None:
    """The seven stages, with the ages of 200 people passing through them."""
    people, k = demo_population(200).select(["age"]), 20
    release = protect(people, only(demo_schema(), ["age"]), method="dp-sorted", epsilon=1, k=k, seed=5)
    ages, out = people["age"].to_numpy(), np.sort(release.data["age"].to_numpy()).astype(float)
    ranked = np.sort(ages)
    means, released = (values.reshape(-1, k).mean(axis=1) for values in (ranked.astype(float), out))
    stage, left, right = 118.0, 342.0, 552.0
    picture = Drawing(
        7 * stage + 6,
        "A release is a chain: table and schema, groups, means, sensitivity, noise, rows, certificate",
    )
    words = (
        ("Table and schema", "200 ages. The schema says", "what is public: 16 to 100."),
        ("Groups", "Sort the people and cut them", "into 10 groups of k = 20."),
        ("Means", "Each group is summed up by", "one number."),
        ("Sensitivity", "How far can one person move", "the whole list of means?"),
        ("Noise", "Laplace noise for that", "sensitivity and ε = 1."),
        ("Rows", "Rows are written from the", "noisy numbers alone."),
        ("Certificate", "What is promised, how firmly,", "and over which bytes."),
    )

    def place(number: float, age: float, top: float) -> tuple[float, float]:
        return left + (right - left) * number / len(ages), top + 92 - 84 * (age - 16) / 84

    def steps(values: np.ndarray, top: float, stroke: str, width: float) -> None:
        for group, value in enumerate(values):
            picture.line(
                [place(group * k + 1, value, top), place(group * k + k - 1, value, top)], stroke, width
            )

    for number, (name, first, second) in enumerate(words):
        top = number * stage
        picture.dot(26, top + 34, 18, AFTER)
        picture.text(26, top + 40, str(number + 1), fill="#fff", bold=True, at="middle")
        picture.text(58, top + 32, name, size=21, bold=True)
        picture.text(58, top + 59, first, size=18, fill=SOFT)
        picture.text(58, top + 83, second, size=18, fill=SOFT)
        if number < len(words) - 1:
            picture.line([(26, top + 58), (26, top + stage + 10)], LINE, 3)
        if number in (0, 1, 2, 4):
            picture.line([(left, top + 100), (right, top + 100)], LINE, 1.5)
    for number, age in enumerate(ages):
        picture.dot(*place(number + 0.5, age, 0), 2.4, SOFT)
    for number, age in enumerate(ranked):
        picture.dot(*place(number + 0.5, age, stage), 2.6, AFTER if number // k % 2 else "#e69f00")
    steps(means, 2 * stage, INK, 4)
    picture.text(left, 3 * stage + 46, f"{84 / k:.1f} years at most", size=20, bold=True)
    picture.text(left, 3 * stage + 76, f"Δ / k = 84 / {k}", size=18, fill=SOFT)
    steps(means, 4 * stage, BEFORE, 7)
    steps(released, 4 * stage, AFTER, 3)
    for group, value in enumerate(released):
        x, y = left + group % 5 * 43, 5 * stage + 20 + group // 5 * 44
        picture.box(x, y, 38, 36, "#eaf2fb", radius=5)
        picture.text(x + 19, y + 25, f"{value:.0f}", size=18, fill=AFTER, bold=True, at="middle")
    picture.text(left, 6 * stage + 34, "Proved: ε = 1", size=20, bold=True, fill="#0b6a50")
    picture.text(left, 6 * stage + 60, "50 % sure before,", size=18)
    picture.text(left, 6 * stage + 84, "74 % after, at most", size=18)
    picture.write("chain")


def ties() -> None:
    """Twelve people, three attributes: noise changes every number and leaves who shares one as it was."""
    names, k = ("age", "income", "rent"), 3
    table = demo_population(60).select(list(names))
    rent = table["rent"].to_numpy()
    table = table.take(np.flatnonzero(rent > 0)[:12])
    release = protect(table, only(demo_schema(), names), method="dp-ir", epsilon=60, k=k, seed=4)
    owner = np.random.default_rng(3).permutation(12)  # the released rows are shuffled
    known = {name: np.argsort(np.argsort(table[name].to_numpy(), kind="stable")) // k for name in names}
    shown = {name: release.data[name].to_numpy() for name in names}
    patterns = [tuple(int(known[name][person]) for name in names) for person in range(12)]
    found = sum(patterns.count(pattern) == 1 for pattern in patterns)
    top, tall, cell = 128.0, 42.0, 72.0
    picture = Drawing(
        top + 12 * tall + 88,
        "Tie linkage: the colours, who shares a value with whom, are the same before and after",
    )
    left, right = 34.0, 560 - 3 * cell - 3
    picture.text(left, 34, "The attacker knows", size=19, bold=True)
    picture.text(left, 60, "the true values", size=17, fill=SOFT)
    picture.text(right, 34, "What is released", size=19, bold=True)
    picture.text(right, 60, "noisy, and shuffled", size=17, fill=SOFT)
    for place, name in enumerate(names):
        for side in (left, right):
            picture.text(side + place * cell + cell / 2, top - 14, name, size=16, fill=SOFT, at="middle")
    for row in range(12):
        person = int(owner[row])
        for place, name in enumerate(names):
            for side, whose, value in (
                (left, row, table[name][row].as_py()),
                (right, person, shown[name][person]),
            ):
                x, y = side + place * cell, top + row * tall
                back, ink = GROUPS[known[name][whose]]
                picture.box(x, y, cell - 3, tall - 4, back, radius=4)
                picture.text(x + cell / 2 - 2, y + 25, f"{value:,.0f}", size=17, fill=ink, at="middle")
        picture.text(left - 10, top + row * tall + 25, str(row + 1), size=16, fill=SOFT, at="end")
        if patterns.count(patterns[person]) == 1:
            picture.line(
                [(left + 3 * cell + 2, top + person * tall + 19), (right - 8, top + row * tall + 19)],
                SOFT,
                1.6,
            )
    base = top + 12 * tall + 30
    picture.text(left, base, f"Same colour: same group. Colours link {found} of 12 rows.", size=18)
    picture.text(left, base + 27, "No number was compared: no amount of noise helps.", size=18, fill=SOFT)
    picture.write("ties")


def before_after() -> None:
    """Six rows of each table, and the distributions behind them."""
    names = ("age", "hours", "income")
    people = demo_population().select(list(names))
    release = protect(people, only(demo_schema(), names), method="dp-synthetic", epsilon=1, seed=1)
    picture = Drawing(570, "Six original rows and six released rows; the distributions stay alike")
    half, cell = 286.0, 86.0
    for side, (title, note, table, fill) in enumerate(
        (
            ("Before", "5,000 people (invented)", people, BEFORE),
            ("After: dp-synthetic", "5,000 synthetic rows, ε = 1", release.data, AFTER),
        )
    ):
        left = 8 + side * half
        picture.text(left, 30, title, size=20, bold=True)
        picture.text(left, 54, note, size=16, fill=SOFT)
        for place, name in enumerate(names):
            picture.text(left + place * cell + 76, 88, name, size=16, fill=SOFT, at="end")
            for row in range(6):
                y = 116 + row * 27
                if not place:
                    picture.line([(left, y - 19), (left + 3 * cell - 4, y - 19)], LINE, 1)
                picture.text(
                    left + place * cell + 76, y, f"{table[name][row].as_py():,.0f}", size=17, at="end"
                )
        for number, (name, upper, label) in enumerate(
            (("age", 100, "age, years"), ("income", 80_000, "income, EUR"))
        ):
            base = 368 + number * 130
            edges = np.linspace(16 if name == "age" else 0, upper, 15)
            most = float(np.histogram(people[name].to_numpy(), edges)[0].max()) * 1.15
            picture.histogram(left, base, 3 * cell - 4, 78, table[name].to_numpy(), edges, fill, most)
            picture.line([(left, base), (left + 3 * cell - 4, base)], SOFT, 1)
            picture.text(left, base + 20, f"{edges[0]:,.0f}", size=14, fill=SOFT)
            picture.text(left + 3 * cell - 4, base + 20, f"{upper:,}", size=14, fill=SOFT, at="end")
            picture.text(left + 1.5 * cell, base + 20, label, size=15, at="middle")
    picture.text(8, 556, "No released row stands for a person: there is nothing to link.", size=17)
    picture.write("before-after")


SETTINGS = (
    ("dp-synthetic", None), ("dp-sorted", None), ("laplace", None),
    ("mdav", 10), ("dp-ir", 50), ("idp-ls", 50), ("idp-cbls", 10), ("ir", 10),
)  # fmt: skip


def risk_utility() -> None:
    """Each method at ε = 1 on the invented population: what linkage finds, and how far distributions move."""
    people, schema = demo_population(), demo_schema()
    found: dict[str, list[tuple[str, float, float]]] = {}
    for name, k in SETTINGS:
        method = get_method(name)
        release = protect(people, schema, method=name, k=k, seed=1, epsilon=1 if method.adds_noise else None)
        attacked = audit(
            people,
            release.data,
            schema,
            certificate=release.certificate,
            attacks=["tie-linkage", "nearest-linkage"],
        )
        linked = max(finding.estimate.value for finding in attacked.findings)
        worth = evaluate(people, release.table, schema, measures=["jensen-shannon"], shuffled=True)
        moved = worth.measures["jensen-shannon"].value
        promise = as_dict(method)
        heading = f"Proved: {promise['model']}"
        if promise["status"] != "proved":
            heading = "Not private: rows show their groups"
        found.setdefault(heading, []).append(
            (name if k is None else f"{name}, k = {k}", linked, float(moved))
        )
        print(f"{name:12} k {k}: linked {linked:.1%}, Jensen-Shannon {moved:.3f}")
    first, second, wide = 158.0, 372.0, 112.0
    picture = Drawing(
        86 + 46 * len(found) + 34 * len(SETTINGS),
        "Risk and utility of each method: proved methods are not linked",
    )
    picture.text(first, 28, "Risk", size=19, bold=True)
    picture.text(first, 52, "rows re-identified", size=16, fill=SOFT)
    picture.text(second, 28, "Loss of utility", size=19, bold=True)
    picture.text(second, 52, "change of distributions", size=15, fill=SOFT)
    y = 62.0
    for heading, rows in found.items():
        y += 46
        good = heading.startswith("Proved")
        picture.text(12, y - 8, heading, size=17, bold=True, fill="#0b6a50" if good else BAD)
        picture.line([(12, y), (552, y)], LINE, 1.5)
        for name, linked, moved in rows:
            y += 34
            picture.text(12, y - 8, name, size=17)
            for x, share, words, fill in (
                (first, linked, f"{linked:.0%}" if linked >= 0.005 else "0 %", BAD),
                (second, moved / 0.65, f"{moved:.2f}", AFTER),
            ):
                picture.box(x, y - 23, max(2.0, wide * min(1, share)), 19, fill, radius=2)
                shown = words.replace("%", " %").replace("  ", " ")
                picture.text(x + max(2.0, wide * min(1, share)) + 8, y - 8, shown, size=16, fill=SOFT)
    picture.write("risk-utility")


def synthetic_rows() -> None:
    """Income and tax of the invented people, and of synthetic rows at three ε: what noise leaves of a dependence."""
    names, shown = ("income", "tax"), 300
    people = demo_population().select([*names, "hours", "age"])
    schema = only(demo_schema(), people.column_names)
    tables = {"The data": people}
    for epsilon in ("0.1", "1", "10"):
        release = protect(people, schema, method="dp-synthetic", epsilon=epsilon, seed=4)
        tables[f"Synthetic rows, ε = {epsilon}"] = release.table
    most = (120_000, 50_000)  # of income and tax; few people have more
    wide, tall = 250.0, 150.0
    picture = Drawing(
        2 * (tall + 62) + 12, "Income and tax: the data, and synthetic rows at ε = 0.1, 1 and 10"
    )
    for place, (words, table) in enumerate(tables.items()):
        left, top = 24 + place % 2 * (wide + 26), 34 + place // 2 * (tall + 62)
        picture.text(left, top - 10, words, size=17, bold=True)
        picture.line(
            [(left, top), (left + wide, top), (left + wide, top + tall), (left, top + tall), (left, top)],
            LINE,
        )
        columns = [table[name].to_numpy().astype(float) for name in names]
        spread = np.corrcoef(*columns)[0, 1]
        for row in range(0, table.num_rows, table.num_rows // shown):
            x, y = (min(1.0, column[row] / end) ** 0.5 for column, end in zip(columns, most, strict=True))
            fill = BEFORE if place == 0 else AFTER
            picture.dot(left + 4 + x * (wide - 8), top + tall - 4 - y * (tall - 8), 1.8, fill)
        picture.text(
            left,
            top + tall + 19,
            f"income →, tax ↑; correlation {spread:.2f}",
            size=15,
            fill=SOFT,
        )
    picture.write("synthetic-rows")


PICTURES = {"chain": chain, "ties": ties, "before-after": before_after, "risk-utility": risk_utility}
PICTURES["synthetic-rows"] = synthetic_rows

if __name__ == "__main__":
    for wanted in sys.argv[1:] or PICTURES:
        PICTURES[wanted]()
