"""Whoever adds or removes a public name must say so here. Every one is documented, and its example runs."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import coterie
from coterie.auditing.attacks import all_attacks
from coterie.evaluation import all_measures
from coterie.methods import all_methods

NAMES = [
    "Attribute",
    "Certificate",
    "CoterieError",
    "Domain",
    "Ledger",
    "Release",
    "Role",
    "Schema",
    "Written",
    "__version__",
    "audit",
    "audit_method",
    "compare",
    "demo_population",
    "demo_schema",
    "evaluate",
    "extend",
    "list_experiments",
    "list_methods",
    "make_key",
    "open_studio",
    "protect",
    "publish",
    "read_table",
    "recommend",
    "reproduce",
    "risk",
    "statistics",
    "verify",
    "write_dossier",
    "write_report",
]
STATISTICS = [
    "Plan",
    "Published",
    "Specification",
    "allocators",
    "from_sql",
    "plan",
    "read_specification",
    "release",
    "resplit",
    "solve_budget",
]


EXTEND = [
    "CLUSTER_BASED",
    "CLUSTER_BASED_JOINT",
    "DOMAIN_OVER_K",
    "DOMAIN_OVER_K_EACH",
    "DOMAIN_OVER_SIZE",
    "EACH_ALONE",
    "EVERY_CLUSTER",
    "INDIVIDUAL_RANKING",
    "INSENSITIVE_MDAV",
    "LOCAL",
    "MDAV",
    "MEAN",
    "NOTHING",
    "NOTHING_TO_LINK",
    "NO_GROUPS",
    "OPTIMAL_UNIVARIATE",
    "PER_CLUSTER",
    "PER_RECORD",
    "TIE_LINKAGE",
    "TRIMMED_MEAN",
    "WHOLE_LIST",
    "WHY",
    "Allocator",
    "Attack",
    "Bound",
    "ByAttribute",
    "CategoryColumn",
    "Centroid",
    "Clustering",
    "Codes",
    "Estimate",
    "ExponentialMechanism",
    "Facts",
    "Finding",
    "Flags",
    "Floats",
    "Grouping",
    "Guarantee",
    "LaplaceOnCentroids",
    "Level",
    "MarginalityCentroid",
    "Measure",
    "MeasureResult",
    "Mechanism",
    "Method",
    "MethodEvidence",
    "NotApplicable",
    "NotRun",
    "NumericColumn",
    "Pair",
    "Problem",
    "RankedCategories",
    "ReleaseEvidence",
    "Sampler",
    "Seen",
    "Settings",
    "SortedCentroids",
    "SortedLabels",
    "Status",
    "Subject",
    "Unit",
    "Whole",
    "as_text",
    "dp_list",
    "float_up",
    "graded",
    "in_domain",
    "interval_words",
    "laplace_scales",
    "on_rows",
    "over_control",
    "percent",
    "proportion",
    "proved_dp",
    "public_k",
    "refuted",
    "share_against",
    "worst_of",
]
ROOT = Path(__file__).resolve().parent.parent
DEVELOP = [
    *sorted((ROOT / "docs/how-to").glob("develop-*.md")),
    *sorted((ROOT / "tests/outside").rglob("*.py")),
]


def test_the_public_names_are_frozen() -> None:
    assert coterie.__all__ == NAMES
    assert sorted(coterie.__all__) == coterie.__all__
    assert all(hasattr(coterie, name) for name in coterie.__all__)
    assert coterie.statistics.__all__ == STATISTICS
    assert coterie.extend.__all__ == sorted(EXTEND)


@pytest.mark.parametrize("name", EXTEND)
def test_whatever_authors_use_says_what_it_is(name: str) -> None:
    value = getattr(coterie.extend, name)
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        return
    text = value.__doc__ or ""
    assert text, "without one Python shows that of a base class"
    assert not text.startswith(f"{name}("), "the signature that dataclasses write"


@pytest.mark.parametrize("path", DEVELOP, ids=lambda path: path.name)
def test_authors_import_public_names_only(path: Path) -> None:
    """The pages for authors, and a package outside Coterie, do without anything that may change."""
    text = path.read_text(encoding="utf-8")
    modules = set(re.findall(r"^ *(?:from|import) (coterie(?:\.\w+)*)", text, re.MULTILINE))
    assert modules <= {"coterie", "coterie.extend"}
    assert not re.findall(r"`coterie\.(?!extend|methods`|measures`|attacks`)\w+\.\w+", text)


def documented() -> Iterator[Any]:
    """Public functions, and the methods that make, write or show something."""
    for module, names in ((coterie, NAMES), (coterie.statistics, STATISTICS)):
        for name in names:
            found = getattr(module, name)
            if not isinstance(found, str | ModuleType) and not inspect.isclass(found):
                yield pytest.param(found, id=f"{module.__name__}.{name}")
    for owner, method in (
        (coterie.Release, "to_frame"),
        (coterie.Release, "write"),
        (coterie.Schema, "draft"),
        (coterie.Schema, "load"),
        (coterie.Ledger, "open"),
        (coterie.Ledger, "add_population"),
    ):
        yield pytest.param(getattr(owner, method), id=f"{owner.__name__}.{method}")


@pytest.mark.parametrize("function", list(documented()))
def test_every_public_function_says_what_it_takes_and_shows_how(function: Any) -> None:
    text = inspect.getdoc(function) or ""
    parameters = [name for name in inspect.signature(function).parameters if name != "self"]
    sections = [*(["Parameters"] if parameters else []), "Returns", "Examples"]
    for section in sections:
        assert f"{section}\n{'-' * len(section)}\n" in text, section
    told = text.partition("Parameters\n")[2].partition("\nReturns\n")[0]
    missing = [
        name
        for name in parameters
        if not any(name in line.partition(" : ")[0].split(", ") for line in told.splitlines())
    ]
    assert not missing
    tests = doctest.DocTestFinder(recurse=False).find(
        inspect.unwrap(function), name=function.__qualname__, globs={}
    )
    examples = [test for test in tests if test.examples]
    assert examples
    for test in examples:
        found = doctest.DocTestRunner(verbose=False).run(test)
        assert found.failed == 0


CLASSES = [
    getattr(module, name)
    for module, names in ((coterie, NAMES), (coterie.statistics, STATISTICS))
    for name in names
    if inspect.isclass(getattr(module, name))
]


@pytest.mark.parametrize("kind", CLASSES)
def test_every_public_class_says_what_it_is_and_shows_how(kind: type) -> None:
    text = vars(kind).get("__doc__") or ""
    assert not text.startswith(f"{kind.__name__}("), "the signature that dataclasses write"
    assert "Examples\n" in text
    tests = [test for test in doctest.DocTestFinder(recurse=False).find(kind, globs={}) if test.examples]
    assert tests
    for test in tests:
        assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


# What the public functions return.

SPECIFICATION = """
coterie_statistics: 1
release: wages
population: staff
neighbours: replace-one
records: 500
budget: {epsilon: 1}
schema:
  attributes:
    wage: {type: integer, role: protect, domain: {lower: 0, upper: 100}}
statistics:
  average: {kind: mean, of: wage, expected: 40, tolerance: 5}
"""
LONGEST = 300


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("results")
    people, schema = coterie.demo_population(60), coterie.demo_schema()
    coterie.Ledger.add_population(folder / "ledger", "people", 5)
    ledger = coterie.Ledger.open(folder / "ledger")
    release = coterie.protect(people, schema, method="dp-synthetic", epsilon=1)
    written = coterie.publish(
        people, schema, folder / "out.csv", method="laplace", epsilon=1, ledger=ledger, population="people"
    )
    noisy = coterie.protect(people, schema, method="laplace", epsilon=1)
    audit = coterie.audit(people, noisy, schema, attacks=["tie-linkage"])
    compared = coterie.compare(people, schema, methods="laplace", epsilon=1, runs=1)
    evaluation = coterie.evaluate(people, release, schema, measures=["jensen-shannon", "sse"])
    specification = coterie.statistics.read_specification(SPECIFICATION)
    book = ledger.book()
    return {
        "release": release,
        "internal figures": release.internal,
        "guarantee": release.guarantee,
        "certificate": release.certificate,
        "written": written,
        "verification": coterie.verify(written.path),
        "schema": schema,
        "attribute": schema["age"],
        "domain": schema["age"].domain,
        "draft": coterie.Schema.draft(people),
        "methods": coterie.list_methods(),
        "method": all_methods()["laplace"],
        "evaluation": evaluation,
        "measure": all_measures()["sse"],
        "measures": all_measures(),
        "measured": evaluation.measures["jensen-shannon"],
        "not measured": evaluation.measures["sse"],
        "audit": audit,
        "attack": all_attacks()["tie-linkage"],
        "attacks": all_attacks(),
        "finding": audit.findings[0],
        "comparison": compared,
        "results": compared.results,
        "ledger": ledger,
        "book": book,
        "inspected": coterie.Ledger.inspect(folder / "ledger"),
        "balance": ledger.balance("people"),
        "entry": book.releases()[0],
        "specification": specification,
        "plan": coterie.statistics.plan(specification),
        "allocators": coterie.statistics.allocators(),
        "allocator": coterie.statistics.allocators()["gradient"],
    }


def test_whatever_is_returned_reads_at_a_glance(results: dict[str, Any]) -> None:
    bad = {
        name: repr(result)
        for name, result in results.items()
        if len(repr(result)) > LONGEST or " at 0x" in repr(result) or "\n" in repr(result)
    }
    assert not bad
    many = {
        name: repr(result) for name, result in results.items() if re.search(r"\b1 [a-z]+s\b", repr(result))
    }
    assert not many, "one of a thing is not several"


FRAMES = [
    "release",
    "verification",
    "draft",
    "methods",
    "evaluation",
    "audit",
    "comparison",
    "ledger",
    "plan",
]


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars"])
@pytest.mark.parametrize("name", FRAMES)
def test_results_are_frames_of_any_kind(results: dict[str, Any], name: str, kind: str) -> None:
    frame = results[name].to_frame(kind)
    assert type(frame).__module__.partition(".")[0] == {"arrow": "pyarrow"}.get(kind, kind)
    assert frame.shape[0] > 0
