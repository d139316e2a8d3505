"""evaluate(): every measure of a release against its original, and why some could not be taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from coterie.errors import CoterieError
from coterie.evaluation import all_measures, associations, get_measure, two_way
from coterie.evaluation.measure import Measure, MeasureResult, Settings
from coterie.evaluation.pair import Pair, bring_together
from coterie.evaluation.row_order import in_record_order, row_order
from coterie.evaluation.tables import UNWEIGHTED
from coterie.methods import all_methods, get_method
from coterie.promise.certificate import Certificate
from coterie.promise.signing import require_digest
from coterie.publication.release import Release
from coterie.registry import failure
from coterie.schema.attributes import Schema
from coterie.schema.document import as_schema
from coterie.schema.exact import number
from coterie.schema.frame_kind import to_kind
from coterie.table.columns.places import as_rows
from coterie.table.estimates import EstimatePair, compared
from coterie.table.reading import as_table

WARNING = "DO NOT PUBLISH: these figures are computed from the original data."


@dataclass(frozen=True, slots=True)
class WeightedComparison:
    """Original and release as users weight them: sums of weights, two-way tables, means and shares."""

    weight: str  # the column
    totals: tuple[float | None, float]
    # As the measures `two-way` and `associations`, but without the weight itself …
    two_way: float | None
    associations: float | None
    two_way_weighted: float | None  # … and with records counted by it
    associations_weighted: float | None
    estimates: tuple[EstimatePair, ...]


@dataclass(frozen=True, slots=True)
class RuleViolations:
    """How often a rule of the schema is broken, as a share of the rows."""

    rule: str
    before: float
    after: float


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation:
    """What a release is still worth. Computed from the original data: do not publish it.

    Attributes
    ----------
    measures : dict
        By name: `value` for the whole release, `attributes` one by one, or the `reason` why there is none.
    notes : tuple of str
        What was noticed when the two tables were brought together.
    weighted : WeightedComparison or None
        Estimates by the weight beside those without, where the schema has a weight.
    rules : tuple of RuleViolations
        Of each rule of the schema, before and after.
    release_digest : str or None
        SHA-256 on the certificate of the release, where there is one.
    made : str
        When, UTC.
    """

    measures: dict[str, MeasureResult]
    notes: tuple[str, ...]
    weighted: WeightedComparison | None = None
    rules: tuple[RuleViolations, ...] = ()
    release_digest: str | None = None
    made: str = ""

    def __repr__(self) -> str:
        values = {name: found.value for name, found in self.measures.items() if found.value is not None}
        told = ", ".join(f"{name} {number(value)}" for name, value in list(values.items())[:4])
        left = len(self.measures) - len(values)
        return f"<Evaluation: {told}{', …' if len(values) > 4 else ''}; {left} not taken>"

    @property
    def words(self) -> dict[str, str]:
        """What the figure of each measure means, by the thresholds that the measure states; and what is destroyed."""
        known = all_measures()
        told = {name: known[name].told(found) for name, found in self.measures.items() if name in known}
        return {name: words for name, words in told.items() if words}

    def to_dict(self) -> dict[str, Any]:
        return {
            "warning": WARNING,
            "made": self.made,
            "release_digest": self.release_digest,
            "notes": list(self.notes),
            "words": self.words,
            "rules": [asdict(rule) for rule in self.rules],
            "measures": {name: found.to_dict() for name, found in self.measures.items()},
            **({} if self.weighted is None else {"weighted": asdict(self.weighted)}),
        }

    def to_frame(self, kind: str = "arrow") -> Any:
        """One row per measure and attribute, and one per measure of the whole release (attribute missing)."""
        rows: list[dict[str, Any]] = []
        for name, found in self.measures.items():
            rows.append({"measure": name, "attribute": None, "value": found.value, "reason": found.reason})
            rows += [
                {"measure": name, "attribute": attribute, "value": value, "reason": None}
                for attribute, value in found.attributes.items()
            ]
        texts = ("measure", "attribute", "reason")
        columns = {name: pa.array([row[name] for row in rows], pa.string()) for name in texts}
        columns["value"] = pa.array([row["value"] for row in rows], pa.float64())
        return to_kind(pa.table(columns).select(["measure", "attribute", "value", "reason"]), kind)


def evaluate(
    original: Any,
    released: Any,
    schema: Schema | str | Path | Mapping[str, Any],
    *,
    measures: str | Measure | Sequence[str | Measure] | None = None,
    shuffled: bool | None = None,
    order: str | Path | Sequence[int] | None = None,
    bins: str = "auto",
    queries: int = 1000,
    target: str | None = None,
    threshold: float | None = None,
    classifier: str = "RandomForestClassifier",
    train_share: float = 0.66,
    seed: int = 0,
    table: str | None = None,
    query: str | None = None,
    released_table: str | None = None,
    certificate: Certificate | str | Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> Evaluation:
    """Measure what a release is still worth, against its original.

    Parameters
    ----------
    original : frame, str or Path
        The table before protection: a frame, a file or the address of a database.
    released : Release, frame, str or Path
        The release of that very table.
    schema : Schema, str, Path or dict
        The schema that the release was made with.
    measures : str, Measure or sequence of them, optional
        Only these, by name or of your own. Default: all.
    shuffled : bool, optional
        Whether row i of the release is not row i of the original. Default: as the release or the certificate beside
        it says. Measures that need linked rows are then not taken, unless `order` is known.
    order : str, Path or sequence of int, optional
        Of a shuffled release, the number of the record that each row is of, from 0: the file of its internal figures, or
        the numbers. A `Release` in memory knows it.
    bins : {"auto", "domain", "value"}, default "auto"
        The bins of histograms: 1/100 of the domain, or one per value.
    queries : int, default 1000
        How many random range counts to ask.
    target : str, optional
        The class column, for classification.
    threshold : float, optional
        Make two classes of the target: at most this, and above it.
    classifier : str, default "RandomForestClassifier"
        Any scikit-learn classifier, by its name.
    train_share : float, default 0.66
        The share of records that train the classifier.
    seed : int, default 0
        For the queries and the classifier.
    table, query : str, optional
        The table (or sheet) to read, or a query, where `original` is a database (or a workbook).
    released_table : str, optional
        The released table, where `released` is a database.
    certificate : Certificate, str or Path, optional
        That of the release. Default: the file RELEASED.certificate.json, if it exists.
    progress : callable, optional
        Called with the name of each measure that was taken.

    Returns
    -------
    Evaluation

    Raises
    ------
    DataError
        Where the two tables do not belong together.
    ParameterError
        For an unknown measure or an impossible setting.

    Examples
    --------
    >>> import coterie
    >>> people, schema = coterie.demo_population(), coterie.demo_schema()
    >>> release = coterie.protect(people, schema, method="laplace", epsilon=1, seed=1)
    >>> found = coterie.evaluate(people, release, schema, measures=["sse"])
    >>> found.measures["sse"].value > 0
    True
    >>> found.to_frame().column_names
    ['measure', 'attribute', 'value', 'reason']
    """
    settings = Settings(bins, queries, target, threshold, classifier, train_share, seed)
    # A misspelt name should not cost the time of reading two tables.
    asked = [measures] if isinstance(measures, str | Measure) else measures or list(all_measures().values())
    chosen = [one if isinstance(one, Measure) else get_measure(one) for one in asked]
    schema = as_schema(schema)
    rows = released.table if isinstance(released, Release) else released
    made = _certificate(released, released_table, certificate)
    if (
        order is None
        and isinstance(released, Release)
        and released.certificate.release.shuffled
        and shuffled is None
    ):
        order = _known_order(released)
    rows = as_table(rows, schema.of_release, table=released_table)
    if order is not None:
        rows, shuffled = in_record_order(rows, row_order(order)), False
    pair = bring_together(
        as_table(original, schema, table=table, query=query),
        rows,
        schema,
        shuffled=_unlinked(made) if shuffled is None else shuffled,
    )
    found: dict[str, MeasureResult] = {}
    for measure in chosen:
        if measure.needs_linkage and pair.unlinked is not None:
            found[measure.name] = MeasureResult(None, reason=f"needs linked rows: {pair.unlinked}")
        else:
            found[measure.name] = _computed(measure, pair, settings)
        if progress:
            progress(measure.name)
    return Evaluation(
        found,
        pair.notes,
        _weighted(pair, schema, settings),
        _rules(pair, schema),
        None if made is None else made.release.digest.value,
        datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _weighted(pair: Pair, schema: Schema, settings: Settings) -> WeightedComparison | None:
    if pair.weights is None or schema.weight is None:
        return None
    before, after = pair.weights
    name = schema.weight.name

    def distance(of: Callable[..., MeasureResult]) -> tuple[float | None, float | None]:
        if before is None:
            return None, None
        alone, by_weight = (of(pair, settings, by, (name,)).value for by in (UNWEIGHTED, pair.weights))
        return alone, by_weight

    tables, relations = distance(two_way.of_pairs), distance(associations.of_pairs)
    return WeightedComparison(
        weight=name,
        totals=(None if before is None else float(before.sum()), float(after.sum())),
        two_way=tables[0],
        associations=relations[0],
        two_way_weighted=tables[1],
        associations_weighted=relations[1],
        estimates=tuple(compared(pair.original, pair.released, pair.weights, name)),
    )


def _rules(pair: Pair, schema: Schema) -> tuple[RuleViolations, ...]:
    """Rules are public; how often the original breaks them is not."""
    rules = schema.edit_rules
    if not rules or not set(rules.columns) <= set(pair.original):
        return ()
    before, after = (
        as_rows({name: columns[name] for name in rules.columns}) for columns in (pair.original, pair.released)
    )
    return tuple(
        RuleViolations(rule.text, float(rule.violated(before).mean()), float(rule.violated(after).mean()))
        for rule in rules.all
    )


def _computed(measure: Measure, pair: Pair, settings: Settings) -> MeasureResult:
    """One measure that fails does not take the others with it."""
    try:
        return measure.compute(pair, settings)
    except CoterieError:
        raise
    except Exception as error:
        return MeasureResult(None, reason=failure(error))


def _known_order(released: Release) -> Sequence[int] | None:
    """None where the rows are synthetic, or where the original is no longer in memory."""
    if get_method(released.certificate.method).synthetic:
        return None
    try:
        return released.internal.row_order
    except CoterieError:
        return None


def _certificate(
    released: Any, table: str | None, given: Certificate | str | Path | None
) -> Certificate | None:
    """The one that is given, of the release, or that lies beside it."""
    if given is not None:
        made = given if isinstance(given, Certificate) else Certificate.read(given)
        if isinstance(released, str | Path):
            require_digest(str(released), table, made.release.digest)
        return made
    try:
        if isinstance(released, Release):
            return released.certificate
        if isinstance(released, str | Path):
            return Certificate.from_json(Path(f"{released}.certificate.json").read_bytes())
    except (OSError, CoterieError):
        pass
    return None


def _unlinked(certificate: Certificate | None) -> bool:
    """Whether the rows are said to be shuffled or synthetic."""
    if certificate is None:
        return False
    method = all_methods().get(certificate.method)
    return certificate.release.shuffled or (method is not None and method.synthetic)
