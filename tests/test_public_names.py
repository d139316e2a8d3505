"""Whoever adds or removes a public name changes the page of the API. Every one is documented, and its example runs."""

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

ROOT = Path(__file__).resolve().parent.parent
MODULES = (coterie, coterie.statistics, coterie.extend)
PAGE = (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")
FROZEN = set(re.findall(r"^::: (coterie\S*)$", PAGE, re.MULTILINE)) | {"coterie.__version__"}
DEVELOP = [
    *sorted((ROOT / "docs/how-to").glob("develop-*.md")),
    *sorted((ROOT / "tests/outside").rglob("*.py")),
]


def test_the_public_names_are_frozen() -> None:
    """On the page of the API, which is committed: a name that comes or goes is seen there."""
    assert len(FROZEN) > 100
    named = {f"{module.__name__}.{name}" for module in MODULES for name in module.__all__}
    assert named == FROZEN
    for module in MODULES:
        assert sorted(module.__all__) == module.__all__
        assert all(hasattr(module, name) for name in module.__all__)


@pytest.mark.parametrize("name", coterie.extend.__all__)
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
    for module in MODULES[:2]:
        for name in module.__all__:
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
    for module in MODULES[:2]
    for name in module.__all__
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
        "recommendation": coterie.recommend(people, schema, beside=()),
        "risk": coterie.risk(people, schema),
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
    "recommendation",
    "risk",
    "ledger",
    "plan",
]


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars"])
@pytest.mark.parametrize("name", FRAMES)
def test_results_are_frames_of_any_kind(results: dict[str, Any], name: str, kind: str) -> None:
    frame = results[name].to_frame(kind)
    assert type(frame).__module__.partition(".")[0] == {"arrow": "pyarrow"}.get(kind, kind)
    assert frame.shape[0] > 0
