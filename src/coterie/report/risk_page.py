"""The risk of an original table as one HTML page that opens offline, and its figures as lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from coterie.auditing.attacks.finding import percent
from coterie.auditing.disclosure_risk import LIMITS, WARNING, Risk, worst_subsets
from coterie.auditing.key_groups import KeyRisk
from coterie.report.charts import Figure, IntervalRow, intervals
from coterie.report.charts.figure import page, page_style
from coterie.schema.exact import number

SUBSET_HEADINGS = ("an attacker who knows only …", "unique records", "in groups below 3", "smallest group")
_NUMBER = ' class="n"'
KEY_HEADINGS = ("key", "unique records without it", "part in minimal sets (SUDA)")


def risk_page(found: Risk) -> str:
    """The whole page."""
    before = found.before is not None
    headings = ("", "before recoding", "after") if before else ("", "now")
    recoded = "".join(
        f"<li><strong>{escape(name)}</strong>: {escape(words)}</li>" for name, words in found.recoded.items()
    )
    subsets = subset_lines(found.now)
    parts = [
        "<section>",
        "<h1>How easily people in this table are re-identified</h1>",
        f'<p class="internal"><strong>{escape(WARNING)}</strong></p>',
        f'<p class="verdict"><strong>{escape(found.verdict)}.</strong></p>',
        f"<p>{escape(_who(found))}</p>",
        f"<h2>Recoding</h2><ul>{recoded}</ul>" if recoded else "",
        "<h2>The risk</h2>",
        _table(headings, figure_lines(found)),
        "<h2>How many people share a combination</h2>",
        sizes_figure(found).__html__(),
        "<h2>Which keys make people unique</h2>",
        keys_figure(found).__html__() if found.now.uniques else "<p>Nobody is unique by these keys.</p>",
        f"<p>{escape(singled_out(found.now))}</p>",
        _table(KEY_HEADINGS, key_lines(found.now)) if found.now.uniques and found.now.without else "",
        _table(SUBSET_HEADINGS, subsets) if subsets else "",
        *(f"<p><strong>Note.</strong> {escape(words)}</p>" for words in found.notes),
        "</section>",
    ]
    return page("Risk of the original table", "\n".join(part for part in parts if part), page_style())


def _who(found: Risk) -> str:
    return (
        f"An attacker knows {', '.join(found.keys)} of a person and looks for them among {found.records:,} records. "
        f"Population: {number(found.population)} people ({found.population_from})."
    )


def figure_lines(found: Risk) -> list[tuple[str, ...]]:
    """What each figure is called, and its value before and after recoding, or now."""
    columns = [one for one in (found.before, found.now) if one is not None]
    lines = [[what] for what, _ in _figures(found, found.now)]
    for column in columns:
        for line, (_, value) in zip(lines, _figures(found, column), strict=True):
            line.append(value)
    return [tuple(line) for line in lines]


def _figures(found: Risk, one: KeyRisk) -> list[tuple[str, str]]:
    shown = [
        ("combinations of the keys", f"{one.combinations:,}"),
        ("smallest group (k)", f"{one.smallest:,}"),
        *((_below(k), _share(one.below[k], one.records)) for k in LIMITS),
        ("highest risk, attacker knows the person is in the table", percent(one.highest)),
        ("mean risk, attacker knows the person is in the table", percent(one.mean)),
        ("highest risk in the population", percent(one.population_highest)),
        ("global risk: mean in the population", percent(one.population_mean)),
        ("expected re-identifications", number(one.expected)),
    ]
    if one.units is not None:
        each = found.unit or "unit"
        shown += [
            (f"{each}s with a re-identified member, expected", _share(one.units.expected, one.units.units)),
            (f"highest risk of a {each}", percent(one.units.highest)),
        ]
    if one.diversity is not None:
        column = one.diversity.column
        shown += [
            (f"fewest values of {column} in a group (l)", f"{one.diversity.smallest:,}"),
            (f"records in groups with one value of {column}", _share(one.diversity.alike, one.records)),
        ]
    return shown


def _below(k: int) -> str:
    return "unique records (violate k = 2)" if k == 2 else f"records in groups below {k} (violate k = {k})"


def _share(count: float, whole: int) -> str:
    shown = f"{count:,}" if isinstance(count, int) else number(count)
    return f"{shown} ({percent(count / whole)})"


def subset_lines(one: KeyRisk) -> list[tuple[str, ...]]:
    return [
        (
            ", ".join(subset.keys),
            _share(subset.uniques, one.records),
            _share(subset.below_3, one.records),
            f"{subset.smallest:,}",
        )
        for subset in worst_subsets(one)
    ]


def key_lines(one: KeyRisk) -> list[tuple[str, ...]]:
    """The part that each key plays, the most telling first."""
    return [
        (name, _share(left, one.records), percent(one.unique_by.contribution[name]))
        for name, left in sorted(one.without.items(), key=lambda entry: entry[1])
    ]


def singled_out(one: KeyRisk) -> str:
    """How many keys it takes, in one sentence."""
    deepest = one.unique_by.deepest
    told = [
        f"{count:,} by {f'more than {deepest} keys' if size > deepest else '1 key' if size == 1 else f'{size} keys'}"
        for size, count in one.unique_by.by_size.items()
        if count
    ]
    return f"Fewest keys that single out a unique record: {', '.join(told)}." if told else ""


def sizes_figure(found: Risk) -> Figure:
    """The share of records in groups of each size."""
    before = found.before
    rows = [
        IntervalRow(
            f"group of {words}" if words != "1" else "alone: unique",
            count / found.records,
            mark=None if before is None else before.sizes[words] / found.records,
            said=_share(count, found.records),
        )
        for words, count in found.now.sizes.items()
    ]
    return intervals(
        rows,
        axis="share of records",
        caption="Records by the number of records that share their keys. The smaller the group, the easier the person "
        "is found.",
        mark_words="" if before is None else "before recoding",
        looks=[("after recoding" if before is not None else "share of records", ("square", 1))],
        shares=True,
        first="shares its keys with",
        bars=True,
    )


def keys_figure(found: Risk) -> Figure:
    """How many unique records are left if the attacker does not know a key."""
    now = found.now
    rows = [
        IntervalRow(f"without {name}", float(left), said=_share(left, found.records))
        for name, left in sorted(now.without.items(), key=lambda entry: entry[1])
    ]
    everything = IntervalRow("with all keys", float(now.uniques), said=_share(now.uniques, found.records))
    return intervals(
        [*rows, everything],
        axis="unique records",
        caption="Unique records that are left if an attacker does not know one of the keys. The shorter the bar, the more "
        "that key tells.",
        looks=[("unique records", ("square", 1))],
        first="keys",
        bars=True,
    )


def _table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    head = "".join(
        f"<th{_NUMBER if place else ''}>{escape(words)}</th>" for place, words in enumerate(headings)
    )
    rows = "".join(
        f"<tr><td>{escape(line[0])}</td>"
        + "".join(
            f'<td class="number" data-label="{escape(name)} ">{escape(value)}</td>'
            for name, value in zip(headings[1:], line[1:], strict=True)
        )
        + "</tr>"
        for line in lines
    )
    return f'<table class="stack"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
