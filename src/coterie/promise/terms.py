"""What a release promises, whichever engine ran the chain: its ε shared out, the facts, the guarantee, the certificate."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial

from coterie.chain.noise.sampler import Sampler
from coterie.chain.noise.secure import SecureSampler
from coterie.errors import ParameterError
from coterie.methods.guarantee import Facts, Guarantee, settle
from coterie.methods.recipe import Method
from coterie.promise.certificate import Certificate, Digest
from coterie.promise.certifying import certify
from coterie.promise.loss import ROW, Loss, LossModel, NeighbourRelation, epsilon_at, rho_for
from coterie.promise.posterior import release_warnings
from coterie.schema.attributes import Role, Schema
from coterie.schema.declared import declared
from coterie.schema.exact import Number, parse_epsilon, split
from coterie.table.columns.column import CategoryColumn, Column

# Of a budget that is promised to a unit, for the number of rows, which is private then.
COUNTING = Fraction(1, 50)


@dataclass(frozen=True, slots=True)
class Budget:
    """ε, exactly: the whole, each attribute's share, and what the dependence between attributes gets."""

    total: Fraction
    shares: dict[str, Fraction]
    dependence: Fraction = Fraction(0)
    delta: Fraction | None = None  # None: pure ε
    # Where there is a δ: the largest ρ that implies (ε, δ); shares are of it, pro rata.
    rho: Fraction | None = None
    # With a privacy unit: how many rows one counts with, and the part of the total that reading the number of rows takes.
    rows_per_unit: int = 1
    counting: Fraction = Fraction(0)

    @classmethod
    def of(
        cls, epsilon: Number | None, schema: Schema, method: Method, delta: Number | None = None
    ) -> Budget:
        """Together exactly ε (or m·ε, where a method does not split it). A method without noise needs no ε."""
        total = total_epsilon(epsilon, method)
        method.check_schema(schema)
        weights = {attribute.name: attribute.weight for attribute in method.measured(schema)}
        if delta is not None:
            delta = checked_delta(delta, method, schema)
        if not method.splits_budget:
            return cls(total, dict.fromkeys(weights, total))
        if schema.unit is None:
            whole = cls(total, split(total, weights))
        else:
            counting, most = total * COUNTING, schema.unit.at_most
            whole = cls(total, split(total - counting, weights), rows_per_unit=most, counting=counting)
        if delta is None:
            return whole
        return replace(whole, delta=delta, rho=Fraction(str(rho_for(float(total), float(delta)))))

    @property
    def mean(self) -> Fraction:
        return sum(self.shares.values(), Fraction(0)) / len(self.shares)

    def check_records(self, records: int) -> None:
        """Before anything is drawn: whether δ is small enough for so many people."""
        if self.delta is not None and self.delta * records >= 1:
            raise ParameterError(
                "delta is not below 1/n: such a delta permits publishing a random person's record in full.",
                "Give a delta well below one over the number of records, such as 0.000001.",
            )


@dataclass(frozen=True)
class Promise:
    """What every release carries, whatever form its rows have."""

    method: str
    loss: Loss  # what a ledger is charged
    guarantee: Guarantee
    certify: Callable[[Digest], Certificate] = field(repr=False)


def promise(
    schema: Schema,
    method: Method,
    budget: Budget,
    records: int,
    k: int,
    sampler: Sampler,
    columns: Iterable[Column],
    *,
    paid: Mapping[str, Fraction] | None = None,
    shuffled: bool = False,
    clipped: bool = True,
    rows: int | None = None,
    raking: tuple[str, ...] = (),
) -> Promise:
    """`columns`: the protected ones, for their trees of labels; `paid`: what private bounds took of the shares.

    `rows`: how many are released, where that is not the number of records. `raking`: how weights met their totals, in words.
    """
    facts = facts_of(
        schema, method, budget.total, records, k, sampler, columns, shuffled=shuffled, clipped=clipped
    )
    facts = replace(facts, delta=budget.delta, rho=budget.rho, released=rows or records, raking=raking)
    guarantee = settle(method.promise, facts)
    return Promise(
        method.name,
        loss_of(guarantee, method.cost(budget.total, len(schema.protected)) if method.adds_noise else None),
        guarantee,
        partial(
            certify,
            guarantee,
            facts,
            schema,
            method,
            budget.shares,
            paid or {},
            budget.dependence,
            budget.counting,
            sampler,
            tuple(a.name for a in schema.attributes if a.role is not Role.IDENTIFIER),
            datetime.now(UTC),
        ),
    )


def checked_delta(delta: Number, method: Method, schema: Schema) -> Fraction:
    """δ as given, where the method has a use for it."""
    if method.whole_table is None:
        raise ParameterError(
            f"Method '{method.name}' has no use for a delta.",
            "Leave delta out, or choose a method that models the whole table, such as dp-synthetic.",
        )
    found = parse_epsilon(delta, "delta")
    if found >= 1:
        raise ParameterError(
            "delta is a probability, and far below 1.", "Give for example 0.00001: well below 1/n."
        )
    if schema.searched:
        raise ParameterError(
            "Bounds that are searched for (`source: dp`) are paid in pure epsilon.",
            "Leave delta out, or declare the bounds.",
        )
    return found


_MODELS = {"differential privacy": LossModel.DP, "individual differential privacy": LossModel.IDP}


def loss_of(guarantee: Guarantee, calibrated: Fraction | None) -> Loss:
    """What a release costs: its stated value where there is a proof of one.

    A proof of individual differential privacy that stands beside the guarantee (of the list of group means, where the rows
    show the groups) counts as such. Without any proof, the ε that the noise was calibrated for is noted, and adds up to
    nothing.
    """
    stated = [guarantee, *(other for other in guarantee.beside if _MODELS.get(other.model) is LossModel.IDP)]
    for statement in stated:
        model = _MODELS.get(statement.model)
        if model is not None and statement.status.proof:
            epsilon = Fraction(statement.value)  # 2ε of the largest ε is accepted, too
            delta = None if statement.delta is None else Fraction(statement.delta)
            rho = None if statement.rho is None else Fraction(statement.rho)
            loss = Loss(
                *(
                    model,
                    NeighbourRelation(statement.relation or NeighbourRelation.REPLACE_ONE),
                    statement.status,
                    epsilon,
                    delta,
                ),
                unit=statement.unit or ROW,
                rows_per_unit=statement.rows_per_unit,
                policy=statement.policy or "",
                scope=statement.scope,
            )
            if rho is not None and delta is not None and epsilon_at(rho, delta) <= epsilon:
                # Many releases in ρ cost less together than in (ε, δ), and one no more.
                return replace(loss, epsilon=None, delta=None, rho=rho)
            return loss
    return Loss(LossModel.NONE, NeighbourRelation.REPLACE_ONE, guarantee.status, calibrated)


def forecast(
    schema: Schema,
    method: Method,
    epsilon: Fraction,
    k: int | None,
    *,
    records: int | None = None,
    shuffled: bool = False,
    clipped: bool = True,
    delta: Number | None = None,
) -> Guarantee:
    """What a release with real noise will promise, before any is drawn.

    Without `records`, as before the table is read: for two groups, the fewest that can show.
    """
    k = k or method.fixed_k or method.minimum_k
    sampler, records = SecureSampler(), records or 2 * k
    facts = facts_of(schema, method, epsilon, records, k, sampler, shuffled=shuffled, clipped=clipped)
    budget = Budget.of(epsilon, schema, method, delta)
    return settle(method.promise, replace(facts, delta=budget.delta, rho=budget.rho))


def forecast_warnings(
    schema: Schema, method: Method, budget: Budget, records: int, k: int, guarantee: Guarantee
) -> tuple[str, ...]:
    """What to think of before releasing with these choices: an ε that is useless or dangerous here."""
    labelled = frozenset(a.name for a in schema.protected if a.type.labelled)
    cost = method.cost(budget.total, len(schema.protected))
    return release_warnings(method, cost, budget.shares, labelled, records, k, guarantee)


def facts_of(
    schema: Schema,
    method: Method,
    epsilon: Fraction,
    records: int,
    k: int,
    sampler: Sampler,
    columns: Iterable[Column] = (),
    *,
    shuffled: bool,
    clipped: bool = True,
) -> Facts:
    """What the promise may depend on: all of it declared, or visible in the release."""
    known, rules = declared(schema, records), schema.edit_rules
    measured = {attribute.name for attribute in method.measured(schema)}
    labelled = [column for column in columns if isinstance(column, CategoryColumn)]
    return Facts(
        **{field.name: getattr(known, field.name) for field in fields(known)},
        epsilon=epsilon,
        records=records,
        k=k,
        clusters=records // k,
        sizes_from_data=method.grouping.sizes is None,
        rules_hold=method.whole_table is not None,
        derived=tuple((step.column, step.text) for step in rules.steps if step.column not in measured),
        taxonomies=tuple((column.attribute.name, column.taxonomy.digest()) for column in labelled),
        shuffled=shuffled,
        clipped=clipped,
        synthetic=method.synthetic,
        private_noise=sampler.private or not method.adds_noise,
    )


def total_epsilon(epsilon: Number | None, method: Method) -> Fraction:
    """ε as given. A method without noise needs none; one that was given is checked all the same."""
    if epsilon is not None:
        return parse_epsilon(epsilon)
    if method.adds_noise:
        raise ParameterError(
            f"Method '{method.name}' needs a privacy budget.", "Give epsilon, for example 1."
        )
    return Fraction(1)


def whole_seed(seed: object) -> int:
    if isinstance(seed, bool) or not hasattr(seed, "__index__") or operator.index(seed) < 0:
        raise ParameterError("The seed is not a whole number from 0 up.", "Give for example seed=1.")
    return operator.index(seed)
