"""The insurance data of 002 §5.4.2, known to the registry of data sets by importing this module."""

from __future__ import annotations

import pyarrow as pa

from coterie.papers.data import load
from coterie.papers.sources import DATA_SETS, DataSet

INSURANCE = DataSet(
    name="insurance",
    file="insurance.csv",
    sha256="6e3894cf7d9210613f62c866684055decea694345cd4f244ecd7167041578c68",
    title="Medical Cost Personal Datasets (B. Lantz, Machine Learning with R), 1,338 × 7",
    by_hand="It is the file insurance.csv of the data sets for that book: age, sex, bmi, children, smoker, region, "
    "charges; comma separated, with a newline at the end.",
)
DATA_SETS.setdefault(INSURANCE.name, INSURANCE)


def insurance() -> pa.Table:
    return load(INSURANCE.name)
