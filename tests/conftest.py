# ruff: noqa: E402 (the cache is set before anything imports Numba)
"""Fixtures that many tests share: small tables, their schemas, and the real data where they are at hand."""

from __future__ import annotations

import gc
import hashlib
import itertools
import os
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Numba looks only at a function's own file when it reuses compiled code, so an edit to a function that it calls would
# go unseen: give every state of the sources a cache of its own. Before anything imports Numba.
_SOURCES = sorted((Path(__file__).resolve().parents[1] / "src").rglob("*.py"))
_STATE = hashlib.sha256(b"".join(path.read_bytes() for path in _SOURCES)).hexdigest()[:16]
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).resolve().parents[1] / ".numba" / _STATE))

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from coterie import Attribute, Domain, Role, Schema
from coterie.auditing.attacks import Clock
from coterie.chain.noise import keystream
from coterie.chain.noise.secure import KeyedSampler, SecureSampler
from coterie.schema.attributes import AttributeType
from left_behind import _leaves_nothing_behind, _own_process, pytest_collection_modifyitems
from postgres import postgres_server, postgres_url

__all__ = [
    "_leaves_nothing_behind",
    "_own_process",
    "postgres_server",  # a real one
    "postgres_url",
    "pytest_collection_modifyitems",
]

ROOT = Path(__file__).resolve().parents[1]
FRESH = os.environ.get("COTERIE_FRESH_NOISE") == "1"  # noise and examples that no run has had


def pytest_collection_finish() -> None:
    """Half a million objects of modules and tests are here to stay: collections of garbage need not visit them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _own_state(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Releases are kept in the user's state folder: each test has one of its own."""
    place = tmp_path_factory.getbasetemp() / f"state-{secrets.token_hex(8)}"
    monkeypatch.setenv("XDG_STATE_HOME", str(place))


@pytest.fixture(autouse=True)
def _own_noise(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Secure noise of its own for every test, the same in every run: a release that was unlucky once in a hundred must
    not stop the work of people who changed nothing. COTERIE_FRESH_NOISE=1 brings the operating system's back."""
    if FRESH:
        return
    # Counted by stream: threads ask for the noise of a release's columns in any order.
    numbers: dict[str, Iterator[int]] = defaultdict(itertools.count)

    def key(stream: str = "") -> bytes:
        return hashlib.sha256(f"{request.node.nodeid} {stream} {next(numbers[stream])}".encode()).digest()

    def laplace(self: SecureSampler, centres: Any, scales: Any, stream: str, grid: Any = None) -> Any:
        return KeyedSampler(key(stream)).laplace(centres, scales, stream, grid)

    def uniform_words(self: SecureSampler, count: int, stream: str) -> Any:
        return KeyedSampler(key(stream)).uniform_words(count, stream)

    monkeypatch.setattr(keystream, "fresh_key", key)
    monkeypatch.setattr(SecureSampler, "laplace", laplace)
    monkeypatch.setattr(SecureSampler, "uniform_words", uniform_words)


# A property is judged by its answer, not by its time: the machine of a test run may be busy. Every run tries the same
# examples, so that what it finds is what was changed; `make test-slow` looks for new ones.
settings.register_profile(
    "coterie",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    derandomize=not FRESH,
)
settings.load_profile("coterie")
if not FRESH:
    # Hypothesis also tries the constants of the modules loaded so far: that depends on the tests that ran before.
    providers._get_local_constants = lambda: providers._local_constants

# An audit tries what its time allows: by a clock that stands still, or a busy machine would find less.
Clock.__init__.__defaults__ = (None, lambda: 0.0)  # type: ignore[misc]


def data_folder() -> Path | None:
    named = os.environ.get("COTERIE_DATA")
    for folder in [Path(named)] if named else [ROOT.parent / "shared" / "data"]:
        if folder.is_dir():
            return folder
    return None


def real_table(name: str) -> pa.Table:
    folder = data_folder()
    if folder is None or not (folder / name).is_file():
        pytest.skip(f"{name} is not here: set COTERIE_DATA to the folder that holds it")
    return pyarrow.csv.read_csv(folder / name)


@pytest.fixture(scope="session")
def census() -> pa.Table:
    """CASC Census, 1,080 × 13 (the data of Soria-Comas et al., Sánchez et al. 2016 and Sánchez et al. (univariate))."""
    return real_table("casc_census.csv")


@pytest.fixture(scope="session")
def insurance() -> pa.Table:
    return real_table("insurance.csv")


@pytest.fixture
def people() -> pa.Table:
    """Sixty-one invented people: an identifier, an integer, a skewed amount, and a column to keep."""
    draw = np.random.Generator(np.random.PCG64(7))
    return pa.table(
        {
            "name": [f"person {number}" for number in range(61)],
            "age": draw.integers(18, 90, 61),
            "income": np.round(draw.lognormal(10, 0.7, 61), 2),
            "region": [("north", "south", "east")[number % 3] for number in range(61)],
        }
    )


@pytest.fixture
def people_schema() -> Schema:
    return Schema(
        attributes=(
            Attribute(name="name", role=Role.IDENTIFIER),
            Attribute(
                name="age",
                type=AttributeType.INTEGER,
                role=Role.PROTECT,
                domain=Domain(lower=0, upper=120),
                unit="years",
            ),
            Attribute(name="income", role=Role.PROTECT, domain=Domain(lower=0, upper=500_000)),
            Attribute(name="region", role=Role.KEEP),
        )
    )


@pytest.fixture
def one_attribute() -> Callable[..., Schema]:
    """A schema of one protected attribute `x` over [lower, upper]."""

    def make(lower: float = 0, upper: float = 1, **entries: object) -> Schema:
        attribute = Attribute(name="x", role=Role.PROTECT, domain=Domain(lower=lower, upper=upper), **entries)
        return Schema(attributes=(attribute,))

    return make
