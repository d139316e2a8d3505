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
    "list_methods",
    "make_key",
    "protect",
    "publish",
    "read_table",
    "statistics",
    "verify",
    "write_report",
]
STATISTICS = [
    "Plan",
    "Published",
    "Specification",
    "allocators",
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
    "Independent",
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
    "Synthesis",
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
    assert coterie.extend.__all__ == EXTEND
    assert sorted(coterie.extend._MODULES) == sorted(EXTEND)


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
    for module, names in ((coterie, NAMES), (coterie.statistics, ["plan", "release"])):
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


@pytest.mark.parametrize("kind", [coterie.Release, coterie.Written, coterie.Schema, coterie.Certificate])
def test_the_examples_of_classes_run(kind: type) -> None:
    for test in doctest.DocTestFinder(recurse=False).find(kind, globs={}):
        assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
