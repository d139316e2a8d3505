"""The tables of `python -m benchmarks rows`: what is in them, and what is declared public about them.

Bounds and labels are the same for every method. Tables marked `tuned` were looked at while the rules of `dp-synthetic` were
chosen. Of the others, the large Adult shares its source with one that was; star98 (without its products of columns) and the
wine cultivars were measured once, when the rules stood.
Statsmodels' tables are read in an environment of its own, once, and kept as CSV files.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.peers.environment import cache_folder, python_of
from coterie.papers.data import load

FEW = 32  # whole numbers with at most so many possible values are counted one by one, by the peers too


@dataclass(frozen=True)
class Public:
    """What everybody may know about one column: labels, or bounds and the step between values."""

    labels: tuple[str, ...] | None = None
    lower: float = 0.0
    upper: float = 0.0
    whole: bool = False

    @property
    def few(self) -> bool:
        return self.labels is None and self.whole and self.upper - self.lower < FEW


@dataclass(frozen=True)
class BenchmarkTable:
    """Numbers as doubles, labels as codes; NaN and -1 are missing."""

    name: str
    columns: dict[str, np.ndarray]
    public: dict[str, Public]
    target: str
    above: float  # the class to predict: target > above
    tuned: bool

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())))


def _statsmodels(name: str) -> pd.DataFrame:
    folder = cache_folder() / "tables"
    file = folder / f"{name}.csv"
    if not file.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        python = python_of("statsmodels", ("statsmodels>=0.14",))
        code = f"import statsmodels.api as s; s.datasets.{name}.load_pandas().data.to_csv({str(file)!r}, index=False)"
        subprocess.run([str(python), "-c", code], check=True, capture_output=True)
    return pd.read_csv(file)


def _adult(rows: int | None) -> pd.DataFrame:
    parts = [_public(f"adult-{part}") for part in ("train", "test")]
    whole = pd.concat(parts, ignore_index=True).replace("?", np.nan)
    whole["income"] = whole["income"].str.rstrip(".")
    return whole if rows is None else whole.sample(rows, random_state=1).reset_index(drop=True)


def _sklearn(name: str) -> pd.DataFrame:
    from sklearn import datasets

    frame = getattr(datasets, f"load_{name}")(as_frame=True).frame
    if name == "digits":  # the sixteen pixels in the middle
        kept = [f"pixel_{row}_{column}" for row in range(2, 6) for column in range(2, 6)]
        frame = frame[[*kept, "target"]]
    return frame


def _public(name: str) -> pd.DataFrame:
    return load(name).to_pandas()


_SOURCES: dict[str, tuple[Callable[[], pd.DataFrame], str, float, bool]] = {
    "census": (lambda: _public("census"), "FEDTAX", 5400, True),
    "white wine": (lambda: _public("wine-white"), "quality", 5.5, True),
    "adult, 10,000 rows": (lambda: _adult(10_000), "income", 0.5, True),
    "insurance": (lambda: _public("insurance"), "smoker", 0.5, True),
    "randhie": (lambda: _statsmodels("randhie"), "mdvis", 1.5, True),
    "breast cancer": (lambda: _sklearn("breast_cancer"), "target", 0.5, True),
    "red wine": (lambda: _public("wine-red"), "quality", 5.5, True),
    "fair": (lambda: _statsmodels("fair"), "affairs", 0.0, True),
    "anes96": (lambda: _statsmodels("anes96"), "vote", 0.5, True),
    "modechoice": (
        lambda: _statsmodels("modechoice").drop(columns="individual"),
        "choice",
        0.5,
        True,
    ),
    "diabetes": (lambda: _sklearn("diabetes"), "target", 140.5, True),
    "digits": (lambda: _sklearn("digits"), "target", 4.5, True),
    "adult, 48,842 rows": (lambda: _adult(None), "income", 0.5, False),
    "star98": (lambda: _statsmodels("star98").iloc[:, :14], "LOWINC", 40.0, False),
    "wine cultivars": (lambda: _sklearn("wine"), "target", 0.5, False),
}
NAMES = tuple(_SOURCES)


@cache
def table(name: str) -> BenchmarkTable:
    read, target, above, tuned = _SOURCES[name]
    frame = read()
    columns: dict[str, np.ndarray] = {}
    public: dict[str, Public] = {}
    for column in frame.columns:
        columns[column], public[column] = _described(frame[column])
    return BenchmarkTable(name, columns, public, target, above, tuned)


def _described(series: pd.Series) -> tuple[np.ndarray, Public]:
    if not pd.api.types.is_numeric_dtype(series):
        labels = tuple(sorted(series.dropna().unique()))
        codes = pd.Categorical(series, categories=list(labels)).codes.astype(np.int64)
        return codes, Public(labels=labels)
    values = series.to_numpy(np.float64)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    whole = bool(np.all(values[~np.isnan(values)] % 1 == 0))
    if not (whole and high - low < FEW):  # nobody knows the extremes: half as much again
        low, high = min(0.0, _round(1.5 * low)), _round(1.5 * high)
    return values, Public(lower=low, upper=high, whole=whole)


def _round(value: float) -> float:
    """Away from zero, to two digits."""
    if value == 0:
        return 0.0
    unit = 10.0 ** (np.floor(np.log10(abs(value))) - 1)
    return float(np.sign(value) * np.ceil(abs(value) / unit) * unit)


def schema_of(table: BenchmarkTable) -> dict[str, Any]:
    """The same facts as a schema of Coterie."""
    entries: dict[str, Any] = {}
    for name, public in table.public.items():
        if public.labels is not None:
            entries[name] = {"type": "categorical", "categories": {"labels": list(public.labels)}}
        else:
            kind = "integer" if public.whole else "continuous"
            entries[name] = {"type": kind, "domain": {"lower": public.lower, "upper": public.upper}}
        entries[name]["role"] = "protect"
        if missing(table.columns[name]).any():
            entries[name]["missing"] = "own category"
    return {"attributes": entries}


def missing(values: np.ndarray) -> np.ndarray:
    return values < 0 if values.dtype.kind == "i" else np.isnan(values)
