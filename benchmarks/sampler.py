"""The exact secure sampler against NumPy's Laplace and OpenDP's, and a secure release against a seeded one: CPU time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from time import process_time

import numpy as np
import pyarrow as pa

from coterie import protect
from coterie.chain.noise.discrete_laplace import discrete_laplace
from coterie.chain.noise.keystream import Keystream
from coterie.schema.attributes import Attribute, AttributeType, Domain, Role, Schema

DRAWS = 2_000_000
ROUNDS = 5


def run() -> Iterator[str]:
    steps = np.full(DRAWS, 2**45 + 12345)
    numpy = np.random.Generator(np.random.PCG64(1))
    ours = lambda: discrete_laplace(steps, Keystream(os.urandom(32)))  # noqa: E731
    ours()
    ratios, rates = [], []
    for _ in range(ROUNDS):
        one, other = _seconds(ours), _seconds(lambda: numpy.laplace(size=DRAWS))
        ratios.append(other / one)
        rates.append(DRAWS / one / 1e6)
    opendp = _opendp_rate()
    yield "| | measured | limit |"
    yield "|---|---|---|"
    yield f"| exact secure draws, million per CPU second | {np.median(rates):.1f} | |"
    yield f"| their rate over NumPy's | {np.median(ratios):.2f} | at least 0.2 |"
    yield f"| their rate over OpenDP's | {np.median(rates) * 1e6 / opendp:.0f} | at least 100 |"
    for records in (1_000_000, 10_000_000):
        seeded, secure = _release(records)
        over = secure / seeded
        yield f"| CPU time of a secure release over a seeded one, {records:,} × 8, k = 10 | {over:.2f} | at most 2 |"


def _release(records: int) -> tuple[float, float]:
    rng = np.random.Generator(np.random.PCG64(2))
    names = [f"a{number}" for number in range(8)]
    table = pa.table({name: rng.random(records) for name in names})
    schema = Schema(
        attributes=[
            Attribute(
                name=name, role=Role.PROTECT, type=AttributeType.CONTINUOUS, domain=Domain(lower=0, upper=1)
            )
            for name in names
        ]
    )
    options = {"method": "dp-ir", "epsilon": 8, "k": 10}
    times: dict[int | None, list[float]] = {1: [], None: []}
    for _ in range(3):
        for seed, taken in times.items():
            taken.append(_seconds(lambda seed=seed: protect(table, schema, seed=seed, **options)))  # type: ignore[misc]
    return min(times[1]), min(times[None])


def _opendp_rate() -> float:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    measure = dp.m.make_laplace(domain, dp.l1_distance(T=float), scale=1.0)
    centres = [0.0] * 20_000
    measure(centres)
    return len(centres) / _seconds(lambda: measure(centres))


def _seconds(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start
