"""What each cell of a comparison would promise as a real release: the label to print beside its figures."""

from __future__ import annotations

from coterie.budget_warnings import release_warnings
from coterie.compare.grid import Cell
from coterie.guarantee import Guarantee, settle
from coterie.methods import get_method
from coterie.noise.secure import SecureSampler
from coterie.promise import Budget, facts_of
from coterie.schema import Schema


def cell_warnings(cell: Cell, schema: Schema, records: int) -> tuple[str, ...]:
    """What to think of before releasing with these choices: an ε that is useless or dangerous here."""
    method, budget = get_method(cell.method), Budget.of(cell.epsilon, schema, get_method(cell.method))
    labelled = frozenset(a.name for a in schema.protected if a.type.labelled)
    cost = method.cost(cell.epsilon, len(schema.protected))
    return release_warnings(
        method, cost, budget.shares, labelled, records, cell.k, promise(cell, schema, records)
    )


def promise(cell: Cell, schema: Schema, records: int) -> Guarantee:
    """The guarantee of `protect` with these choices and secure noise. (A comparison itself draws seeded noise.)"""
    method = get_method(cell.method)
    facts = facts_of(schema, method, cell.epsilon, records, cell.k, SecureSampler(), shuffled=False)
    return settle(method.promise, facts)
