from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from coterie.promise.loss import Loss
from coterie.publication.ledger import Ledger, Purpose


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger in which the population 'patients' may spend ε = 10 in all."""
    ledger = tmp_path / "ledger.sqlite"
    Ledger.add_population(ledger, "patients", "10")
    return ledger


@pytest.fixture
def purpose(tmp_path: Path) -> Callable[..., Purpose]:
    def make(epsilon: str | Fraction = "1", population: str = "patients", target: str = "") -> Purpose:
        loss = Loss.pure(Fraction(epsilon))
        return Purpose(population, loss, "laplace", "proved", target or str(tmp_path / "out.csv"))

    return make
