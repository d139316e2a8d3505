"""docs/guarantees/smooth-sensitivity: its three statements about the list of sorted means, by brute force."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

TOP, K = 6, 2
tables = st.lists(st.integers(0, TOP), min_size=4, max_size=6)


def means(values: list[int]) -> list[Fraction]:
    ordered = sorted(values)
    count = len(values) // K
    ends = [*range(K, K * count, K), len(values)]
    return [
        Fraction(sum(ordered[start:end]), end - start)
        for start, end in zip([0, *ends[:-1]], ends, strict=True)
    ]


def neighbours(values: list[int]) -> list[list[int]]:
    return [
        [*values[:place], new, *values[place + 1 :]] for place in range(len(values)) for new in range(TOP + 1)
    ]


def local_sensitivity(values: list[int]) -> Fraction:
    """In weighted sums |C_j|·|Δc_j|, so that a larger last group does not blur the formula; Δ is then TOP."""
    sizes = [K] * (len(values) // K)
    sizes[-1] += len(values) % K
    here = means(values)
    return max(
        sum((size * abs(a - b) for a, b, size in zip(here, means(other), sizes, strict=True)), Fraction(0))
        for other in neighbours(values)
    )


@given(tables)
def test_the_local_sensitivity_is_the_longer_way_to_a_bound(values: list[int]) -> None:
    found = local_sensitivity(values)
    assert found == max(TOP - min(values), max(values))
    assert found >= Fraction(TOP, 2)  # so noise of 2S/ε is never below that of Δ/(kε)


@given(tables)
@settings(max_examples=15)
def test_one_replacement_away_it_is_the_global_one(values: list[int]) -> None:
    assert max(local_sensitivity(other) for other in neighbours(values)) == TOP
