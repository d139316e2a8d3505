"""What each cell of a comparison would promise as a real release: the label to print beside its figures."""

from __future__ import annotations

from coterie.compare.grid import Cell
from coterie.guarantee import Facts, Guarantee, settle
from coterie.methods import get_method
from coterie.schema import Missing, Role, Schema, Source


def promise(cell: Cell, schema: Schema, records: int) -> Guarantee:
    """The guarantee of `protect` with these choices and secure noise. (A comparison itself draws seeded noise.)"""
    method, parameters = get_method(cell.method), schema.parameters
    facts = Facts(
        epsilon=cell.epsilon,
        records=records,
        k=cell.k,
        clusters=records // cell.k,
        protected=tuple(a.name for a in schema.protected),
        kept=tuple(a.name for a in schema.with_role(Role.KEEP)),
        bounds_from_data=tuple(a.from_data for a in schema.protected if a.from_data),
        order_from_data=tuple(a.name for a in schema.protected if a.order_from_data),
        bounds_paid=tuple(a.name for a in schema.protected if a.domain and a.domain.source is Source.DP),
        parameters_from_data=parameters is not None and parameters.leaks,
        parameters_public_because="; ".join(parameters.notes("method, ε and k")) if parameters else "",
        sizes_from_data=method.grouping.sizes is None,
        synthetic=method.synthesis is not None,
        rows_may_drop=tuple(
            a.name
            for a in schema.attributes
            if a.missing is Missing.DROP_ROW and a.role is not Role.IDENTIFIER
        ),
    )
    return settle(method.promise, facts)
