"""How far synthetic rows are from the table they stand for: the eight measures of `python -m benchmarks rows`."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from benchmarks.rows_tables import BenchmarkTable, missing

BINS = 8
TRIPLES = 100
QUERIES = 1000
MEASURES = ("one-way TV", "two-way TV", "three-way TV", "W1", "Pearson", "Spearman", "queries", "AUC")
Columns = dict[str, np.ndarray]


class Measured:
    """Everything that depends on the original alone is computed once."""

    def __init__(self, table: BenchmarkTable) -> None:
        self.table = table
        self.names = list(table.columns)
        self.numbers = [name for name in self.names if table.public[name].labels is None]
        self.edges = {name: self._edges(table.columns[name]) for name in self.numbers}
        self.bins = self._binned(table.columns)
        self.sizes = {name: self._size(name) for name in self.names}
        draw = np.random.default_rng(7)
        triples = list(combinations(self.names, 3))
        chosen = draw.choice(len(triples), min(TRIPLES, len(triples)), replace=False) if triples else []
        self.triples = [triples[i] for i in chosen]
        self.queries = [self._query(draw) for _ in range(QUERIES)]

    def _edges(self, values: np.ndarray) -> np.ndarray:
        cuts = np.quantile(values[~np.isnan(values)], np.arange(1, BINS) / BINS)
        return np.unique(cuts)

    def _size(self, name: str) -> int:
        labels = self.table.public[name].labels
        return 1 + (len(labels) if labels is not None else len(self.edges[name]) + 1)

    def _binned(self, columns: Columns) -> Columns:
        """Bin 0 is missing."""
        found = {}
        for name, values in columns.items():
            if name in self.edges:
                bins = 1 + np.searchsorted(self.edges[name], values, side="left")
                found[name] = np.where(missing(values), 0, bins)
            else:
                found[name] = values + 1
        return found

    def _tv(self, other: Columns, names: tuple[str, ...]) -> float:
        sizes = tuple(self.sizes[name] for name in names)
        shares = []
        for columns in (self.bins, other):
            cells = np.ravel_multi_index([columns[name] for name in names], sizes)
            shares.append(np.bincount(cells, minlength=np.prod(sizes)) / len(cells))
        return float(np.abs(shares[0] - shares[1]).sum() / 2)

    def _query(self, draw: np.random.Generator) -> list[tuple[str, object]]:
        names = draw.choice(self.names, min(3, len(self.names)), replace=False)
        query: list[tuple[str, object]] = []
        for name in names:
            if name in self.edges:
                low, high = np.sort(draw.choice(self.table.columns[name], 2))
                query.append((name, (low, high)))
            else:
                size = self.sizes[name]
                query.append((name, draw.random(size) < 0.5))
        return query

    def _answers(self, columns: Columns, bins: Columns) -> np.ndarray:
        answers = np.empty(len(self.queries))
        for number, query in enumerate(self.queries):
            inside = np.ones(len(columns[self.names[0]]), dtype=bool)
            for name, condition in query:
                if isinstance(condition, tuple):
                    inside &= (columns[name] >= condition[0]) & (columns[name] <= condition[1])
                else:
                    inside &= condition[bins[name]]  # type: ignore[index]
            answers[number] = inside.mean()
        return answers

    def _correlations(self, columns: Columns, ranked: bool) -> np.ndarray:
        from scipy.stats import rankdata

        matrix = []
        for name in self.numbers:
            values = np.nan_to_num(columns[name], nan=np.nanmean(self.table.columns[name]))
            matrix.append(rankdata(values) if ranked else values)
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.nan_to_num(np.corrcoef(np.array(matrix)))
        return np.asarray(found[np.triu_indices(len(matrix), 1)])

    def _wasserstein(self, columns: Columns) -> float:
        found = []
        places = (np.arange(2000) + 0.5) / 2000
        for name in self.numbers:
            before = self.table.columns[name]
            before = before[~np.isnan(before)]
            after = columns[name][~np.isnan(columns[name])]
            if not len(after):
                after = np.zeros(1)
            low, high = np.quantile(before, [0.1, 0.9])
            spread = high - low if high > low else before.max() - before.min()
            distance = np.abs(np.quantile(before, places) - np.quantile(after, places)).mean()
            found.append(distance / (spread or 1.0))
        return float(np.mean(found))

    def _auc(self, columns: Columns) -> float:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.metrics import roc_auc_score

        target = self.table.target
        others = [name for name in self.names if name != target]
        truth, learnt = (part[target] > self.table.above for part in (self.table.columns, columns))
        if learnt.all() or not learnt.any():
            return 0.5
        labelled = [self.table.public[name].labels is not None for name in others]
        numbers = [
            np.column_stack([np.where(missing(part[n]), np.nan, part[n].astype(float)) for n in others])
            for part in (self.table.columns, columns)
        ]
        model = HistGradientBoostingClassifier(
            max_iter=60, max_leaf_nodes=15, learning_rate=0.1, random_state=0, categorical_features=labelled
        )
        model.fit(numbers[1], learnt)
        return float(roc_auc_score(truth, model.predict_proba(numbers[0])[:, 1]))

    def of(self, columns: Columns) -> dict[str, float]:
        bins = self._binned(columns)
        found = {
            "one-way TV": float(np.mean([self._tv(bins, (name,)) for name in self.names])),
            "two-way TV": float(np.mean([self._tv(bins, pair) for pair in combinations(self.names, 2)])),
            "three-way TV": float(np.mean([self._tv(bins, triple) for triple in self.triples])),
            "W1": self._wasserstein(columns),
            "Pearson": self._difference(columns, ranked=False),
            "Spearman": self._difference(columns, ranked=True),
        }
        truth = self._answers(self.table.columns, self.bins)
        found["queries"] = float(np.abs(truth - self._answers(columns, bins)).mean())
        found["AUC"] = self._auc(columns)
        return found

    def _difference(self, columns: Columns, *, ranked: bool) -> float:
        before = self._correlations(self.table.columns, ranked)
        return float(np.abs(before - self._correlations(columns, ranked)).mean()) if len(before) else 0.0
