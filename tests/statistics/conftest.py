"""How much a search works, counted: seconds depend on the machine, and `make test-slow` looks at those."""

from __future__ import annotations

from typing import Any

import pytest

from coterie.statistics.prediction.metric import Metric


@pytest.fixture
def evaluations(monkeypatch: pytest.MonkeyPatch) -> list[Metric]:
    """Grows by one with every allocation whose errors are computed."""
    counted: list[Metric] = []
    evaluate = Metric._evaluate

    def counting(self: Metric, *arguments: Any, **options: Any) -> Any:
        counted.append(self)
        return evaluate(self, *arguments, **options)

    monkeypatch.setattr(Metric, "_evaluate", counting)
    return counted
