"""Aggregates of an SQL query → entries of a specification; arithmetic over them → formulas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from coterie.statistics.sql.conditions import Node, SqlNames, Where, both, refused, written

# By the name of the function without underscores: sqlglot has classes for some, and these differ between versions.
_OF_TWO = {
    "corr": "correlation",
    "covarsamp": "covariance",
    "covarpop": "covariance",
    "regrslope": "slope",
    "regrintercept": "intercept",
}
_SPREADS = {
    "variance": "variance",
    "varsamp": "variance",
    "variancepop": "variance",
    "varpop": "variance",
    "stddev": "std",
    "stddevsamp": "std",
    "stddevpop": "std",
}
_QUANTILES = (
    "quantile",
    "approxquantile",
    "percentilecont",
    "percentiledisc",
    "quantilecont",
    "quantiledisc",
)
_EXTREMES = (
    "The smallest and the largest value are single records. Ask for a quantile: PERCENTILE_CONT(0.99) …"
)
_KNOWN = (
    "Known are COUNT, SUM, AVG, VARIANCE, STDDEV, CORR, COVAR_SAMP, REGR_SLOPE, REGR_INTERCEPT, MEDIAN, PERCENTILE_CONT, "
    "and arithmetic over them."
)
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_FUNCTIONS = {"sqrt": "sqrt", "ln": "log", "exp": "exp", "abs": "abs"}


@dataclass(frozen=True)
class Asked:
    """One statistic, without its groups; `base` is a name for it."""

    entry: dict[str, Any]
    base: str


@dataclass(frozen=True)
class Aggregates:
    names: SqlNames
    where: Where
    note: Callable[[str], None]

    def bare(self, node: Node) -> Node:
        """Strip what changes nothing here: brackets, casts, rounding, protection from NULL and division by zero."""
        while node.key in ("paren", "cast", "trycast", "round", "coalesce", "nullif"):
            if node.key == "round":
                self.note(
                    "ROUND is left out: figures are published with their error, and can be rounded by anyone"
                )
            node = node.this
        return node

    def aggregate(self, node: Node) -> Asked | None:
        """None where the node is arithmetic."""
        node = self.bare(node)
        if isinstance(node, exp.Filter):
            inner = Aggregates(self.names, self._and(node.expression.this, node), self.note)
            return inner.aggregate(node.this)
        function = _function(node)
        if function in ("count", "countif", "sum", "avg"):
            return getattr(self, f"_{function}")(node)  # type: ignore[no-any-return]
        if function in _OF_TWO:
            columns = [self.names.column(part) for part in _arguments(node)[:2]]
            if function == "covarpop":
                self._sample("COVAR_POP", "covariance")
            return self._made(_OF_TWO[function], of=columns)
        if function in _SPREADS:
            if function.endswith("pop"):
                self._sample(node.sql_name() if hasattr(node, "sql_name") else function, _SPREADS[function])
            return self._of(_SPREADS[function], node.this)
        if function == "median":
            return self._of("median", node.this)
        if function == "withingroup" or function in _QUANTILES:
            return self._quantile(node)
        if function == "approxdistinct":
            return self._of("count_distinct", node.this)
        if function in ("min", "max"):
            raise refused(node, _EXTREMES)
        if isinstance(node, exp.AggFunc | exp.Anonymous):
            raise refused(node, _KNOWN)
        return None

    def written(self, node: Node, refer: Callable[[Asked], str]) -> str:
        """`formula` without brackets around the whole."""
        text = self.formula(node, refer)
        return text[1:-1] if self.bare(node).key in _SIGNS and text.startswith("(") else text

    def formula(self, node: Node, refer: Callable[[Asked], str]) -> str:
        """Arithmetic as a specification writes it; `refer` gives the name of an aggregate's statistic."""
        node = self.bare(node)
        asked = self.aggregate(node)
        if asked is not None:
            return refer(asked)
        if isinstance(node, exp.Literal) and not node.is_string:
            return str(node.this)
        if isinstance(node, exp.Neg):
            return f"-({self.formula(node.this, refer)})"
        if node.key in _SIGNS:
            left, right = (self.formula(part, refer) for part in (node.this, node.expression))
            return f"({left} {_SIGNS[node.key]} {right})"
        if isinstance(node, exp.Pow):
            return f"({self.formula(node.this, refer)}) ** {self.formula(node.expression, refer)}"
        if node.key in _FUNCTIONS:
            return f"{_FUNCTIONS[node.key]}({self.formula(node.this, refer)})"
        if node.key in ("greatest", "least"):
            parts = ", ".join(self.formula(part, refer) for part in (node.this, *node.expressions))
            return f"{'max' if node.key == 'greatest' else 'min'}({parts})"
        if isinstance(node, exp.Column):
            raise refused(
                node,
                "It stands beside aggregates, but is no group: put it under GROUP BY, or into an aggregate.",
            )
        raise refused(node, _KNOWN)

    # --- one function each ----------------------------------------------------------------------------------------

    def _count(self, node: Node) -> Asked:
        counted = node.this.unnest()
        if isinstance(counted, exp.Distinct):
            if len(counted.expressions) != 1:
                raise refused(node, "Count the distinct values of one column.")
            return self._of("count_distinct", counted.expressions[0])
        if isinstance(counted, exp.Star | exp.Literal):
            return self._made("count")
        if isinstance(counted, exp.Case | exp.If):
            condition, _, otherwise = _case(counted)
            if otherwise is not None:
                raise refused(node, "COUNT counts every value, ELSE 0 too. Leave ELSE out, or write SUM.")
            return self._counted_where(condition, node)
        return self._made(
            "count", where=both(self.where, self.names.present(self.names.column(counted)), node)
        )

    def _countif(self, node: Node) -> Asked:
        return self._counted_where(node.this, node)

    def _sum(self, node: Node) -> Asked:
        added = node.this.unnest()
        match added:
            case exp.Literal() if added.this == "1":
                return self._made("count")
            case exp.Case() | exp.If():
                condition, then, otherwise = _case(added)
                if otherwise not in (None, 0):
                    raise refused(node, "Let CASE have one WHEN, and ELSE 0 or nothing.")
                if _is_one(then):
                    return self._counted_where(condition, node)
                return Aggregates(self.names, self._and(condition, node), self.note)._sum(exp.Sum(this=then))
            case exp.Mul():
                return self._made(
                    "sum", of=[self.names.column(part) for part in (added.this, added.expression)]
                )
            case exp.Pow() if added.expression.name == "2":
                return self._made("sum", of=[self.names.column(added.this)] * 2)
            case exp.Predicate():
                return self._counted_where(added, node)
        return self._of("sum", added)

    def _avg(self, node: Node) -> Asked:
        averaged = node.this.unnest()
        if isinstance(averaged, exp.Case | exp.If):
            condition, then, otherwise = _case(averaged)
            if _is_one(then) and otherwise == 0:
                that = self.names.where(condition)
                return self._made("proportion", that=written(that), base="share_" + "_".join(that))
            if otherwise is not None or _is_one(then):
                raise refused(
                    node, "Write AVG(CASE WHEN … THEN 1 ELSE 0 END) for a share, or THEN column without ELSE."
                )
            return Aggregates(self.names, self._and(condition, node), self.note)._of("mean", then)
        if isinstance(averaged, exp.Predicate):
            that = self.names.where(averaged)
            return self._made("proportion", that=written(that), base="share_" + "_".join(that))
        return self._of("mean", averaged)

    def _quantile(self, node: Node) -> Asked:
        if isinstance(node, exp.WithinGroup):
            ordered = node.expression.expressions[0]
            level, column, falling = node.this.this, ordered.this, bool(ordered.args.get("desc"))
        else:
            column, level, falling = *_arguments(node)[:2], False
        if not isinstance(level, exp.Literal) or level.is_string:
            raise refused(node, "Give the quantile as a number between 0 and 1.")
        share = round(1 - float(level.this), 12) if falling else float(level.this)
        percent = f"{100 * share:g}".replace(".", "_")
        name = self.names.column(column)
        return self._made("quantile", of=name, quantile=share, base=f"p{percent}_{name}")

    def _sample(self, function: str, kind: str) -> None:
        self.note(
            f"{function.upper()} is published as the sample {kind}, which divides by n − 1 in place of n"
        )

    # --- entries --------------------------------------------------------------------------------------------------

    def _of(self, kind: str, node: Node) -> Asked:
        if isinstance(node, exp.Distinct):
            raise refused(node, "DISTINCT goes with COUNT alone.")
        return self._made(kind, of=self.names.column(node))

    def _counted_where(self, condition: Node, node: Node) -> Asked:
        chosen = self.names.where(condition)
        return self._made("count", where=self._and(condition, node), base="n_" + "_".join(chosen))

    def _and(self, condition: Node, node: Node) -> Where:
        return both(self.where, self.names.where(condition), node)

    def _made(self, kind: str, base: str = "", where: Where | None = None, **entries: Any) -> Asked:
        chosen = self.where if where is None else where
        of = entries.get("of", [])
        columns = [of] if isinstance(of, str) else list(of)
        entry = {"kind": kind, **entries, **({"where": written(chosen)} if chosen else {})}
        return Asked(entry, base or "_".join(["n" if kind == "count" else kind, *columns]))


def _function(node: Node) -> str:
    return (str(node.this) if isinstance(node, exp.Anonymous) else node.key).replace("_", "").lower()


def _arguments(node: Node) -> list[Any]:
    """The arguments of a function as they are written, whatever its class calls them."""
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    named = [node.args.get(key) for key in ("this", "expression", "quantile")]
    found = [part for part in named if hasattr(part, "key")]
    if len(found) < 2:
        raise refused(node, "Write both arguments, such as CORR(y, x) or QUANTILE(x, 0.9).")
    return found


def _case(node: Node) -> tuple[Node, Node, float | None]:
    """Condition, value, and the number under ELSE: None without one."""
    branches = [node] if isinstance(node, exp.If) else node.args["ifs"]
    otherwise = node.args.get("false" if isinstance(node, exp.If) else "default")
    if len(branches) != 1:
        raise refused(node, "Let CASE have one WHEN; write one aggregate for each.")
    condition, then = branches[0].this, branches[0].args["true"]
    if isinstance(node, exp.Case) and node.this is not None:
        condition = exp.EQ(this=node.this, expression=condition)
    if otherwise is None or isinstance(otherwise, exp.Null):
        return condition, then, None
    if isinstance(otherwise, exp.Literal) and not otherwise.is_string:
        return condition, then, float(otherwise.this)
    raise refused(node, "Let ELSE be 0, or leave it out.")


def _is_one(node: Node) -> bool:
    return node.key == "literal" and node.name in ("1", "1.0")
