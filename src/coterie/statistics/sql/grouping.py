"""GROUP BY of an SQL query → the sets of columns that figures are asked for."""

from __future__ import annotations

import itertools

from coterie.statistics.sql.conditions import Node, SqlNames, refused

_Items = list[tuple[str, Node]]  # what is selected: alias, and what it stands for


def grouping_sets(query: Node, names: SqlNames) -> list[tuple[str, ...]]:
    """The sets of columns that figures are asked for, the standard's product of all elements of GROUP BY."""
    group = query.args.get("group")
    if group is None:
        return [()]
    if group.args.get("all"):
        raise refused("GROUP BY ALL", "Name the columns of the groups.")
    given = [(item.alias, item.unalias()) for item in query.expressions]
    elements = [*group.expressions]
    for part in ("rollup", "cube", "grouping_sets"):
        for element in group.args.get(part) or []:
            if element.expressions:
                elements.append(element)
            else:  # GROUP BY a, b WITH ROLLUP
                element.set("expressions", group.expressions)
                elements = [element]
    products = itertools.product(*(_element(element, given, names) for element in elements))
    found = [tuple(dict.fromkeys(itertools.chain.from_iterable(sets))) for sets in products]
    kept: dict[frozenset[str], tuple[str, ...]] = {}
    for columns in found:
        kept.setdefault(frozenset(columns), columns)
    return list(kept.values())


def _element(node: Node, given: _Items, names: SqlNames) -> list[tuple[str, ...]]:
    from sqlglot import exp

    if isinstance(node, exp.Rollup):
        listed = [_column(part, given, names) for part in node.expressions]
        return [tuple(listed[:length]) for length in range(len(listed), -1, -1)]
    if isinstance(node, exp.Cube):
        listed = [_column(part, given, names) for part in node.expressions]
        sizes = range(len(listed), -1, -1)
        return [kept for size in sizes for kept in itertools.combinations(listed, size)]
    if isinstance(node, exp.GroupingSets):
        return [sets for part in node.expressions for sets in _element(part, given, names)]
    if isinstance(node, exp.Tuple):
        return [tuple(_column(part, given, names) for part in node.expressions)]
    return [(_column(node, given, names),)]


def _column(node: Node, given: _Items, names: SqlNames) -> str:
    from sqlglot import exp

    node = node.unnest()
    if isinstance(node, exp.Literal) and not node.is_string and 1 <= int(node.this) <= len(given):
        node = given[int(node.this) - 1][1].unnest()
    elif isinstance(node, exp.Column):
        meant = [
            inner for alias, inner in given if alias and alias == node.name and isinstance(inner, exp.Column)
        ]
        node = meant[0] if meant else node
    if not isinstance(node, exp.Column):
        raise refused(
            node,
            "Group by columns. For bins of a number write a histogram into the specification: bins: [0, 20, 40].",
        )
    return names.column(node)
