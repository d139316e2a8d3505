"""The embedded demo population: invented people, drawn by this code, always the same.

Eight attributes as registers have them: skewed money, heaped and tied answers, many zeros, and correlation through
a shared latent 'standing'. No real person is in it and no real table was used to make it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from coterie.schema.attributes import Attribute, AttributeType, Domain, Role, Schema

PEOPLE = 5_000
_SEED = 20_261_115

# name: type, lower, upper, unit. The bounds are what anyone could say without seeing the table.
_ATTRIBUTES = {
    "age": (AttributeType.INTEGER, 16, 100, "years"),
    "schooling": (AttributeType.INTEGER, 0, 25, "years"),
    "hours": (AttributeType.INTEGER, 0, 99, "hours a week"),
    "income": (AttributeType.CONTINUOUS, 0, 400_000, "EUR per year"),
    "tax": (AttributeType.CONTINUOUS, 0, 200_000, "EUR per year"),
    "savings": (AttributeType.CONTINUOUS, 0, 2_000_000, "EUR"),
    "rent": (AttributeType.INTEGER, 0, 5_000, "EUR per month"),
    "commute": (AttributeType.CONTINUOUS, 0, 200, "km"),
}


def demo_population(people: int = PEOPLE, seed: int = _SEED) -> pa.Table:
    """Invent a population. With the default arguments, the table of `coterie demo`.

    Parameters
    ----------
    people : int, default 5000
        How many.
    seed : int
        Other people for another number.

    Returns
    -------
    pyarrow.Table
        Nine columns: person (an identifier), age, schooling, hours, income, tax, savings, rent and commute.

    Examples
    --------
    >>> import coterie
    >>> coterie.demo_population(people=10).num_rows
    10
    """
    draw = np.random.Generator(np.random.PCG64(seed))
    standing = draw.normal(size=people)
    age = np.clip(16 + 84 * draw.beta(1.7, 2.6, people), 16, 100)
    schooling = np.clip(12 + 2.6 * standing + draw.normal(0, 1.6, people), 0, 25)
    at_work = draw.random(people) < np.where((age > 19) & (age < 66), 0.82, 0.12)
    hours = np.where(at_work, np.clip(38 + 3 * standing + draw.normal(0, 9, people), 1, 99), 0)
    # Half of those who work say 40, as people do.
    hours = np.where(at_work & (draw.random(people) < 0.5), 40, hours)
    career = 0.025 * np.clip(age - 20, 0, 35)
    wage = np.exp(9.6 + career + 0.45 * standing + draw.normal(0, 0.45, people))
    income = np.where(at_work, wage * hours / 40, 0.35 * wage * (draw.random(people) < 0.8))
    income = np.clip(income, 0, 400_000)
    tax = np.clip(
        0.42 * np.clip(income - 11_000, 0, None) ** 1.02 * draw.uniform(0.75, 1, people), 0, 200_000
    )
    saver = draw.random(people) < 0.7
    savings = np.where(saver, np.exp(6.5 + 0.03 * age + 0.8 * standing + draw.normal(0, 1.2, people)), 0)
    tenant = draw.random(people) < 0.55
    rent = np.where(tenant, np.clip(180 + 0.012 * income + draw.normal(420, 160, people), 120, 5_000), 0)
    commute = np.where(at_work, draw.gamma(1.3, 11, people), 0)
    columns = {
        "age": np.rint(age).astype(np.int64),
        "schooling": np.rint(schooling).astype(np.int64),
        "hours": np.rint(hours).astype(np.int64),
        "income": np.round(income, 2),
        "tax": np.round(tax, 2),
        "savings": np.round(np.clip(savings, 0, 2_000_000), 2),
        # Rents are heaped on multiples of ten.
        "rent": (np.rint(rent / 10) * 10).astype(np.int64),
        "commute": np.round(np.clip(commute, 0, 200), 1),
    }
    identifier = [f"P{number:07d}" for number in draw.permutation(people)]
    return pa.table({"person": identifier, **columns})


def demo_schema() -> Schema:
    """Describe the demo population: its columns, their roles and public bounds.

    Returns
    -------
    Schema

    Examples
    --------
    >>> import coterie
    >>> coterie.demo_schema()
    <Schema: age, schooling, hours, income, tax, savings, rent, commute (protect); person (identifier)>
    """
    protected = tuple(
        Attribute(name=name, type=kind, role=Role.PROTECT, domain=Domain(lower=lower, upper=upper), unit=unit)
        for name, (kind, lower, upper, unit) in _ATTRIBUTES.items()
    )
    return Schema(attributes=(Attribute(name="person", role=Role.IDENTIFIER), *protected))
