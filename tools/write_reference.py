"""Write the generated reference pages: methods, measures, the Python API and what each dependency is for.

A test fails when they are stale.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import coterie
from coterie.evaluation import all_measures
from coterie.evaluation.measure import DESTROYED, Measure
from coterie.methods import all_methods, as_dict
from coterie.promise.posterior import most_sure, share_in_words
from measure_install import LIMIT
from write_tables import by_proof

ROOT = Path(__file__).resolve().parent.parent
NOTE = "<!-- Made from the registry by `python tools/write_reference.py`; do not edit. -->\n"


CHOOSE = """Choose by the status. **Proved**: there is a theorem about what is released. **Conditional**: it holds if a
named condition holds. **Refuted**: a paper claims it, and there is a counterexample; such a release is *not* private.
[What the words mean, and the proofs](../guarantees/index.md).
"""


def methods_page() -> str:
    lines = ["# Methods", "", NOTE, CHOOSE]
    lines += ["| method | what it does | status | of what |", "|---|---|---|---|"]
    found = by_proof(as_dict(method) for method in all_methods().values())
    for method in found:
        lines.append(
            f"| [{method['name']}](#{method['name']}) | {method['title']} | {method['status']} | {method['model']} |"
        )
    sure = share_in_words(most_sure(1.0))
    lines += ["", "The promises below are for an example: 1,000 records, ε = 1, k = 10, declared bounds."]
    for method in found:
        title = method["title"][0].upper() + method["title"][1:]
        lines += ["", f"## {method['name']}", "", f"{title}.", ""]
        lines += [f"* **Promise** ({method['status']}): {method['example_label']}"]
        if method["status"] == "proved" and method["model"] == "differential privacy":
            lines.append(
                f"* **In plain words**: someone who was 50 % sure before is at most {sure} sure after."
            )
        lines += [
            f"* **Covers**: {method['scope']}",
            f"* **Why**: {method['why']}",
            f"* **Best attack known**: {method['attack']}",
        ]
        for other, words in zip(method["beside"], method["beside_in_words"], strict=True):
            lines.append(f"* **Also known**: {words}. It assumes that {'; '.join(other['assumptions'])}.")
        if method["assumptions"]:
            lines.append(f"* **Assumes** that {'; that '.join(method['assumptions'])}.")
        lines.append(f"* **Paper**: {method['papers']}")
    return "\n".join(lines) + "\n"


def _in_words(measure: Measure) -> str:
    """The stated limits of the words."""
    told = [f"{word} up to {most:g}" for most, word in measure.words]
    return "; ".join([*told, f"then {DESTROYED}"]) if told else "–"


def measures_page() -> str:
    lines = ["# Measures", "", NOTE]
    lines += [
        "| measure | what it is | how to read it | in words | needs linked rows | in grids | paper |",
        "|---|---|---|---|---|---|---|",
    ]
    for measure in all_measures().values():
        grid = measure.attribute is not None and (measure.attribute.clusters or measure.attribute.drawn)
        lines.append(
            f"| `{measure.name}` | {measure.title} | {measure.meaning} | {_in_words(measure)} | "
            f"{'yes' if measure.needs_linkage else 'no'} | "
            f"{'yes' if grid else 'no'} | {measure.papers} |"
        )
    lines += [
        "",
        "*Linked rows*: row i of the release must be row i of the original. For shuffled or synthetic releases such",
        "measures are skipped.",
        "",
        "`coterie evaluate ORIGINAL RELEASED --schema S` computes them all, `coterie compare` those marked for grids. To",
        "add one, see [Develop a measure](../how-to/develop-a-measure.md).",
    ]
    return "\n".join(lines) + "\n"


# Which public functions each command calls. A test compares it with the commands, and with what their code says.
CALLS: dict[str, tuple[str, ...]] = {
    "audit method": ("audit_method", "write_report"),
    "audit release": ("audit", "write_report"),
    "certificate key": ("make_key",),
    "certificate schema": ("Certificate.model_json_schema",),
    "certificate verify": ("verify",),
    "compare": ("compare", "write_report"),
    "dossier": ("write_dossier",),
    "evaluate": ("evaluate",),
    "ledger check": ("Ledger.open",),
    "ledger init": ("Ledger.add_population",),
    "ledger policy": ("Ledger.set_policy",),
    "ledger show": ("Ledger.inspect",),
    "methods": ("list_methods",),
    "protect": ("publish",),
    "recommend": ("recommend",),
    "reproduce": ("list_experiments", "reproduce"),
    "risk": ("risk",),
    "schema check": ("Schema.load",),
    "schema draft": ("Schema.draft",),
    "stats allocators": ("statistics.allocators",),
    "stats plan": ("statistics.plan",),
    "stats release": ("statistics.release",),
    "stats sql": ("statistics.from_sql",),
    "stats verify": ("verify",),
    "studio": ("open_studio",),
}
WITHOUT_FUNCTION = {
    "aggregator": "a service; it has [a protocol](protocol.md)",
    "certificate show": "any kind of certificate, in words; `Certificate.read` reads one of rows",
    "demo": "`protect` by every method, on `demo_population()`",
    "owner": "a service; it has [a protocol](protocol.md)",
}

API = """# Python API

Names that are not on this page are private and may change.

```python
import coterie
```

## Commands and functions

A command reads its options, calls these functions and shows what they return. Words, tables and `stats plan --figure` are
the command's own.

| command | function |
|---|---|
"""


def calls_table() -> str:
    lines = [
        f"| `coterie {command}` | {', '.join(f'`coterie.{name}`' for name in names)} |"
        for command, names in CALLS.items()
    ]
    lines += [f"| `coterie {command}` | none: {why} |" for command, why in WITHOUT_FUNCTION.items()]
    return "\n".join(lines) + "\n"


def api_page() -> str:
    """One entry for each public name; the texts are those of the docstrings."""
    names = sorted(name for name in coterie.__all__ if not name.startswith("_"))
    kinds: dict[str, list[str]] = {"Functions": [], "Classes": [], "Modules": []}
    for name in names:
        value = getattr(coterie, name)
        kind = "Modules" if inspect.ismodule(value) else "Classes" if inspect.isclass(value) else "Functions"
        kinds[kind].append(name)
    lines = [API + calls_table()]
    for kind, found in kinds.items():
        if found:
            lines += [f"## {kind}", ""]
        for name in found:
            value = getattr(coterie, name)
            if not inspect.ismodule(value):
                lines += [f"::: coterie.{name}", ""]
                continue
            lines += [f"::: coterie.{name}", "    options:", "      members: false", ""]
            for member in sorted(value.__all__):
                lines += [f"::: coterie.{name}.{member}", ""]
    return "\n".join(lines).rstrip() + "\n"


def dependencies_page() -> str:
    """From the comments beside the dependencies in pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = text.split("\ndependencies = [\n", 1)[1].split("\n]\n", 1)[0].splitlines()
    entries = [re.fullmatch(r'  "([\w-]+)[^"]*", *# (\d+) MB: (.+)', line) for line in listed]
    assert all(entries), "each core dependency says how large it is and what it is for"
    found = [entry.groups() for entry in entries if entry]
    total = sum(int(size) for _, size, _ in found)
    note = "<!-- Made from pyproject.toml by `python tools/write_reference.py`; do not edit. -->"
    lines = ["# Dependencies", "", note, ""]
    lines += ["The core install, which protects tables, compares methods and checks certificates:", ""]
    lines += ["| package | MB | what it is for |", "|---|---|---|"]
    lines += [f"| {name} | {size} | {purpose} |" for name, size, purpose in found]
    lines += [f"| **together** | **{total}** | |", ""]
    lines += [
        "Sizes are of Linux wheels as pip installs them, each with the packages that it alone brings (numba: llvmlite).",
        f"A fresh virtual environment has at most {LIMIT} MB: these, Coterie itself, and pip with setuptools",
        "(`make install-size` measures it, and fails above).",
        "",
        "What it would take to halve it: compiled loops in our own wheel, instead of a compiler on every machine, save",
        "207 MB. Quantiles of the normal, beta and t distributions, Sobol points and monotone fits of our own would",
        "save the 142 MB of scipy. Together that leaves about 330 MB, half of it pyarrow.",
        "",
        "Everything else is an extra that you install by name, such as `pip install 'coterie[studio]'`: `report`,",
        "`studio`, `statistics`, `federation`, `database`, `frames`, `excel`, `taxonomy`, `evaluate`, `spark`. `all` has",
        "all of them but `spark`.",
    ]
    return "\n".join(lines) + "\n"


PAGES = {
    "methods.md": methods_page,
    "measures.md": measures_page,
    "api.md": api_page,
    "dependencies.md": dependencies_page,
}

if __name__ == "__main__":
    for name, make in PAGES.items():
        (ROOT / "docs" / "reference" / name).write_text(make(), encoding="utf-8")
