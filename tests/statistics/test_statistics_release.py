"""Releases: right numbers, honest intervals, consistent tables, one charge, the same answer when asked twice."""

from __future__ import annotations

import json
import multiprocessing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from scipy.stats import trim_mean
from statistics_people import EVERY_KIND, RECORDS, SCHEMA, document, population

from coterie.errors import LedgerError, OutputError, ParameterError
from coterie.promise.certificate import Digest
from coterie.promise.loss import epsilon_at
from coterie.promise.signing import check_signature, make_key
from coterie.publication.ledger import Ledger
from coterie.statistics import Plan, plan, read_specification, release, solve_budget
from coterie.statistics.planning.as_in_paper import leave_one_out, plan_as_in_paper
from coterie.statistics.prediction.joint import JointMeasurement
from coterie.statistics.prediction.measurement import Kind
from coterie.statistics.releasing import releasing
from coterie.statistics.releasing.certificate import StatisticsCertificate
from coterie.statistics.releasing.consistency import Replay
from coterie.statistics.releasing.measuring import Noise, compute
from coterie.statistics.releasing.records import open_records
from coterie.statistics.releasing.releasing import evaluate, make_release, plan_with_pilot
from coterie.statistics.specification.specification import StatisticKind


def truth() -> dict[str, float]:
    frame = population().to_pandas()
    yes, old = frame.smoker == "yes", frame.age
    result = {
        "n": yes.sum(),
        "s": frame.cost[frame.region.isin(["north", "west"])].sum(),
        "xy": (frame.age * frame.cost).sum(),
        "m": frame.cost[(old >= 30) & (old < 60)].mean(),
        "t": trim_mean(frame.cost[yes], 0.2),
        "u": frame.age[frame.region == "west"].nunique(),
        "w": frame.region.nunique(),
        "v": frame.cost.var(),
        "d": frame.age[~yes].std(),
        "p": yes[frame.region == "south"].mean(),
        "q": frame.cost.median(),
        "q9": frame.age[yes].quantile(0.9),
        "h[18..40]": ((old >= 18) & (old < 40)).sum(),
        "h[40..65]": ((old >= 40) & (old < 65)).sum(),
        "h[65..90]": ((old >= 65) & (old <= 90)).sum(),
        "by[north, yes]": frame.age[yes & (frame.region == "north")].mean(),
        "by[south, yes]": frame.age[yes & (frame.region == "south")].mean(),
    }
    result["r"] = result["s"] / result["n"]
    return {name: float(value) for name, value in result.items()}


def files(folder: Path) -> dict[str, Any]:
    table = population()
    pyarrow.csv.write_csv(table, folder / "data.csv")
    pyarrow.parquet.write_table(table, folder / "data.parquet")
    with pa.OSFile(str(folder / "data.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return {
        "csv": folder / "data.csv",
        "parquet": str(folder / "data.parquet"),
        "arrow": folder / "data.arrow",
        "pandas": table.to_pandas(),
        "pyarrow": table,
    }


@pytest.fixture(scope="module")
def everything() -> Plan:
    return plan(read_specification(EVERY_KIND), report_losses=False)


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow", "pandas", "pyarrow"])
def test_with_a_huge_budget_the_release_is_the_truth(form: str, everything: Plan, tmp_path: Path) -> None:
    made = make_release(everything, open_records(files(tmp_path)[form]), Noise.seeded(1))
    for name, expected in truth().items():
        # Quantiles lie on their public grid: 0.01 of cost; ages are whole, so a year is a step.
        slack = {"q": 0.02, "q9": 1.2, "t": 0.02}.get(name, 1e-2 * max(1.0, abs(expected) * 1e-3))
        assert made[name].value == pytest.approx(expected, abs=slack), name


def test_figures_that_may_be_anything_are_named(tmp_path: Path) -> None:
    """Their interval is the whole domain: it covers always, and tells nothing."""
    asked = {"kind": "mean", "of": "cost", "by": {"smoker": ["yes", "no"]}, "expected": 15}
    content = document(budget={"epsilon": "0.002"}, statistics={"avg": asked}, equations={})
    done = release(read_specification(content), population(), tmp_path / "out.csv", seed=1)
    (said,) = (note for note in done.certificate.notes if "says nothing of" in note)
    widths = {row["name"]: row["upper_95"] - row["lower_95"] for row in done.values}
    assert all((name in said) == (width == 100) for name, width in widths.items()), (said, widths)


@pytest.mark.parametrize("names", [["share", "double", "odds"], ["odds", "double", "share"]])
def test_an_equation_of_equations_is_computed_from_what_is_published(
    names: list[str], tmp_path: Path
) -> None:
    """Also where the guard of the inner one acts: it is the published figure that goes in."""
    formulas: dict[str, Any] = {
        "share": {
            "formula": "n[yes] / avg[yes]",
            "guard": 60.0,
        },  # no mean cost is that large: always at the guard
        "double": "2 * share",
        "odds": "double / (1 + share)",
    }
    content = document(equations={name: formulas[name] for name in names})
    release(read_specification(content), population(), tmp_path / "out.json", seed=1)
    found = {row["name"]: row["value"] for row in json.loads((tmp_path / "out.json").read_text())["values"]}
    assert [name for name in found if name in names] == names
    assert found["share"] == pytest.approx(found["n[yes]"] / 60.0)
    assert found["double"] == pytest.approx(2 * found["share"])
    assert found["odds"] == pytest.approx(found["double"] / (1 + found["share"]))


def test_the_two_routes_measure_the_same_thing() -> None:
    values = {}
    for route in ("direct", "sums"):
        statistics = {
            kind: {
                "kind": kind,
                "of": "cost",
                "where": {"smoker": "yes"},
                "route": route,
                "at_least": 100,
                "expected": 15,
            }
            for kind in ("mean", "variance", "std", "sum")
        }
        chosen = plan(read_specification(document(statistics=statistics, equations={})), report_losses=False)
        source = open_records(population())
        exact = compute(chosen.design, source)
        clean = np.array([[m.value(exact[m.name]) for m in chosen.design.measurements]])
        values[route] = {name: float(value[0]) for name, value in evaluate(chosen.design, clean)[0].items()}
    assert values["direct"] == pytest.approx(values["sums"], rel=1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize("budget", [{"epsilon": "1"}, {"rho": "0.02"}])
def test_intervals_cover_the_truth_nineteen_times_in_twenty(budget: dict[str, str]) -> None:
    """150 seeded releases; coverage not below 95 % by more than 3.5 standard errors, for each target."""
    chosen = plan(read_specification(document(budget=budget)), report_losses=False)
    design, hits = chosen.design, dict.fromkeys([t.name for t in chosen.design.metric.targets], 0)
    source = open_records(population())
    exact = compute(design, source)
    rows: list[float] = []
    for m in design.measurements:
        joint = isinstance(m, JointMeasurement)
        rows += [float(k * m.unit) for k in exact[m.name]] if joint else [m.value(exact[m.name])]
    budgets = np.array([float(budget) for budget in chosen.budgets])
    statistics, equations = evaluate(design, design.reconstruction(budgets).linear(np.array([rows])))
    runs = 150
    for seed in range(runs):
        noise = Noise.seeded(seed)
        noisy = releasing.add_noise(design, exact, chosen.budgets, noise)
        bounds = Replay.of(design, np.array([float(b) for b in chosen.budgets])).intervals(noisy[0])
        for name, value in {**statistics, **equations}.items():
            hits[name] += bool(bounds[name].lower - 1e-9 <= value[0] <= bounds[name].upper + 1e-9)
    for name, count in hits.items():
        assert count / runs > 0.95 - 3.5 * np.sqrt(0.05 * 0.95 / runs), name


def test_released_tables_are_consistent() -> None:
    content = document(
        budget={"epsilon": "0.02"},
        statistics={
            "h": {"kind": "histogram", "of": "age", "bins": list(range(0, 121, 5)), "complete": True},
            "sd": {"kind": "std", "of": "cost", "where": {"smoker": "yes"}},
            "b": {
                "kind": "count",
                "by": {"region": ["north", "south", "west"]},
                "where": {"smoker": "yes"},
                "complete": True,
            },
            "all": {"kind": "count", "where": {"smoker": "yes"}},
        },
        equations={},
    )
    chosen = plan(read_specification(content), report_losses=False)
    for seed in range(5):
        made = make_release(chosen, open_records(population()), Noise.seeded(seed))
        values = {value.name: value.value for value in made.values}
        bins = [value for name, value in values.items() if name.startswith("h[")]
        assert sum(bins) == pytest.approx(RECORDS)
        assert min(bins) >= 0
        assert values["sd"] >= 0
        assert sum(values[f"b[{r}]"] for r in ("north", "south", "west")) == pytest.approx(values["all"])


def test_one_charge_and_the_same_bytes_when_asked_twice(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    Ledger.add_population(ledger, "people", "10")
    chosen = read_specification(document())
    first = release(chosen, population(), tmp_path / "out.csv", ledger=ledger)
    again = release(chosen, population(), tmp_path / "out.csv", ledger=ledger)
    with Ledger.open(ledger) as opened:
        copied = release(chosen, population(), tmp_path / "copy.csv", ledger=opened)
    assert not first.again
    assert again.again
    assert copied.again
    assert first.content == again.content == copied.content == (tmp_path / "copy.csv").read_bytes()
    balance = Ledger.inspect(ledger).balance("people")
    assert (balance.spent, balance.held) == (2, 0)


@pytest.mark.parametrize(
    ("budget", "neighbours", "spent"),
    [
        ({"epsilon": "2"}, "add-remove", Fraction(4)),
        ({"rho": "0.01"}, "replace-one", epsilon_at(Fraction(1, 100), Fraction(1, 10**6))),
        ({"rho": "0.01"}, "add-remove", epsilon_at(Fraction(4, 100), Fraction(1, 10**6))),
        ({"epsilon": "0.5", "delta": "1e-7"}, "replace-one", Fraction(1, 2)),
        ({"epsilon": "0.5", "delta": "1e-7"}, "add-remove", Fraction(1)),
    ],
)
def test_a_budget_is_charged_as_what_it_is(
    tmp_path: Path, budget: dict[str, str], neighbours: str, spent: Fraction
) -> None:
    """Not every budget is an ε for replaced records: unlike ones are converted, or refused."""
    ledger = tmp_path / "ledger.sqlite"
    Ledger.add_population(ledger, "people", "10", delta="1e-6")
    content = document(budget=budget, neighbours=neighbours)
    if neighbours == "add-remove" and "delta" not in budget:
        del content["records"]  # under these neighbours their number is not public
    made = release(read_specification(content), population(), tmp_path / "out.csv", ledger=ledger)
    (entry,) = Ledger.inspect(ledger).entries.values()
    kept = {
        "epsilon": entry.purpose.loss.epsilon,
        "delta": entry.purpose.loss.delta,
        "rho": entry.purpose.loss.rho,
    }
    assert {name: value for name, value in kept.items() if value is not None} == {
        name: Fraction(text) for name, text in budget.items()
    }
    assert entry.purpose.loss.relation == neighbours
    assert Ledger.inspect(ledger).balance("people").spent == spent
    assert made.certificate.ledger_epsilon == (budget["epsilon"] if set(budget) == {"epsilon"} else None)


@pytest.mark.parametrize("budget", [{"rho": "0.01"}, {"epsilon": "1", "delta": "1e-9"}])
def test_a_ledger_without_delta_takes_pure_budgets_only(tmp_path: Path, budget: dict[str, str]) -> None:
    ledger = tmp_path / "ledger.sqlite"
    Ledger.add_population(ledger, "people", "10")
    with pytest.raises(LedgerError, match="has no lifetime delta"):
        release(
            read_specification(document(budget=budget)), population(), tmp_path / "out.csv", ledger=ledger
        )
    assert not (tmp_path / "out.csv").exists()
    Ledger.add_population(tmp_path / "other.sqlite", "people", "10", relation="add-remove")
    with pytest.raises(LedgerError, match="promised under replace-one"):
        release(
            read_specification(document()),
            population(),
            tmp_path / "out.csv",
            ledger=tmp_path / "other.sqlite",
        )


def _release_when_told(start: Any, folder: str, name: str) -> None:
    start.wait(300)
    made = release(
        read_specification(document()),
        population(),
        Path(folder) / name,
        ledger=Path(folder) / "ledger.sqlite",
    )
    (Path(folder) / f"{name}.again").write_text(str(made.again))


@pytest.mark.parametrize("names", [("one.csv", "two.csv"), ("one.csv", "one.csv")])
def test_two_processes_at_once_are_charged_once(names: tuple[str, str], tmp_path: Path) -> None:
    Ledger.add_population(tmp_path / "ledger.sqlite", "people", "10")
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(2)
    workers = [
        context.Process(target=_release_when_told, args=(start, str(tmp_path), name)) for name in names
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(400)
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert (tmp_path / names[0]).read_bytes() == (tmp_path / names[1]).read_bytes()
    balance = Ledger.inspect(tmp_path / "ledger.sqlite").balance("people")
    assert (balance.spent, balance.held) == (2, 0)
    assert not list(tmp_path.glob(".*.lock"))
    if names[0] != names[1]:
        assert {(tmp_path / f"{name}.again").read_text() for name in names} == {"True", "False"}


def test_the_ledger_records_the_status_of_the_certificate(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    Ledger.add_population(ledger, "people", "10")
    content = document(disjoint=[[{"region": "north"}, {"age": {"below": 18}}]], release="conditional")
    for chosen, name in ((document(), "proved"), (content, "conditional")):
        made = release(read_specification(chosen), population(), tmp_path / f"{name}.csv", ledger=ledger)
        entry = Ledger.inspect(ledger).releases("people")[-1]
        assert entry.purpose.status == made.certificate.guarantee.status == name


def test_the_solved_split_can_be_released_and_is_what_is_charged(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    Ledger.add_population(ledger, "people", "100")
    equations = {"times": {"formula": "avg[yes] / avg[no]", "tolerance": 0.05}}
    chosen = read_specification(document(equations=equations))
    solved = solve_budget(chosen)
    first, again = (
        release(chosen, population(), tmp_path / "out.csv", ledger=ledger, solve=True) for _ in range(2)
    )
    assert first.certificate.plan == solved.digest
    assert first.certificate.budget == str(solved.specification.budget)
    assert (first.again, again.again) == (False, True)
    assert Ledger.inspect(ledger).balance("people").spent == solved.specification.budget.epsilon
    with pytest.raises(ParameterError, match="already published"):
        release(chosen, population(), tmp_path / "other.csv", ledger=ledger)


def test_solving_on_release_refuses_what_contradicts_it(tmp_path: Path) -> None:
    equations = {"times": {"formula": "avg[yes] / avg[no]", "tolerance": 0.05}}
    chosen = read_specification(document(equations=equations))
    with pytest.raises(ParameterError, match="fixes its split"):
        release(chosen, population(), tmp_path / "out.csv", solve=True, allocator="uniform")
    piloted = read_specification(document(equations=equations, pilot="0.1"))
    with pytest.raises(ParameterError, match="pilot"):
        release(piloted, population(), tmp_path / "out.csv", solve=True)
    assert not list(tmp_path.iterdir())


def test_without_a_ledger_the_stored_release_is_returned_too(tmp_path: Path) -> None:
    chosen = read_specification(document())
    first = release(chosen, population(), tmp_path / "out.csv")
    assert release(chosen, population(), tmp_path / "out.csv").content == first.content


def test_a_plan_changed_after_release_is_refused(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    Ledger.add_population(ledger, "people", "10")
    release(read_specification(document()), population(), tmp_path / "out.csv", ledger=ledger)
    for changed, data in (
        (document(budget={"epsilon": "3"}), population()),
        (document(), population(seed=12)),
    ):
        with pytest.raises(ParameterError, match=r"already published.*choose another name"):
            release(read_specification(changed), data, tmp_path / "other.csv", ledger=ledger)
    with pytest.raises(ParameterError, match="already published"):
        release(read_specification(document(floor="0.01")), population(), tmp_path / "out.csv")
    assert Ledger.inspect(ledger).balance("people").spent == 2
    assert not (tmp_path / "other.csv").exists()
    renamed = release(
        read_specification(document(release="again")), population(), tmp_path / "other.csv", ledger=ledger
    )
    assert not renamed.again


def test_a_changed_or_lost_file_is_noticed(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    Ledger.add_population(ledger, "people", "10")
    chosen = read_specification(document())
    release(chosen, population(), tmp_path / "out.csv", ledger=ledger)
    (tmp_path / "out.csv").write_text("changed")
    with pytest.raises(OutputError, match="changed after"):
        release(chosen, population(), tmp_path / "out.csv", ledger=ledger)
    (tmp_path / "out.csv").unlink()
    with pytest.raises((LedgerError, OutputError)):
        release(chosen, population(), tmp_path / "out.csv", ledger=ledger)
    assert Ledger.inspect(ledger).balance("people").spent == 2


def test_the_certificate_says_what_was_done_and_nothing_about_the_data(tmp_path: Path) -> None:
    key = tmp_path / "key"
    make_key(key)
    made = release(read_specification(document()), population(), tmp_path / "out.csv", sign=key)
    certificate = StatisticsCertificate.from_json(made.certificate_path.read_bytes())
    assert certificate == made.certificate
    assert certificate.guarantee.status == "proved"
    assert check_signature(certificate, Path(f"{key}.pub"))  # type: ignore[arg-type]
    other = release(read_specification(document()), population(seed=12), tmp_path / "other.csv")
    fields = ("plan", "specification", "request", "budget", "guarantee", "bounds", "measurements", "notes")
    for field in fields:
        assert getattr(certificate, field) == getattr(other.certificate, field), field
    assert isinstance(certificate.digest, Digest)


@pytest.mark.parametrize(
    ("changes", "options", "status"),
    [
        ({}, {}, "proved"),
        ({"disjoint": [["n[yes]", "n[no]"]]}, {}, "conditional"),
        ({}, {"seed": 1}, "none"),
        ({}, {"as_in_paper": True}, "refuted"),
        (
            {
                "schema": {
                    "attributes": {
                        **SCHEMA["attributes"],
                        "cost": {"role": "protect", "domain": {"lower": 0, "upper": 100, "source": "data"}},
                    }
                }
            },
            {},
            "refuted",
        ),
        ({"budget": {"rho": "0.1"}}, {}, "proved"),
    ],
)
def test_the_promise_follows_from_what_was_chosen(
    changes: dict[str, Any], options: dict[str, Any], status: str, tmp_path: Path
) -> None:
    made = release(read_specification(document(**changes)), population(), tmp_path / "out.json", **options)
    assert made.certificate.guarantee.status == status


def test_a_pilot_pays_for_the_expected_values(tmp_path: Path) -> None:
    content = document(pilot="0.1", budget={"epsilon": "20"})
    for entry in content["statistics"].values():
        entry.pop("expected")
    chosen = read_specification(content)
    source = open_records(population())
    rest, values = plan_with_pilot(chosen, source, Noise.seeded(4), "gradient")
    assert values["avg[yes]"] == pytest.approx(36, abs=3)
    spent = rest.design.feasible.used(np.array([float(budget) for budget in rest.budgets]))
    assert spent == pytest.approx(0.9 * 20, rel=1e-6)
    made = release(chosen, population(), tmp_path / "out.csv", seed=4)
    assert any("pilot" in note for note in made.certificate.notes)


def test_as_in_paper_uses_the_sensitivities_of_the_data(tmp_path: Path) -> None:
    values = population()["cost"].to_numpy()[:50]
    for kind, statistic in ((StatisticKind.MEAN, np.mean), (StatisticKind.STD, lambda v: np.std(v, ddof=1))):
        brute = max(abs(statistic(values) - statistic(np.delete(values, i))) for i in range(50))
        assert leave_one_out(values, kind) == pytest.approx((statistic(values), brute))
    source = open_records(population())
    chosen = plan_as_in_paper(read_specification(document()), source, "gradient")
    assert chosen.as_in_paper
    assert chosen.warnings[0].startswith("Refuted")
    honest = plan(read_specification(document()), report_losses=False)
    assert {m.kind for m in chosen.design.measurements} == {Kind.COUNT, Kind.MEAN, Kind.STD}
    assert honest.digest != chosen.digest
