"""Commands are thin: they parse, call public functions and print. What they may import is listed here."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

import coterie.cli
from coterie.cli.app import COMMANDS, load
from write_reference import CALLS, WITHOUT_FUNCTION

FOLDER = Path(coterie.cli.__file__).parent
MODULES = sorted(path for path in FOLDER.glob("*.py"))
# Words and tables for people: nothing here computes, reads or writes a release.
OUTPUT = {
    "coterie.errors",
    "coterie.comparison.grid:left_out",
    "coterie.comparison.recommendation:PURPOSES",
    "coterie.evaluation:all_measures",
    "coterie.evaluation:get_measure",
    "coterie.evaluation.evaluation:Evaluation",
    "coterie.evaluation.evaluation:WARNING",
    "coterie.evaluation.measure:MeasureResult",
    "coterie.auditing.attacks.finding:Level",
    "coterie.auditing.disclosure_risk:WARNING",
    "coterie.auditing.audit:Audit",
    "coterie.federation.documents.certificate:FederatedCertificate",
    "coterie.federation.documents.verification:read_any",
    "coterie.federation.documents.verification:superseded",
    "coterie.methods.guarantee:beside_in_words",
    "coterie.papers:get_experiment",
    "coterie.papers.experiment:ClaimVerdict",
    "coterie.papers.reproduction:Reproduction",
    "coterie.promise.loss",  # names of units and relations
    "coterie.promise.posterior",  # what ε means, in words
    "coterie.publication.ledger",  # what a ledger holds
    "coterie.publication.publishing:place",  # the aggregator's copy of a release
    "coterie.publication.staged_files:stage_file",
    "coterie.publication.staging:stage_bytes",  # a page, a figure or a draft that is written beside
    "coterie.registry:raised_by",  # whose part failed
    "coterie.report.audit_page:shown",
    "coterie.schema.exact:number",
    "coterie.report.demo",
    "coterie.report.plan_figure",
    "coterie.report.ranking",
    "coterie.report:risk_page",
    "coterie.report.statistics_page",
    "coterie.report.writing:refuse_existing",
    "coterie.report.writing:AUDIT_FILES",
    "coterie.report.writing:EVALUATION_FILES",
    "coterie.table.estimates",  # what a weighted figure is of
    "coterie.auditing.attacks.finding:percent",
    "coterie.comparison.recommendation",  # how one is made
    "coterie.comparison.trial:Recommendation",  # what one is
    "coterie.table.address:is_database",  # whether there is a file to check next
    "coterie.schema.document:as_schema",  # whether there is a unit to ask about
    "coterie.schema.exact",
    "coterie.statistics.allocators:DEFAULT",
    "coterie.statistics.planning.plan:Plan",
    "coterie.statistics.prediction.rank_law:Basis",
    "coterie.statistics.releasing.released_files:Published",
}
# Services that no function stands for: the aggregator and the owner are processes.
SERVICES = {
    "aggregator.py": "coterie.federation",
    "aggregator_administration.py": "coterie.federation",
    "owner.py": "coterie.federation",
    "owner_identity.py": "coterie.federation",
    "federation_output.py": "coterie.federation",
}


def imported(path: Path) -> set[str]:
    """`module:name` for everything of Coterie that a module imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] == "coterie"}
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "coterie":
            found |= {f"{node.module}:{alias.name}" for alias in node.names}
    return found


def allowed(name: str, path: Path) -> bool:
    module, _, attribute = name.partition(":")
    return (
        (module == "coterie" and (not attribute or attribute in coterie.__all__))
        or module.startswith("coterie.cli")
        or module == "coterie._version"
        or name in OUTPUT
        or module in OUTPUT
        or (path.name in SERVICES and module.startswith(SERVICES[path.name]))
    )


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_a_command_imports_public_names_and_words_only(path: Path) -> None:
    assert not [name for name in sorted(imported(path)) if not allowed(name, path)]


def test_what_is_allowed_is_used() -> None:
    used = {name for path in MODULES for name in imported(path)}
    modules = {name.partition(":")[0] for name in used}
    assert not [name for name in OUTPUT if name not in used and name not in modules]


def test_the_page_of_the_api_names_the_function_behind_each_command() -> None:
    """What the page says of a command is what its code calls; a command without a function is named as such."""
    commands: set[str] = set()
    for name in COMMANDS:
        command = load(name)
        parts = getattr(command, "commands", {})
        own = not parts or command.invoke_without_command
        commands |= ({name} if own or name in WITHOUT_FUNCTION else set()) | {
            f"{name} {part}" for part in parts if name not in WITHOUT_FUNCTION and not own
        }
    assert commands == {*CALLS, *WITHOUT_FUNCTION}
    for command, functions in CALLS.items():
        code = (FOLDER / f"{command.split()[0]}.py").read_text()
        for function in functions:
            found = coterie
            for part in function.split("."):
                found = getattr(found, part)
            assert re.search(rf"\b{function.removeprefix('statistics.')}\(", code), (command, function)


def test_only_one_module_locks_files_and_only_two_rename_them() -> None:
    root = FOLDER.parent
    sources = {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*.py")}
    assert [name for name, text in sources.items() if "import fcntl" in text] == ["table/hidden_files.py"]
    assert {name for name, text in sources.items() if renames(text)} == {
        "publication/staged_files.py",
        "table/hidden_files.py",
    }


def renames(text: str) -> bool:
    """os.replace and os.rename; or the same of a path: one argument, where text, times and dataclasses take others."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("replace", "rename")
        and (ast.unparse(node.func.value) == "os" or (len(node.args) == 1 and not node.keywords))
        for node in ast.walk(ast.parse(text))
    )


def test_a_rename_would_be_noticed() -> None:
    for line in ("os.replace(a, b)", "path.with_suffix('.new').replace(path)", "Path(a).rename(b)"):
        assert renames(line), line
    assert not renames("text.replace('a', 'b'); replace(plan, k=1); moment.replace(tzinfo=UTC)")


# What a command calls otherwise than the function; and what only a program has: somebody who watches, a journal of its own.
CALLED = {"folder": "output", "certificate": "certificate_file"}


@pytest.mark.parametrize(
    ("function", "command"),
    [
        (coterie.audit, "audit:release_command"),
        (coterie.audit_method, "audit:method_command"),
        (coterie.compare, "compare:compare_command"),
        (coterie.evaluate, "evaluate:evaluate_command"),
        (coterie.publish, "protect:protect_command"),
        (coterie.verify, "certificate:verify"),
    ],
    ids=lambda given: given if isinstance(given, str) else given.__name__,
)
def test_a_command_has_every_option_of_its_function(function: Callable[..., object], command: str) -> None:
    module, _, name = command.partition(":")
    options = set(inspect.signature(getattr(import_module(f"coterie.cli.{module}"), name)).parameters)
    wanted = set(inspect.signature(function).parameters) - {"progress", "journal", "request"}
    assert not {one for one in wanted if one not in options and CALLED.get(one) not in options}
