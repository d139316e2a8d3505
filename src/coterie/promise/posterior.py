"""ε in plain words: by how much a release can change an attacker's odds, and when a budget is useless or dangerous.

Under ε-DP, for any two records that a person may have (replace-one), or any two contributions of a unit, none included
(exchange), the odds between them change by a factor of at most e^ε whatever is released. Someone who is p sure before is
at most p·e^ε / (p·e^ε + 1 - p) sure after.
Only a proved model may be put this way; for anything else there is nothing to compute, only what was measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from functools import cache

from coterie.errors import ParameterError
from coterie.methods.guarantee import Statement, Status
from coterie.methods.recipe import Method
from coterie.promise.loss import rho_for
from coterie.schema.exact import brief, number, parse_epsilon

DP = "differential privacy"
_CERTAIN = 0.95  # a promise that lets somebody become surer is practically empty


def most_sure(epsilon: float, before: float = 0.5) -> float:
    """The largest posterior that ε-DP allows to someone who was `before` sure."""
    if not 0 < before < 1:
        raise ParameterError("A prior belief lies between 0 and 1.", "Give for example 0.5.")
    if epsilon < 0 or math.isnan(epsilon):
        raise ParameterError("epsilon is negative or not a number.", "Give the ε of the release.")
    # The form that cannot overflow.
    return before / (before + (1 - before) * math.exp(-epsilon))


def odds_in_words(promise: Statement) -> str:
    """One or two sentences for a data protection officer."""
    status = str(promise.status)
    if promise.model != DP or status not in ("proved", "conditional"):
        return _no_bound(promise)
    after = most_sure(likely_loss(promise))
    but = ""
    if promise.delta is not None:
        but = f", with probability at least 1 − {brief(Fraction(promise.delta))} over the noise"
    fact = "a fact about one person"
    if promise.unit is not None:
        fact = f"what one {promise.unit} contributed, or whether it took part,"
    words = (
        f"Someone who was 50 % sure before of {fact} is at most "
        f"{share_in_words(after)} sure after seeing {promise.scope}{but}."
    )
    if status == "conditional":
        words += " This holds only under the condition on the certificate."
    if after > _CERTAIN:
        words += " At this ε the promise is formally true and practically empty."
    return words


def limits_attackers(promise: Statement) -> bool:
    """Whether it is proved how sure an attacker can become, and that is not as good as certain."""
    return (
        promise.model == DP
        and str(promise.status) == "proved"
        and most_sure(likely_loss(promise)) <= _CERTAIN
    )


def likely_loss(promise: Statement) -> float:
    """The log of the odds ratio: never exceeded under pure ε, and with probability δ at most where there is a δ.

    Then it is not ε: under (ε, δ)-DP odds change by more than e^ε with probability above δ (4.4 δ for Gaussian noise at
    ε = 1). Under ρ-zCDP the loss exceeds ρ + 2√(ρ ln(1/δ)) with probability at most δ (Bun & Steinke 2016, Lemma 3.5).
    """
    if promise.delta is None:
        return float(parse_epsilon(promise.value))
    if promise.rho is None:
        raise ParameterError("(ε, δ) alone does not limit an attacker's odds.", "Give the ρ of the release.")
    rho, delta = (float(parse_epsilon(text)) for text in (promise.rho, promise.delta))
    return _loss_at(rho, delta)


def _loss_at(rho: float, delta: float) -> float:
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def _no_bound(promise: Statement) -> str:
    status = str(promise.status)
    if status == "refuted":
        return (
            f"No limit on what an attacker can become sure of: this release is not private. There is a "
            f"counterexample to the claim of {promise.model}, so ε says nothing here. See what the attacks measured."
        )
    if promise.model == "none" or status == "none":
        return "No limit on what an attacker can become sure of is promised. See what the attacks measured."
    return (
        f"The promise ({promise.model}, {status}) does not limit an attacker's odds: it is not differential privacy. "
        "See what the attacks measured."
    )


def share_in_words(value: float) -> str:
    """Rounded up, as a limit is, and never to certainty: 74 %, 99.97 %, 50.3 %."""
    for digits in range(6):
        shown = math.ceil(round(value * 10 ** (2 + digits), 6)) / 10**digits
        if not digits and shown == 51:
            continue
        if shown < 99 or (digits and shown < 100):
            return f"{shown:.{digits}f} %"
    return "as good as 100 %"


# Budgets that are useless or dangerous, in words: functions of public numbers alone (ε, δ, k, n, the method).

LARGE = 10  # ε above it protects nobody in practice
_OFFERED = 3  # no larger ε is recommended
_USEFUL = Fraction(1, 10)  # noise a tenth as wide as the domain leaves something to read
_CONVERTED = 1000  # no larger ε is converted to another δ: noise is no matter there
_NAMES = 4  # of attributes in one sentence


def release_warnings(
    method: Method,
    cost: Fraction,
    shares: Mapping[str, Fraction],
    labelled: frozenset[str],
    records: int,
    k: int,
    promise: Statement,
) -> tuple[str, ...]:
    """What to think of before releasing rows. `cost` is the whole ε, `shares` each attribute's part of it.

    `promise` may state more than the ε of the noise (`idp-ls`: 2ε). With a δ, shares are parts of its ρ, pro rata.
    """
    if not method.adds_noise:
        return ()

    @cache
    def reach(*, labels: bool, size: int) -> Fraction | None:
        return (method.categorical if labels else method.numeric).reach(records, size)

    def width(name: str, size: int, rho: str | float | None = promise.rho) -> Fraction | None:
        """Width of the noise in units of the domain. None where it follows the spread inside groups, which is not public."""
        if rho is not None:  # σ = 1/√ρ on a count
            of_a_row = Fraction(1 / math.sqrt(Fraction(rho) * shares[name] / cost)) / records
            return promise.rows_per_unit * of_a_row
        alone = reach(labels=name in labelled, size=size)
        return None if alone is None else promise.rows_per_unit * alone / shares[name]

    def larger(times: Fraction) -> Fraction:
        """The ε that makes noise so many times smaller."""
        if promise.rho is None or promise.delta is None:
            return cost * times
        rho = float(Fraction(promise.rho) * times**2)
        return Fraction(_loss_at(rho, float(Fraction(promise.delta))))

    found = []
    drowned = {name: size for name in shares if (size := width(name, k)) is not None and size >= 1}
    if drowned:
        worst = max(drowned, key=lambda name: drowned[name])
        help_ = []
        enough_epsilon = larger(drowned[worst] / _USEFUL)
        if enough_epsilon <= _OFFERED:
            help_.append(f"ε = {number(enough_epsilon)}")
        if method.fixed_k is None:
            # The noise falls as k rises.
            enough = [size for size in _sizes(k, records // 2) if (width(worst, size) or 0) <= _USEFUL]
            help_ += [f"k = {enough[0]:,}"] if enough else []
        if promise.delta is not None:
            usual = 10.0 ** -(len(str(records)) + 2)  # well below one over the number of records
            if usual > Fraction(promise.delta) and cost < _CONVERTED:
                wider = width(worst, k, rho_for(float(cost), usual))
                help_ += [f"δ = {number(usual, 12)}"] if wider is not None and wider <= _USEFUL else []
            pure = width(worst, k, None)
            help_ += ["leaving δ out"] if pure is not None and pure <= _USEFUL else []
        ratio = f"the noise is {number(drowned[worst])} times as wide as the domain"
        if method.whole_table is not None:
            ratio = (
                f"the noise on a count is {number(drowned[worst])} times as large as the number of records"
            )
        found.append(_too_small(cost, list(drowned), ratio, records, help_, grouped=method.fixed_k is None))
    # Such noise is about Δ/(nε) where values are spread evenly.
    hidden = [name for name, share in shares.items() if width(name, k) is None and share * records <= 1]
    if hidden:
        found.append(
            f"ε = {number(cost)} is so small here that hardly any value of {_named(hidden)} survives: where values are "
            "spread evenly the noise is as wide as the domain or wider, and only equal values may get none; choose an ε "
            "near 1"
        )
    # Values that are proved of the release, or of what stands beside it; one that is withheld is not a number.
    proved = [cost]
    for statement in (promise, *promise.beside):
        if Status(statement.status).proof and statement.model != "k-anonymity":
            with suppress(ValueError):
                proved.append(Fraction(statement.value))
    if max(proved) > LARGE:
        found.append(too_large(max(proved)))
    if (
        promise.delta is not None and Fraction(promise.delta) * records >= 1
    ):  # only where n is private: else refused
        found.append(
            f"δ = {number(Fraction(promise.delta))} is not below one over the number of records: such a δ permits "
            "publishing a random person's record in full; choose one far below it"
        )
    return tuple(found)


def too_large(epsilon: Fraction) -> str:
    sure = share_in_words(most_sure(float(epsilon)))
    return (
        f"ε = {number(epsilon)} is above {LARGE}: even where it is proved, someone 50 % sure before may be {sure} sure "
        "after, so it protects hardly anybody; choose an ε near 1"
    )


def _too_small(
    cost: Fraction, names: list[str], ratio: str, records: int, help_: list[str], *, grouped: bool
) -> str:
    """Noise as wide as the domain, or wider: what ε, k or δ would leave something to read?"""
    opening, nothing = f"ε = {number(cost)} is so small here that", f"no ε up to {_OFFERED}"
    if cost > _OFFERED:
        opening, nothing = f"Even at ε = {number(cost)}", "no reasonable ε"
    if grouped:
        nothing = "no k" if cost > _OFFERED else f"{nothing} and no k"
    advice = (
        f"{' or '.join(help_)} would make it about a tenth"
        if help_
        else f"{nothing} would make it a tenth with {records:,} records: protect fewer attributes, or publish statistics "
        "instead"
    )
    return f"{opening} no single value of {_named(names)} survives: {ratio}; {advice}"


def _named(names: list[str]) -> str:
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return ", ".join(names[:_NAMES]) + more


def _sizes(k: int, most: int) -> list[int]:
    """k, and round numbers above it."""
    rounded = (digit * 10**power for power in range(19) for digit in (1, 2, 5))
    return [size for size in rounded if k < size <= most]
