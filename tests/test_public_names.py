"""Whoever adds or removes a public name must say so here. Every one is documented, and its example runs."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
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
    "list_experiments",
    "list_methods",
    "make_key",
    "open_studio",
    "protect",
    "publish",
    "read_table",
    "reproduce",
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


def test_the_public_names_are_frozen() -> None:
    assert coterie.__all__ == NAMES
    assert sorted(coterie.__all__) == coterie.__all__
    assert all(hasattr(coterie, name) for name in coterie.__all__)
    assert coterie.statistics.__all__ == STATISTICS


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
