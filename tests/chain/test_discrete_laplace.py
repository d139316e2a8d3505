"""The exact sampler: its law (against the formula and against OpenDP, both ways), its grid, its tape, its extremes.

Chi-square tests use fixed keys, so they cannot flicker; ALPHA is the error rate that the keys were not chosen for. POWER
says how certainly a wrong scale must be found out.
"""

from __future__ import annotations

import itertools
import math
import sys
from fractions import Fraction
from typing import Any

import numba  # noqa: F401 (until it is loaded, few draws are made one by one)
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from coterie import protect
from coterie.chain.noise import discrete_laplace
from coterie.chain.noise.discrete_laplace import draw_by_digits
from coterie.chain.noise.exponential import scaled_exp
from coterie.chain.noise.keystream import Keystream
from coterie.chain.noise.sampler import (
    SMALLEST_PART,
    NoiseGrid,
    grids_of_public_scales,
    public_grid,
    whole_grid,
)
from coterie.chain.noise.secure import KeyedSampler, SecureSampler
from coterie.chain.partition.clustering import ClusterShape
from coterie.errors import ParameterError

ALPHA = 1e-4
POWER = 1e-9
KEY = bytes(range(32))
DRAWS = 1_000_000


def draw(scale: int, count: int = DRAWS, key: bytes = KEY) -> NDArray[np.int64]:
    return discrete_laplace.discrete_laplace(np.full(count, scale), Keystream(key))


def tail(y: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Pr(Y ≥ y) of the discrete Laplace over the whole numbers, from its geometric series."""
    r = math.exp(-1 / scale)
    return np.where(y > 0, np.exp(-np.abs(y) / scale), 1 + r - np.exp(-np.abs(1 - y) / scale)) / (1 + r)


def p_value(noise: NDArray[np.int64], scale: float, expected_scale: float) -> float:
    """Chi-square over at most 200 cells of whole numbers, each expecting many draws."""
    cuts = np.unique(np.ceil(stats.laplace.ppf(np.linspace(0.005, 0.995, 199)) * scale))
    counts = np.histogram(noise, [-np.inf, *cuts, np.inf])[0]
    above = np.concatenate([[1.0], tail(cuts, expected_scale), [0.0]])
    expected = -np.diff(above) * len(noise)
    return float(stats.chisquare(counts, expected * (counts.sum() / expected.sum())).pvalue)


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [1, 2, 7, 1000, 2**30 + 1, 2**52 - 1])
def test_the_law_is_the_formula_and_no_wrong_scale_passes(scale: int) -> None:
    noise = draw(scale)
    assert p_value(noise, scale, scale) > ALPHA
    for off in (0.7, 0.98, 1.02, 1.3):
        assert p_value(noise, scale, scale * off) < POWER


@pytest.mark.statistical
def test_the_law_holds_within_a_cell_of_the_table_too() -> None:
    """At scale 512 a cell holds an even size and the odd one above it; without von Neumann's run both were as likely."""
    count = 1 << 25
    odd = sum(np.count_nonzero(draw(512, count >> 3, bytes([part] * 32)) & 1) for part in range(8))
    r = math.exp(-1 / 512)  # half of the zeros are drawn anew, so all else comes 2/(1 + r) times as often
    off = [abs(odd / count - share) * 2 * math.sqrt(count) for share in (2 * r / (1 + r) ** 2, 1 / (1 + r))]
    assert off[0] < 3 < 4 < off[1]
    low = draw(2**52 - 1, 1 << 18)  # digits far behind those that the table knows
    assert stats.chisquare(np.bincount(np.abs(low) & 255, minlength=256)).pvalue > ALPHA


@pytest.mark.statistical
def test_opendp_draws_from_the_same_law_and_each_finds_the_others_wrong_scale() -> None:
    """Two samples: ours and OpenDP's integer Laplace of the same scale. A scale 30 % off is rejected either way."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    scale, count = 12, 60_000
    domain, metric = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)

    def opendp(by: float) -> NDArray[np.int64]:
        return np.array(dp.m.make_laplace(domain, metric, scale=by)([0] * count))

    def same(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
        cuts = np.unique(np.ceil(stats.laplace.ppf(np.linspace(0.02, 0.98, 49)) * scale)) - 0.5
        cells = [np.histogram(noise, [-np.inf, *cuts, np.inf])[0] for noise in (one, other)]
        return float(stats.chi2_contingency(np.array(cells)).pvalue)

    ours = draw(scale, count)
    assert (
        same(ours, opendp(scale)) > 1e-9
    )  # OpenDP takes no seed: one false alarm in a thousand million runs
    for off in (0.7, 1.3):
        assert same(ours, opendp(scale * off)) < POWER
        assert same(draw(round(scale * off), count), opendp(scale)) < POWER


@pytest.mark.statistical
def test_draws_of_one_key_and_of_several_are_independent() -> None:
    one, other = draw(100, 200_000), draw(100, 200_000, key=bytes(32))
    for first, second in ((one[:-1], one[1:]), (one, other), (np.abs(one[:-1]), np.abs(one[1:]))):
        cells = np.histogram2d(first, second, bins=[[-9e9, -70, 0, 70, 9e9]] * 2)[0]
        cells = cells[cells.sum(axis=1) > 0][:, cells.sum(axis=0) > 0]
        assert stats.chi2_contingency(cells).pvalue > ALPHA


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 2**56), st.binary(min_size=32, max_size=32))
def test_the_compiled_loop_and_whole_number_arithmetic_draw_the_same(scale: int, key: bytes) -> None:
    source = Keystream(key)
    quick = discrete_laplace.discrete_laplace(np.full(50, scale), source)
    slow = [
        discrete_laplace._by_digits(number, scale, source, source.range(0, number, 1).view("<u4").tolist())
        for number in range(50)
    ]
    assert quick.tolist() == slow


def test_the_table_holds_the_first_digits_of_every_exponential() -> None:
    cuts, guide = discrete_laplace._table()
    exact = [scaled_exp(Fraction(cell, 256), 160) for cell in range(2049)]
    assert cuts.tolist() == [value >> 129 for value in exact] + [0]
    # Off by less than 2, which the digits behind the first cannot hide.
    assert all(value % 2**129 > 4 and value % 2**129 < 2**129 - 4 for value in exact[1:])
    first, last = np.arange(4096) << 19, (np.arange(4096) + 1 << 19) - 1
    assert (cuts[guide] > last).all()  # all such U have reached that cell …
    assert (cuts[guide + 1] <= last).all()  # … and not all the next one
    assert (cuts[guide] > first).all()


def test_few_draws_are_the_same_before_the_compiler_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    scales = np.arange(2_000) % 50 * 2**40
    compiled = discrete_laplace.discrete_laplace(scales, Keystream(KEY), first=7)
    monkeypatch.delitem(sys.modules, "numba")
    monkeypatch.setattr(discrete_laplace, "_draw", None)
    monkeypatch.setattr(discrete_laplace, "_drawn_so_far", discrete_laplace._FEW - 2_000)
    assert discrete_laplace.discrete_laplace(scales, Keystream(KEY), first=7).tolist() == compiled.tolist()
    assert discrete_laplace.discrete_laplace(scales[:0], Keystream(KEY)).dtype == np.int64
    with pytest.raises(TypeError):  # now there have been many: to the compiled loop, which is not here
        discrete_laplace.discrete_laplace(np.array([1]), Keystream(KEY))


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 60), st.integers(1, 60), st.integers(1, 2**53))
def test_a_draw_depends_on_its_own_number_alone(first: int, count: int, scale: int) -> None:
    whole = discrete_laplace.discrete_laplace(np.full(130, scale), Keystream(KEY))
    piece = discrete_laplace.discrete_laplace(np.full(count, scale), Keystream(KEY), first)
    assert piece.tolist() == whole[first : first + count].tolist()


def test_pieces_and_short_tapes_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    scales = np.arange(3000) % 50
    whole = discrete_laplace.discrete_laplace(scales, Keystream(KEY))
    assert (whole[scales == 0] == 0).all()
    monkeypatch.setattr(discrete_laplace, "_PIECE", 7)
    assert discrete_laplace.discrete_laplace(scales, Keystream(KEY)).tolist() == whole.tolist()


def _state(words: list[int], scale: int) -> tuple[int, int]:
    tape = np.array(words, dtype=np.uint32)
    noise, undone, why = np.empty(1, np.int64), np.empty(1, np.int64), np.empty(1, np.int8)
    table = discrete_laplace._table()
    left = discrete_laplace._draw_compiled(tape, np.array([scale]), *table, noise, undone, why)
    return (int(why[0]) if left else discrete_laplace.DONE), int(noise[0])


def _word(cell: int, negative: int = 0) -> int:
    """The word of a U that lies in the middle of a cell."""
    upper, lower = discrete_laplace._table()[0][[cell, cell + 1]].tolist()
    return (upper + lower) // 2 << 1 | negative


HALF, MOST = 2**31, 2**32 - 1


@pytest.mark.parametrize(
    ("words", "further", "scale", "drawn"),
    [
        # U lies on the edge of cell 3 by its first 31 bits: 64 more say on which side.
        ([int(discrete_laplace._table()[0][3]) << 1, 0, 0, MOST], [0], 256, 3),
        ([int(discrete_laplace._table()[0][3]) << 1, 0, 0, MOST], [2**64 - 1], 256, 2),
        # r and u_2 tie. Further digits of u_2 above those of r: accepted. Below: u_3 is asked, and rejects or accepts.
        ([_word(5), 256, 0, 1, _word(7), 0, 0, MOST], [2**63], 256, 5),
        ([_word(5), 256, 2, 1, MOST, _word(7), 0, 0, MOST], [0], 256, 7),
        ([_word(5), 256, 2, 1, 0, MOST, 0, 0], [0], 256, 5),
        # The digits of r leave open whether t·r has reached the next whole number.
        ([_word(0), MOST // 3, MOST // 3, MOST], [2**64 - 1], 768, 1),
        ([_word(0), MOST // 3, MOST // 3, MOST], [0], 768, 0),
    ],
)
def test_further_digits_settle_what_the_first_leave_open(
    words: list[int], further: list[int], scale: int, drawn: int
) -> None:
    assert _state(words, scale)[0] == discrete_laplace.NEEDS_MORE_DIGITS
    assert draw_by_digits(iter(words), iter(further), scale) == drawn


@pytest.mark.parametrize(
    ("words", "scale", "drawn"),
    [
        ([_word(300), HALF, 0, MOST], 512, 601),  # 512·(300 + 1/2)/256
        ([_word(300, 1), HALF, 0, MOST], 512, -601),
        # r > u_2 < u_3: rejected, everything is drawn anew. r > u_2 > u_3 < u_4: accepted.
        ([_word(300, 1), HALF, 0, 5, 6, _word(2), HALF, 0, MOST], 512, 5),
        ([_word(300, 1), HALF, 0, 5, 4, 6, _word(2), HALF, 0, MOST], 512, -601),
        # Beyond the table: eight units more, of which the last word's sign counts.
        ([1, _word(300), HALF, 0, MOST], 512, 8 * 512 + 601),
        # A negative zero starts again, so that 0 is not twice as likely.
        ([_word(0, 1), 0, 0, MOST, _word(300, 1), HALF, 0, MOST], 512, -601),
        ([_word(0), 0, 0, MOST, _word(300, 1), HALF, 0, MOST], 512, 0),
    ],
)
def test_the_steps_of_a_draw(words: list[int], scale: int, drawn: int) -> None:
    assert _state(words, scale) == (discrete_laplace.DONE, drawn)
    assert draw_by_digits(iter(words), iter([]), scale) == drawn
    for end in range(len(words) - 1):  # words that are not reached do not matter; those that are, do
        state, early = _state(words[:end], scale)
        assert state == discrete_laplace.TAPE_TOO_SHORT or early == drawn


def test_a_draw_beyond_all_steps_is_cut() -> None:
    words = [0] * 9 + [_word(300), HALF, 0, MOST]
    assert _state(words, 2**56)[0] == discrete_laplace.NEEDS_MORE_DIGITS
    assert draw_by_digits(iter(words), iter([]), 2**56) == discrete_laplace.FARTHEST
    assert draw_by_digits(iter(words), iter([]), 512) == 72 * 512 + 601


domains = st.tuples(
    st.floats(-1e12, 1e12, allow_subnormal=False), st.floats(1e-9, 1e12, allow_subnormal=False)
).map(lambda pair: (pair[0], pair[0] + pair[1]))


@settings(deadline=None, max_examples=150)
@given(domains.filter(lambda d: d[0] < d[1]), st.integers(-12, 3), st.integers(1, 3000), st.integers(1, 5000))
def test_the_grid_keeps_the_promise_of_the_proof(
    domain: tuple[float, float], power: int, k: int, q: int
) -> None:
    """Worst case over the whole list, in exact arithmetic: sensitivity and rounding together lose at most ε."""
    lower, upper = domain
    epsilon = Fraction(10) ** power
    grid = public_grid(lower, upper, epsilon, ClusterShape.of(np.full(q, k)))
    step = Fraction(2) ** grid.exponent
    bound = max(abs(Fraction(lower)), abs(Fraction(upper)))
    if grid.blind:
        assert bound / step < Fraction(1, 2)  # every centre rounds to 0
        return
    assert bound / step <= 2**60
    width = Fraction(upper) - Fraction(lower)
    apart = step + 2 * (k + 8) * bound / 2**53
    for sensitivity in (width / k, width / (4 * k)):  # Δ/k, and the smallest that idp-ls can have beside it
        scale = sensitivity / epsilon + Fraction(grid.slack)
        total = width / k / (width / k / epsilon + Fraction(grid.slack)) + q * apart / scale
        assert total <= epsilon


def test_the_grid_depends_on_public_numbers_only(one_attribute: Any) -> None:
    """No floating-point leak: whatever the data, every released number is a multiple of the same power of two."""
    schema = one_attribute(0, 10)
    low, high = np.full(40, 1 / 3), np.full(40, 9.7)
    high[3:] = np.linspace(0, 3, 37) ** 2
    for method, k in (("dp-ir", 4), ("idp-ls", 4), ("laplace", None), ("idp", None)):
        grid = public_grid(0, 10, Fraction(2), ClusterShape.of(np.full(40 if k is None else 10, k or 1)))
        for values in (low, high):
            drawn = [
                np.array(protect({"x": values}, schema, method=method, epsilon=2, k=k).data["x"])
                for _ in range(20)
            ]
            steps = np.ldexp(np.concatenate(drawn), -grid.exponent)
            assert (steps == np.rint(steps)).all()
        # The test can fail: noise in doubles leaves the grid.
        leaky = np.array(protect({"x": low}, schema, method=method, epsilon=2, k=k, seed=1).data["x"])
        assert (np.ldexp(leaky, -grid.exponent) % 1 != 0).any()


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e-30, 1.0, 1e30, 1e300])
@pytest.mark.parametrize("centre", [0.0, 1.0, -1e-300, 1e17, 1e300])
def test_huge_and_tiny_scales_without_a_grid(scale: float, centre: float) -> None:
    count = 2000
    released = SecureSampler().laplace(np.full(count, centre), np.full(count, scale), "x")
    assert np.isfinite(released).all()
    spread = float(np.median(np.abs(released - centre)))
    # The median of |Laplace| is ln 2 scales; below the grid of doubles the rounding is all there is.
    smallest = max(np.spacing(abs(centre)), count * 2.0**-984)  # the slack at the end of the doubles
    assert abs(spread - math.log(2) * scale) < 0.2 * scale + smallest


@pytest.mark.parametrize("steps", [60, 61, 62])
@pytest.mark.parametrize("sign", [1, -1])
def test_no_cut_shows_where_a_centre_lies(steps: int, sign: int) -> None:
    """A cut at 2^61 steps once put half of the draws for 2^18, scale 2, on 2^18 exactly, and none for 2^18 + 1."""
    exponents, _ = grids_of_public_scales(np.array([2.0]))
    edge = sign * math.ldexp(1.0, steps + int(exponents[0]))
    for centre in (edge, edge + 1, edge - 1):
        released = KeyedSampler(KEY).laplace(np.full(400, centre), np.full(400, 2.0), "x")
        assert 0.35 < float(np.mean(released > centre)) < 0.65
        assert np.count_nonzero(released == edge) <= 1


@given(st.integers(0, 2**61), st.floats(1e-9, 1e300))
def test_whole_numbers_lie_on_their_grid_at_every_scale(farthest: int, scale: float) -> None:
    """So nothing is rounded, no ε is too small for the proof, and what can come out is the same for all of them."""
    grid = whole_grid(farthest, scale)
    if not grid.blind:
        assert grid.exponent <= 0
        assert grid.slack == 0
        assert math.ldexp(farthest, -grid.exponent) <= 2**60
        assert math.ldexp(scale, -grid.exponent) <= 2**55
    else:
        assert farthest > 2**60 or scale > 2**54


def test_a_scale_beyond_all_whole_numbers_publishes_noise_alone() -> None:
    grid = whole_grid(1000, 1e30)
    one, other = (
        KeyedSampler(KEY).laplace(np.full(50, c), np.full(50, 1e30), "x", grid) for c in (0.0, 1000.0)
    )
    assert one.tolist() == other.tolist()


@given(st.integers(1, 60), st.integers(0, 2**31), st.fractions(Fraction(1, 2**15), 8))
def test_the_slack_without_a_domain_pays_from_the_smallest_part_up(
    draws: int, seed: int, epsilon: Fraction
) -> None:
    """Σ (Δ_j + g_j)/(s_j + c_j) ≤ ε in exact arithmetic, for unequal scales; at a quarter of that ε it can fail."""
    generator = np.random.Generator(np.random.PCG64(seed))
    scales = np.ldexp(generator.uniform(0.5, 1, draws), generator.integers(-20, 20, draws))
    exponents, slack = grids_of_public_scales(scales)
    share = generator.dirichlet(np.ones(draws))
    parts = [Fraction(part) for part in share.tolist()]
    parts = [part / sum(parts) for part in parts]

    def loss(total: Fraction) -> Fraction:
        return sum(
            (total * part * Fraction(s) + Fraction(2) ** int(e)) / (Fraction(s) + Fraction(c))
            for part, s, e, c in zip(parts, scales.tolist(), exponents.tolist(), slack.tolist(), strict=True)
        )

    assert epsilon >= SMALLEST_PART
    assert loss(epsilon) <= epsilon
    tiny = SMALLEST_PART / 4
    assert loss(tiny) > tiny


def test_tiny_scales_on_a_coarse_grid_become_one_step() -> None:
    grid = NoiseGrid(exponent=-4, slack=0.0)
    released = KeyedSampler(KEY).laplace(np.zeros(100_000), np.full(100_000, 1e-9), "x", grid)
    assert p_value(np.ldexp(released, 4).astype(np.int64), 1, 1) > ALPHA


def test_scales_are_rounded_up() -> None:
    exponents, slack = grids_of_public_scales(np.array([1.0, 0.75, 1e-3]))
    assert exponents.tolist() == [-44, -45, -54]
    assert (slack == 3 * 2.0**16 * 2.0**exponents).all()
    grid = public_grid(0, 1, Fraction(1), ClusterShape(50, 10, 5, 5))
    assert grid.slack > 0
    assert Fraction(grid.slack) >= 4 * 10 * Fraction(2) ** grid.exponent


def test_an_epsilon_that_drowns_the_domain_publishes_noise_alone() -> None:
    grid = public_grid(0, 1, Fraction(1, 10**40), ClusterShape(3000, 1000, 3, 3))
    assert grid.blind
    sampler = KeyedSampler(KEY)
    one = sampler.laplace(np.zeros(50), np.full(50, 1e39), "x", grid)
    other = sampler.laplace(np.ones(50), np.full(50, 1e39), "x", grid)
    assert one.tolist() == other.tolist()
    assert sampler.laplace(np.ones(2), np.zeros(2), "x", grid).tolist() == [1, 1]


def test_noise_wider_than_its_grid_is_refused() -> None:
    with pytest.raises(ParameterError, match="wider than the grid"):
        KeyedSampler(KEY).laplace(np.zeros(1), np.array([1e30]), "x", NoiseGrid(exponent=-40, slack=0.0))


def test_keyed_draws_follow_key_stream_and_number_only() -> None:
    centres, scales, grid = (
        np.zeros(99),
        np.ones(99),
        public_grid(0, 1, Fraction(1), ClusterShape(297, 99, 3, 3)),
    )
    whole = KeyedSampler(KEY).laplace(centres, scales, "x", grid)
    parts = [KeyedSampler(KEY, first).laplace(centres[:33], scales[:33], "x", grid) for first in (0, 33, 66)]
    assert np.concatenate(parts).tolist() == whole.tolist()
    assert KeyedSampler(bytes(32)).laplace(centres, scales, "x", grid).tolist() != whole.tolist()
    assert KeyedSampler(KEY).laplace(centres, scales, "y", grid).tolist() != whole.tolist()
    words = KeyedSampler(KEY).uniform_words(99, "x")
    for first, count in itertools.product((0, 1, 2, 33), (0, 1, 2, 33)):
        piece = KeyedSampler(KEY, first).uniform_words(count, "x")
        assert piece.tolist() == words[first : first + count].tolist()


def test_the_key_shows_nowhere() -> None:
    assert "key=" not in repr(KeyedSampler(KEY)) + repr(Keystream(KEY))
