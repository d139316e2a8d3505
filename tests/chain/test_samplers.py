"""The interface of the samplers: shapes, zero scales, streams, seeds, exact scales and permutations."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.chain.noise.sampler import Sampler, laplace_scales, public_grid, shuffled_order
from coterie.chain.noise.secure import KeyedSampler, SecureSampler
from coterie.chain.noise.seeded import SeededSampler, unit_laplace
from coterie.chain.partition.clustering import ClusterShape
from coterie.errors import ParameterError

SAMPLERS = [SecureSampler(), SeededSampler(5)]
by_name = pytest.mark.parametrize("sampler", SAMPLERS, ids=["secure", "seeded"])


@by_name
def test_a_scale_of_zero_leaves_the_centre_as_it_is(sampler: Sampler) -> None:
    centres = np.array([1.5, -2.25, 0.0, 1e300])
    scales = np.array([0.0, 1.0, 0.0, 0.0])
    released = sampler.laplace(centres, scales, "x")
    assert released[[0, 2, 3]].tolist() == centres[[0, 2, 3]].tolist()
    assert released[1] != centres[1]
    assert centres.tolist() == [1.5, -2.25, 0.0, 1e300]  # the argument is not touched


@by_name
def test_the_sampler_says_whether_it_is_private(sampler: Sampler) -> None:
    assert sampler.private is isinstance(sampler, SecureSampler)
    assert sampler.name


def test_keys_come_from_the_operating_system() -> None:
    """In a process of its own, because the tests give themselves keys that do not change from run to run."""
    program = (
        "import os; asked = []; real = os.urandom\n"
        "os.urandom = lambda n: asked.append(n) or real(n)\n"
        "import numpy as np; from coterie.chain.noise.secure import SecureSampler\n"
        "found = SecureSampler().laplace(np.zeros(4), np.ones(4), 'x')\n"
        "assert 32 in asked, asked; print(*found)"
    )
    runs = {
        subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout for _ in "12"
    }
    assert len(runs) == 2


def test_secure_noise_never_repeats() -> None:
    centres, scales = np.zeros(50), np.ones(50)
    first = SecureSampler().laplace(centres, scales, "x")
    second = SecureSampler().laplace(centres, scales, "x")
    assert len({*first, *second}) == 100


def test_secure_noise_goes_to_the_right_clusters() -> None:
    """Clusters are grouped by scale for speed: every one must get its own centre back."""
    centres = np.arange(300) * 1e6
    scales = np.tile([1.0, 10.0, 0.0], 100)
    released = SecureSampler().laplace(centres, scales, "x")
    assert np.abs(released - centres).max() < 1e3  # P(|noise| > 100 b) is 4e-44
    assert len(set(released)) == 300


@given(st.integers(0, 2**70), st.text(max_size=5), st.integers(1, 20), st.integers(1, 20))
def test_seeded_noise_is_a_pure_function_of_seed_stream_and_cluster(
    seed: int, stream: str, few: int, more: int
) -> None:
    sampler = SeededSampler(seed)
    short = sampler.laplace(np.zeros(few), np.ones(few), stream)
    long = SeededSampler(seed).laplace(np.zeros(few + more), np.ones(few + more), stream)
    assert short.tolist() == long[:few].tolist()
    # A cluster's scale does not move its neighbours' draws.
    scaled = sampler.laplace(np.zeros(few), np.arange(few, dtype=float), stream)
    assert scaled.tolist() == (short * np.arange(few)).tolist()


@given(st.integers(0, 1000), st.text(max_size=4), st.text(max_size=4))
def test_seeds_and_streams_do_not_collide(seed: int, one: str, other: str) -> None:
    first = SeededSampler(seed).uniform_words(2, one).tolist()
    assert first != SeededSampler(seed + 1).uniform_words(2, one).tolist()
    if one != other:
        assert first != SeededSampler(seed).uniform_words(2, other).tolist()


@given(
    st.floats(1e-200, 1e200),
    st.fractions(min_value=Fraction(1, 10**9), max_value=10**9),
)
def test_rounding_a_scale_can_only_add_noise(sensitivity: float, epsilon: Fraction) -> None:
    scale = laplace_scales(np.array([sensitivity]), epsilon)[0]
    exact = Fraction(sensitivity) / epsilon
    assert Fraction(float(scale)) >= exact
    assert Fraction(float(scale)) <= exact * (1 + Fraction(1, 2**48))


def test_infinite_noise_is_refused() -> None:
    for epsilon in (Fraction(1, 10**300), Fraction(1, 10**400)):
        with pytest.raises(ParameterError, match="infinite"):
            laplace_scales(np.array([1e10, 0.0]), epsilon)


@by_name
def test_the_order_is_a_permutation(sampler: Sampler) -> None:
    assert sorted(shuffled_order(sampler, 1000)) == list(range(1000))
    assert shuffled_order(sampler, 0).tolist() == []
    assert shuffled_order(sampler, 1).tolist() == [0]


@pytest.mark.parametrize("bits", [64, 24, 13])
def test_the_order_is_that_of_the_words(bits: int) -> None:
    """Also where words differ in their low bits alone, which a place covers while they are sorted."""
    words = np.random.default_rng(bits).permutation(8192).astype(np.uint64) << np.uint64(bits - 13)

    class Given(SeededSampler):
        def uniform_words(self, count: int, stream: str) -> np.ndarray:
            return words[:count]

    for count in (2, 3, 1000, 8192):
        assert np.array_equal(shuffled_order(Given(0), count), np.argsort(words[:count], kind="stable"))


def test_equal_words_are_drawn_anew() -> None:
    """Sorting equal words stably would favour the original order."""

    class Stuttering(SeededSampler):
        def uniform_words(self, count: int, stream: str) -> np.ndarray:
            drawn.append(count)
            return np.array([3, 1, 1 if len(drawn) == 1 else 2], dtype=np.uint64)

    drawn: list[int] = []
    assert shuffled_order(Stuttering(0), 3).tolist() == [1, 2, 0]
    assert drawn == [3, 3]


def test_the_first_and_the_last_word_give_finite_noise() -> None:
    """The middle of the last of 2^53 cells is no double: rounded to 1, its logarithm would be infinite."""
    ends = unit_laplace(np.array([0, 2**64 - 1], dtype=np.uint64))
    assert ends[0] == -ends[1]
    assert 36 < abs(ends[0]) < 37  # 53 ln 2


@pytest.mark.parametrize("domain", [(0.0, 1.0), (-1e300, 1e300), (5e-324, 1e-300), (-3.0, 1e12)])
def test_one_scale_for_all_draws_the_same_bits_as_a_list_of_it(domain: tuple[float, float]) -> None:
    """The quick way takes the same draws and rounds as the general one does; far away it leaves the work to it."""
    import numba  # noqa: F401  (the quick way is for processes that have the compiler)

    low, high = domain
    centres = np.random.Generator(np.random.PCG64(1)).uniform(0, 1, 40_000) * (high / 2 - low / 2) * 2 + low
    centres[:4] = low, high, 0.0, -0.0
    for epsilon in (Fraction(1, 1000), Fraction(7)):
        grid = public_grid(low, high, epsilon, ClusterShape(len(centres), len(centres), 1, 1))
        one = np.broadcast_to(np.float64(min(high / 2 - low / 2, 1e299)), len(centres))
        sampler = KeyedSampler(bytes(range(32)), first=5)
        scales = laplace_scales(one, epsilon)
        assert scales.tolist() == laplace_scales(one.copy(), epsilon).tolist()
        quick = sampler.laplace(centres, scales, "x", grid)
        assert quick.tolist() == sampler.laplace(centres, scales.copy(), "x", grid).tolist()
