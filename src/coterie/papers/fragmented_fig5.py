"""Del Vasto-Terrientes et al., Fig. 5: Adult over four owners of rows and ten owners of one attribute, against the
same in one place."""

from __future__ import annotations

import pyarrow as pa

from coterie.papers.experiment import Experiment, ExperimentOutcome, PaperFinding
from coterie.papers.fragmented import ADULT_KS, EPSILONS, RUNS, fragmented
from coterie.papers.grids import heatmaps
from coterie.papers.tables import ADULT_FRAGMENTED, adult, adult_fragmented_schema
from coterie.schema.attributes import Categories, Order, Schema, Source

ROWS = (11_100, 15_000, 12_000, 7_122)


def _part_schema(whole: Schema, fragment: pa.Table) -> Schema:
    """Bounds and labels are those of the study; the order of categories is by each owner's own frequencies (§5.1.4)."""
    attributes = []
    for attribute in whole.attributes:
        if attribute.categories is None:
            attributes.append(attribute)
            continue
        found = {e["values"]: e["counts"] for e in fragment.column(attribute.name).value_counts().to_pylist()}
        labels = attribute.categories.labels or ()
        ranked = tuple(sorted(labels, key=lambda label, found=found: (-found.get(label, 0), label)))  # type: ignore[misc]
        own = Categories(labels=ranked, source=Source.DATA, order=Order.LISTED)
        attributes.append(attribute.model_copy(update={"categories": own}))
    return Schema(attributes=tuple(attributes))


def _compute() -> ExperimentOutcome:
    table = adult(("adult-train", "adult-test")).select(list(ADULT_FRAGMENTED))
    whole = adult_fragmented_schema(table)
    holders = {f"owner-{place + 1}": [name] for place, name in enumerate(ADULT_FRAGMENTED)}
    ks = ADULT_KS[1:]
    found = fragmented(table, lambda _: whole, lambda part: _part_schema(whole, part), ROWS, holders, ks)
    horizontal, vertical = found.difference("horizontal"), found.difference("vertical")
    small = [place for place, k in enumerate(ks) if k <= 250]
    large = [place for place, k in enumerate(ks) if k > 250]
    relative = horizontal / found.central
    near, far = float(relative[small].mean()), float(relative[large].mean())
    findings = (
        PaperFinding(
            "rows: k up to 250 loses little, relative to one place",
            "minimal",
            f"{near:.1%}",
            "at most 10 %",
            near <= 0.1,
        ),
        PaperFinding(
            "rows: larger k loses more", "increases", f"{far:.1%} against {near:.1%}", "more", far > near
        ),
        PaperFinding(
            "attributes: largest difference over all ε and k",
            "around 0.04",
            f"{vertical.max():.3f} ({(vertical / found.central).max():.1%} of the error in one place)",
            "at most 0.06, or 5 % of the error in one place",
            bool(vertical.max() <= 0.06 or (vertical / found.central).max() <= 0.05),
        ),
    )
    panels = [("rows: four owners", ks, horizontal), ("attributes: ten owners", ks, vertical)]
    figure = heatmaps(
        panels,
        EPSILONS,
        "mean SSE above one place",
        f"Del Vasto-Terrientes et al., Fig. 5: Adult, mean of {RUNS} runs",
        log=False,
    )
    notes = ("distances of categories are those of each owner's own ranks",)
    return ExperimentOutcome(findings, figure, found.table(), notes)


EXPERIMENT = Experiment(
    name="fragmented-fig5",
    title="Adult: fragmented against one place, difference of mean SSE over ε and k",
    paper="Del Vasto-Terrientes et al. (fragmented data), §5.1.4, Fig. 5",
    data=("adult-train", "adult-test"),
    seconds=90,
    compute=_compute,
)
