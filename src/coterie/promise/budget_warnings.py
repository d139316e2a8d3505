"""Budgets that are useless or dangerous, in words: functions of public numbers alone (ε, δ, k, n, the method)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction

from coterie.methods.guarantee import Statement, Status
from coterie.methods.recipe import Method
from coterie.promise.posterior import most_sure, share_in_words

LARGE = 10  # ε above it protects nobody in practice
_OFFERED = 3  # no larger ε is recommended
_USEFUL = Fraction(1, 10)  # noise a tenth as wide as the domain leaves something to read
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

    `promise` may state more than the ε of the noise (`idp-ls`: 2ε).
    """
    if not method.adds_noise:
        return ()
    found = (
        too_small(method, cost, shares, labelled, records, k),
        follows_spread(method, cost, shares, labelled, records, k),
        too_large(max([cost, *_proved(promise)])),
    )
    return tuple(warning for warning in found if warning)


def _proved(promise: Statement) -> list[Fraction]:
    """The values that are proved of the release, or of what stands beside it; one that is withheld is not a number."""
    values = []
    for statement in (promise, *promise.beside):
        if Status(statement.status).proof and statement.model != "k-anonymity":
            with suppress(ValueError):
                values.append(Fraction(statement.value))
    return values


def too_large(epsilon: Fraction) -> str | None:
    if epsilon <= LARGE:
        return None
    sure = share_in_words(most_sure(float(epsilon)))
    return (
        f"ε = {_short(epsilon)} is above {LARGE}: even where it is proved, someone 50 % sure before may be {sure} sure "
        "after, so it protects hardly anybody; choose an ε near 1"
    )


def too_small(
    method: Method,
    cost: Fraction,
    shares: Mapping[str, Fraction],
    labelled: frozenset[str],
    records: int,
    k: int,
) -> str | None:
    """Noise as wide as the domain, or wider: what ε or k would leave something to read?"""

    def widths(name: str, size: int) -> Fraction:
        reach = (method.categorical if name in labelled else method.numeric).reach(records, size)
        return Fraction(0) if reach is None else reach / shares[name]

    drowned = [name for name in shares if widths(name, k) >= 1]
    if not drowned:
        return None
    worst = max(drowned, key=lambda name: widths(name, k))
    ratio = widths(worst, k)
    help_ = []
    if cost * ratio / _USEFUL <= _OFFERED:
        help_.append(f"ε = {_short(cost * ratio / _USEFUL)}")
    if method.fixed_k is None:
        # The noise falls as k rises.
        enough = [size for size in _sizes(k, records // 2) if widths(worst, size) <= _USEFUL]
        help_ += [f"k = {enough[0]:,}"] if enough else []
    opening, nothing = f"ε = {_short(cost)} is so small here that", f"no ε up to {_OFFERED} and no k"
    if cost > _OFFERED:
        opening, nothing = f"Even at ε = {_short(cost)}", "no k"
    advice = (
        f"{' or '.join(help_)} would make it about a tenth"
        if help_
        else f"{nothing} would make it a tenth with {records:,} records: protect fewer attributes, or publish statistics "
        "instead"
    )
    return (
        f"{opening} no single value of {_named(drowned)} survives: the noise is {_short(ratio)} times as wide as the "
        f"domain; {advice}"
    )


def follows_spread(
    method: Method,
    cost: Fraction,
    shares: Mapping[str, Fraction],
    labelled: frozenset[str],
    records: int,
    k: int,
) -> str | None:
    """Noise for the spread inside groups has no public width: it is about Δ/(nε) where values are spread evenly."""
    drowned = [
        name
        for name, share in shares.items()
        if (method.categorical if name in labelled else method.numeric).reach(records, k) is None
        and share * records <= 1
    ]
    if not drowned:
        return None
    return (
        f"ε = {_short(cost)} is so small here that hardly any value of {_named(drowned)} survives: where values are spread "
        "evenly the noise is as wide as the domain or wider, and only equal values may get none; choose an ε near 1"
    )


def _named(names: list[str]) -> str:
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return ", ".join(names[:_NAMES]) + more


def _sizes(k: int, most: int) -> list[int]:
    """k, and round numbers above it."""
    rounded = (digit * 10**power for power in range(19) for digit in (1, 2, 5))
    return [size for size in rounded if k < size <= most]


def _short(value: Fraction) -> str:
    return f"{float(value):,.0f}" if 100 <= value < 10**15 else f"{float(value):.3g}"
