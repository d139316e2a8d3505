"""The page of a comparison: verdict first, offline, escaped, and every claim in it true of the grid."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from coterie import compare, demo_population, demo_schema, protect
from coterie.comparison.comparison import Comparison, run_grid
from coterie.comparison.grid import make_grid
from coterie.errors import ParameterError
from coterie.evaluation.evaluation import evaluate
from coterie.methods.guarantee import Status
from coterie.report.charts.svg import text_width
from coterie.report.comparison_report import write_comparison
from coterie.report.examples import example_releases, risk_points
from coterie.report.figures import correlation_matrices, distributions, error_by_k, error_heatmaps
from coterie.report.ranking import WORDS, best_cells, errors_by, in_words, verdict
from coterie.schema.attributes import Attribute, AttributeType, Categories, Domain, Role, Schema, Source
from coterie.schema.exact import number
from coterie.table.checked import check

NAME = "pay <b>&"


def table(records: int = 90) -> pa.Table:
    draw = np.random.default_rng(2)
    pay = draw.lognormal(3, 1, records).clip(0, 500)
    return pa.table({NAME: pay, "tax": pay * 0.3, "colour": draw.choice(["red", "blue"], records)})


def schema() -> Schema:
    numbers = tuple(
        Attribute(name=name, role=Role.PROTECT, domain=Domain(lower=0, upper=upper), unit="EUR")
        for name, upper in ((NAME, 500), ("tax", 150))
    )
    colour = Attribute(
        name="colour",
        type=AttributeType.CATEGORICAL,
        role=Role.PROTECT,
        categories=Categories(labels=("red", "blue", "green")),
    )
    return Schema(attributes=(*numbers, colour))


METHODS = ["laplace", "ir", "dp-ir", "idp-ls", "idp-cbls", "mdav"]


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return run_grid(table(), schema(), make_grid(METHODS, ["0.5", "5"], [3, 9, 30, 100], runs=3))


@pytest.fixture(scope="module")
def page(comparison: Comparison, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    write_comparison(replace(comparison, name="people.csv"), table(), folder)
    return (folder / "report.html").read_text(encoding="utf-8")


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.tags: list[str] = []
        self.alternatives: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "action")]
        self.alternatives += [value or "" for name, value in attrs if name == "aria-label" and tag == "svg"]


def test_the_page_is_one_file_that_opens_offline(page: str) -> None:
    found = _Links()
    found.feed(page)
    assert not found.addresses
    assert not {"link", "iframe", "img"} & set(found.tags)
    assert found.tags.count("script") == 1, "our own, for tooltips"
    assert not re.search(r"https?://|@import|url\(", page)
    assert all(found.alternatives)
    assert found.tags.count("figure") == page.count('<details class="numbers">') == 4
    assert len(found.alternatives) == page.count('role="img"')


def test_the_verdict_comes_first_then_promises_figures_tables_certificate(page: str) -> None:
    places = [
        page.index(f'id="{part}"') for part in ("verdict", "promises", "figures", "tables", "certificate")
    ]
    assert places == sorted(places)
    assert page.index("do not publish") < places[0]


def test_worst_pairs_are_those_of_two_way_tables(page: str) -> None:
    listed = re.search(r"pairs, worst first</th>.*?</tbody>", page, re.DOTALL)
    assert listed is not None
    entries = [entry for line in re.findall(r"<td>(.*?)</td>", listed.group()) for entry in line.split("), ")]
    assert len(entries) == 3 * len(METHODS)
    assert all(" × " in entry for entry in entries)


def test_choosing_by_the_data_is_called_a_disclosure_and_a_way_out_is_offered(page: str) -> None:
    words = " ".join(page.split())
    assert "is itself a disclosure" in words
    assert "--tune-on" in words


def test_names_are_escaped(page: str) -> None:
    assert "pay <b>&" not in page
    assert "pay &lt;b&gt;&amp;" in page


def test_every_method_has_its_label(page: str, comparison: Comparison) -> None:
    for method in METHODS:
        assert f"<strong>{method}</strong>" in page
    for entry in best_cells(comparison):
        if entry.cell.epsilon == 5:
            assert entry.guarantee.label.replace("'", "&#39;") in page


def test_skipped_cells_are_listed_with_the_reason(page: str) -> None:
    assert "k = 100 is larger than the number of records." in page


def test_the_headline_names_the_least_error_among_methods_with_noise(comparison: Comparison) -> None:
    best = best_cells(comparison)
    said = verdict(comparison, best)
    rivals = [e for e in best if e.cell.epsilon == 5 and e.cell.method not in ("ir", "mdav")]
    closest = min(rivals, key=lambda entry: entry.error)
    assert closest.guarantee.status is Status.REFUTED
    assert said.top.cell.method == "laplace"  # the only one whose promise holds for rows
    assert (
        "laplace at ε = 5 changes the data least of those with a proved differential-privacy" in said.headline
    )
    assert said.top.guarantee.label in said.headline
    assert any(
        point.startswith(f"{closest.choice} changes the data less") and "the rows show" in point
        for point in said.points
    )
    assert any("Not a guarantee: idp-cbls, idp-ls, dp-ir" in point for point in said.points)


def test_best_cells_are_the_least_of_their_method_and_epsilon(comparison: Comparison) -> None:
    errors = {cell: float(runs.mean()) for cell, runs in errors_by(comparison, "sse").items()}
    for entry in best_cells(comparison):
        own = [
            e
            for cell, e in errors.items()
            if (cell.method, cell.epsilon) == (entry.cell.method, entry.cell.epsilon)
        ]
        assert entry.error == min(own)
        assert entry.cell.k in entry.near


def test_the_headline_gives_the_error_that_the_table_and_evaluate_give(comparison: Comparison) -> None:
    best = best_cells(comparison)
    top = verdict(comparison, best).top
    rows = comparison.results.by_run().to_pylist()
    own = [row["sse"] for row in rows if (row["method"], row["k"], row["epsilon"]) == (top.cell.key)]
    assert len(own) == 3
    assert top.error == pytest.approx(np.mean(own))
    headline = verdict(comparison, best).headline
    assert f"{top.words} (a mean squared error of {number(top.error)} variances per attribute)" in headline
    assert "Eq." not in headline
    assert "results.csv" not in headline


def test_the_number_of_a_release_is_the_one_that_evaluate_gives(comparison: Comparison) -> None:
    top = verdict(comparison, best_cells(comparison)).top
    values = []
    for seed in range(3):
        release = protect(
            table(), schema(), method=top.cell.method, epsilon=top.cell.epsilon, k=top.cell.k, seed=seed
        )
        values.append(evaluate(table(), release.table, schema(), measures=["sse"]).measures["sse"].value)
    assert np.mean(values) == pytest.approx(top.error, rel=1e-6)


def test_publishing_the_means_is_an_error_of_one_variance() -> None:
    means = table()
    for place, name in enumerate((NAME, "tax")):
        means = means.set_column(place, name, pa.array(np.full(90, np.mean(table()[name].to_numpy()))))
    found = evaluate(table(), means, schema(), measures=["sse"]).measures["sse"]
    assert found.attributes[NAME] == pytest.approx(89 / 90)  # Eq. (4) has the variance of n − 1
    assert found.value == pytest.approx(89 / 90)


def test_releases_that_are_not_drawn_are_named(tmp_path: Path) -> None:
    methods = ["laplace", "ir", "dp-ir", "idp-cbls", "dp-um", "idp-ls"]
    found = run_grid(table(), schema(), make_grid(methods, ["1"], [5], runs=1))
    last = best_cells(found)[-1].cell.method  # nothing is promised
    assert last == "ir"
    write_comparison(found, table(), tmp_path)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    top = verdict(found, best_cells(found)).top
    assert top.cell.method == "laplace"
    assert "Not drawn, for want of room: ir, k = 5." in text


def test_the_choice_of_the_verdict_is_always_drawn(tmp_path: Path) -> None:
    methods = ["ir", "dp-ir", "dp-um", "idp-ls", "idp-cbls", "laplace"]
    found = run_grid(table(), schema(), make_grid(methods, ["1"], [5], runs=1))
    assert verdict(found, best_cells(found)).top.cell.method == methods[-1]
    write_comparison(found, table(), tmp_path)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Not drawn, for want of room: ir, k = 5." in text


def test_less_error_without_noise_is_not_denied() -> None:
    """Ranking alone is nearer to the data than noise is: the headline must not say the contrary."""
    found = run_grid(table(), schema(), make_grid(["laplace", "ir", "mdav"], ["1"], [5], runs=1))
    said = verdict(found, best_cells(found))
    assert said.top.cell.method == "laplace"
    assert "changes the data least of those with a proved" in said.headline
    closer = [point for point in said.points if "changes the data less" in point]
    assert [point.split()[0] for point in closer] == ["mdav", "ir"]  # a group each
    alone = run_grid(table(), schema(), make_grid(["laplace"], ["1"], []))
    assert not any("changes the data less" in point for point in verdict(alone, best_cells(alone)).points)


def test_a_promise_that_fails_is_named_only_if_it_was_accepted_by_name() -> None:
    found = run_grid(table(), schema(), make_grid(["idp-cbls", "ir"], ["0.1", "1"], [5], runs=1))
    best = best_cells(found)
    said = verdict(found, best)
    assert "publish nothing by idp-cbls, ir: no promise holds" in said.headline
    assert "changes the data least" not in said.headline
    assert said.points[0] == "No compared method has a proved differential-privacy promise."
    accepted = verdict(found, best, accept=["refuted"])
    assert (
        "idp-cbls with k = 5 at ε = 1 changes the data least of those that you accepted" in accepted.headline
    )
    assert "Its promise is refuted" in accepted.headline


def test_choices_are_grouped_by_promise_and_ranked_by_one_measure_within() -> None:
    methods = ["ir", "idp-cbls", "mdav", "dp-sorted", "laplace", "dp-synthetic", "dp-ir"]
    best = best_cells(run_grid(table(), schema(), make_grid(methods, ["1"], [5], runs=2)))
    groups = [entry.group for entry in best]
    assert groups == sorted(groups)
    assert [entry.cell.method for entry in best][:4] == ["dp-synthetic", "laplace", "dp-sorted", "mdav"]
    assert {entry.measure for entry in best} == {"jensen-shannon"}
    for one, other in pairwise(best):
        assert one.group < other.group or one.error <= other.error


def test_lists_of_single_columns_do_not_lead_where_there_are_rows() -> None:
    """They keep every distribution and no relation."""
    found = run_grid(table(400), schema(), make_grid(["dp-sorted", "laplace"], ["1"], [], runs=2))
    best = {entry.cell.method: entry for entry in best_cells(found)}
    assert best["dp-sorted"].error < best["laplace"].error
    assert verdict(found, list(best.values())).top.cell.method == "laplace"


def test_a_public_rule_chooses_k_where_nobody_does() -> None:
    """k = 5 was tried on lists whose rule says hundreds: their error looked fifteen times as large as it is."""
    free = run_grid(table(400), schema(), make_grid(["dp-sorted", "dp-ir"], ["1"], [], runs=2))
    ks = {cell.method: cell.k for cell in free.results.cells}
    alone = protect(table(400), schema(), method="dp-sorted", epsilon=1, seed=0)
    assert ks == {"dp-sorted": alone.certificate.k, "dp-ir": 20}
    forced = run_grid(table(400), schema(), make_grid(["dp-sorted"], ["1"], [5], runs=2))
    (best,) = best_cells(forced)
    assert best.cell.k == ks["dp-sorted"]  # the rule is tried beside what was asked for


def test_the_map_has_one_measure_for_all(tmp_path: Path) -> None:
    """Synthetic rows are measured by distributions; the others on the same axis must be, too."""
    data = table(120)
    found = run_grid(data, schema(), make_grid(["laplace", "dp-sorted"], ["1"], [5], runs=2))
    best = best_cells(found)
    points = risk_points(found, best, example_releases(found, best, data), data, seconds=10)
    matched = errors_by(found, "jensen-shannon")
    assert [point.loss for point in points] == [float(matched[entry.cell].mean()) for entry in best]


def test_a_method_that_nothing_can_be_said_of_is_not_on_the_map() -> None:
    """Too few people for a control group: synthetic rows would stand at 0 % without having been tried."""
    data = table(90)
    found = run_grid(data, schema(), make_grid(["laplace", "dp-sorted"], ["1"], [5], runs=2))
    best = best_cells(found)
    points = risk_points(found, best, example_releases(found, best, data), data, seconds=10)
    assert [point.name for point in points] == ["laplace"]


def test_only_k_that_were_run_are_labelled(comparison: Comparison) -> None:
    figure = error_by_k(comparison, "sse", METHODS, title="", caption="")
    svg = figure.panels[0].usual.parts
    below = re.findall(r'y="269" text-anchor="middle" class="tick">([^<]*)<', svg)
    assert below == ["3", "9", "30"]  # 100 was skipped
    assert "as inaccurate as" in figure.keys[-1].words  # in the legend, where no curve runs


@pytest.mark.parametrize(("most", "numbers"), [(8, True), (80, False)])
def test_a_heatmap_of_many_k_stays_as_wide_as_a_phone(most: int, numbers: bool) -> None:
    found = run_grid(table(), schema(), make_grid(["dp-ir"], ["1"], list(range(2, most)), runs=1))
    figure = error_heatmaps(found, "sse", ["dp-ir"], title="", caption="")
    assert figure is not None
    drawing = figure.panels[0].usual
    assert drawing.width <= 350
    assert ("on-q" in drawing.parts) == numbers
    labels = [
        (float(x), words)
        for x, words in re.findall(r'<text x="([\d.]+)"[^>]*class="tick">(\d+)<', drawing.parts)
    ]
    assert all(text_width(one[1] + other[1]) / 2 < other[0] - one[0] for one, other in pairwise(labels))


def test_labels_speak_of_a_real_release_not_of_the_seeded_experiment(comparison: Comparison) -> None:
    statuses = {entry.cell.method: entry.guarantee.status for entry in best_cells(comparison)}
    assert statuses["laplace"] is Status.PROVED
    assert statuses["dp-ir"] is Status.REFUTED
    assert statuses["idp-cbls"] is Status.REFUTED


def test_a_table_of_categories_only_has_a_verdict_too(tmp_path: Path) -> None:
    only = Schema(attributes=schema().attributes[2:])
    data = table().select(["colour"])
    found = run_grid(data, only, make_grid(["laplace", "dp-ir"], ["1"], [5], runs=2))
    said = write_comparison(found, data, tmp_path)
    assert "semantic distance" in said.headline
    assert not (tmp_path / "figures" / "correlations.png").exists()


def test_one_method_without_k_has_a_page_too(tmp_path: Path) -> None:
    found = run_grid(table(), schema(), make_grid(["laplace"], ["1"], [], runs=1))
    said = write_comparison(found, table(), tmp_path)
    assert said.headline.startswith("For ε = 1")
    assert not (tmp_path / "figures" / "error-heatmap.png").exists()


def test_figures_of_an_earlier_grid_do_not_stay(tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "mine.png").write_bytes(b"kept")
    for methods in (["laplace", "dp-ir"], ["laplace"]):
        found = run_grid(table(), schema(), make_grid(methods, ["1", "2"], [5, 9], runs=1))
        write_comparison(found, table(), tmp_path)
        there = (tmp_path / "figures" / "error-heatmap.png").exists()
        assert there == (len(methods) == 2)
    assert (tmp_path / "figures" / "mine.png").exists()


def test_there_is_a_sentence_for_every_error() -> None:
    for sentences in WORDS.values():
        limits = [least for least, _ in sentences]
        assert limits == sorted(limits, reverse=True)
        assert limits[-1] == 0


def test_synthetic_rows_are_ranked_by_what_they_share_with_others(tmp_path: Path) -> None:
    found = run_grid(table(), schema(), make_grid(["idp-ls", "dp-sorted"], ["2"], [9, 30], runs=2))
    best = {entry.cell.method: entry for entry in best_cells(found)}
    assert {entry.measure for entry in best.values()} == {"jensen-shannon"}
    said = write_comparison(found, table(), tmp_path)
    assert "dp-sorted" in said.headline
    assert "lists of single columns and no rows" in said.headline
    assert set(said.relations) == {
        "idp-ls, k = 9",
        next(name for name in said.relations if "dp-sorted" in name),
    }


def test_synthetic_methods_alone_have_a_page(tmp_path: Path) -> None:
    found = run_grid(table(), schema(), make_grid(["dp-sorted"], ["2"], [9, 30], runs=2))
    said = write_comparison(found, table(), tmp_path)
    assert said.top.cell.method == "dp-sorted"
    assert "proved" in said.headline


def test_categories_are_told_apart_from_numbers(comparison: Comparison) -> None:
    said = verdict(comparison, best_cells(comparison))
    (point,) = [point for point in said.points if point.startswith("That figure is of numbers")]
    distance = comparison.results.mean("semantic-distance")[said.top.cell]
    assert f"In colour a released category lies {number(distance)} from the original" in point
    assert any(point.endswith(f"{words}.") for _, words in WORDS["semantic-distance"])


def test_no_word_of_formulas_or_missing_numbers_is_left_where_people_read(tmp_path: Path) -> None:
    """Synthetic rows have no squared error by row, methods without groups no k: a dash, never 'nan' or k = 1."""
    found = run_grid(table(), schema(), make_grid(["laplace", "idp-ls", "dp-sorted"], ["2"], [9, 30], runs=2))
    said = write_comparison(found, table(), tmp_path, audit_seconds=2)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert ">nan<" not in page
    assert '<td class="name">laplace</td><td class="n">–</td>' in page
    assert "Eq." not in " ".join([said.headline, *said.points, *said.gains])


def test_what_attackers_gained_stands_beside_what_is_lost(tmp_path: Path) -> None:
    found = run_grid(table(), schema(), make_grid(["laplace", "ir"], ["1"], [5], runs=1))
    said = write_comparison(found, table(), tmp_path, audit_seconds=2)
    assert {point.name for point in said.attacked} == {"laplace", "ir, k = 5"}
    relations, gains = said.gains
    assert "laplace: destroyed" in relations
    assert "ir, k = 5: kept" in relations
    for point in said.attacked:
        assert f"{point.name}: {100 * point.risk:.0f} %" in gains
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.index(gains) < page.index('id="promises"')


def test_one_histogram_shows_the_verdict_and_the_best_with_a_proof(comparison: Comparison, page: str) -> None:
    top = verdict(comparison, best_cells(comparison)).top
    assert top.cell.method == "laplace"
    assert "an example release at the largest ε of laplace and of " in page


def test_an_epsilon_that_could_not_be_run_is_told_and_not_drawn(tmp_path: Path) -> None:
    paid = Domain(lower=0, upper=500, source=Source.DP)
    pay = schema().attributes[0].model_copy(update={"domain": paid, "weight": 50})
    data, dear = table(400), Schema(attributes=(pay, *schema().attributes[1:]))
    found = run_grid(data, dear, make_grid(["laplace", "dp-ir"], ["0.01", "20", "40"], [5], runs=1))
    said = write_comparison(found, data, tmp_path)
    assert said.headline.startswith("For ε ≤ 40")
    assert any(point.startswith("At the smallest ε, 20,") for point in said.points)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<li>laplace, dp-ir, ε = 0.01: ε is too small to find bounds for" in page
    figure = error_by_k(found, "sse", ["laplace", "dp-ir"], title="", caption="")
    assert [panel.label[:6] for panel in figure.panels] == ["ε = 20", "ε = 40"]


def test_dates_are_shown_as_dates_and_ordinal_labels_by_name() -> None:
    attributes = (
        Attribute(
            name="since",
            type=AttributeType.DATE,
            role=Role.PROTECT,
            domain=Domain(lower="2000-01-01", upper="2026-12-31"),
        ),
        Attribute(
            name="grade",
            type=AttributeType.ORDINAL,
            role=Role.PROTECT,
            categories=Categories(labels=("low", "middle", "high")),
        ),
    )
    days = pa.array(np.arange(11_000, 11_060, dtype=np.int32), pa.int32()).cast(pa.date32())
    people = pa.table({"since": days, "grade": ["low", "high", "middle"] * 20})
    columns = check(people, Schema(attributes=attributes)).columns
    figure = distributions(columns, {"as it is": columns}, title="", caption="")
    since, grade = (panel.usual.parts for panel in figure.panels)
    shown = re.findall(r'class="tick">(\d{4}-\d\d[-\d]*)<', since)
    assert shown
    assert {day[:7] for day in shown} <= {"2000-02", "2000-03", "2000-04"}
    assert re.findall(r">(low|middle|high)<", grade) == ["low", "middle", "high"]
    assert {row[0] for row in figure.rows} == {"since", "grade"}


def test_few_whole_numbers_have_a_bar_each() -> None:
    one = Schema.load("attributes:\n  x: {type: integer, role: protect, domain: {lower: 0, upper: 100}}")
    columns = check(pa.table({"x": np.arange(50) % 4}), one).columns
    figure = distributions(columns, {}, title="", caption="")
    assert [row[2] for row in figure.rows] == ["13", "13", "12", "12"]


def test_names_are_drawn_as_they_are() -> None:
    """Markup, line breaks, dollar signs and scripts that the font lacks: drawn, escaped, never an error."""
    name = "price $ low\nor $ ^^ <b>high"
    entry = {"role": "protect", "domain": {"lower": 0, "upper": 100}, "unit": "$^"}
    labels = {"type": "categorical", "role": "protect", "categories": {"labels": ["$^$", "日本"]}}
    wanted = Schema.load({"attributes": {name: entry, "other": entry, "label": labels}})
    values = np.linspace(0, 100, 60)
    people = pa.table({name: values, "other": values, "label": ["$^$", "日本"] * 30})
    columns = check(people, wanted).columns
    for figure in (
        distributions(columns, {"release": columns}, title="", caption=""),
        correlation_matrices(columns, {}, title="", caption=""),
    ):
        assert figure is not None
        assert figure.png().startswith(b"\x89PNG")
        assert "<b>" not in figure.__html__()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (0.001, "close to the original values"),
        (1.1, "as inaccurate as replacing every value by the mean"),
        (465.3, "465 times the error of replacing every value by the mean"),
    ],
)
def test_an_error_is_told_at_its_size(error: float, words: str) -> None:
    assert in_words("sse", error) == words


@pytest.mark.parametrize(("measures", "ranked"), [("jensen-shannon", True), ("relative-error", False)])
def test_choices_are_ranked_by_what_was_measured(measures: str, ranked: bool) -> None:
    found = compare(
        demo_population(60), demo_schema(), methods="laplace", epsilon=1, runs=2, measures=measures
    )
    if ranked:
        assert best_cells(found)[0].measure == "jensen-shannon"
        return
    with pytest.raises(ParameterError, match="ranked by"):
        best_cells(found)
