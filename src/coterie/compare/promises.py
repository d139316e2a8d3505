"""What each cell of a comparison would promise as a real release: the label to print beside its figures."""

from __future__ import annotations

from coterie.compare.grid import Cell
from coterie.guarantee import Guarantee, settle
from coterie.methods import get_method
from coterie.noise.secure import SecureSampler
from coterie.promise import facts_of
from coterie.schema import Schema


def promise(cell: Cell, schema: Schema, records: int) -> Guarantee:
    """The guarantee of `protect` with these choices and secure noise. (A comparison itself draws seeded noise.)"""
    method = get_method(cell.method)
    facts = facts_of(schema, method, cell.epsilon, records, cell.k, SecureSampler(), shuffled=False)
    return settle(method.promise, facts)
