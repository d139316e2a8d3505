"""How many columns of a draft are right, on 22 invented files of the kinds that statistical offices and hospitals have.

The truth of each column was written with the file, as its codebook would say it: type, role, missing codes, labels, and
whether it is a weight or the number of a unit. A column counts only if all of that is right.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import coterie

Column = tuple[Any, "Truth"]


@dataclass(frozen=True)
class Truth:
    """`type` names every type that a codebook could call right; "drop" stands for the role identifier."""

    type: str
    marks: tuple[str, ...] = ()
    labels: dict[int, str] | None = None  # of codes that are answers
    suggestion: str = ""

    @property
    def types(self) -> set[str]:
        return set(self.type.split("|"))


ID, UNIT, DROP = Truth("drop"), Truth("drop", suggestion="unit"), Truth("drop")
CODE, WHOLE, REAL = Truth("categorical"), Truth("integer"), Truth("continuous")
DATE, TIME, WEIGHT = Truth("date"), Truth("timestamp"), Truth("continuous|integer", suggestion="weight")
# Codes whose type codebooks disagree about.
EITHER, ANY = "categorical|ordinal", "integer|categorical|ordinal"
SENTENCE = "the patient was asked again about work and said that pain had changed"


class Maker:
    """Columns like those of a survey, each with its truth. `kind` replaces the type that follows from the cells."""

    def __init__(self, seed: int, rows: int) -> None:
        self.draw, self.rows = np.random.default_rng(seed), rows

    def codes(
        self,
        *values: int,
        marks: tuple[int, ...] = (),
        labels: dict[int, str] | None = None,
        kind: str = "categorical",
    ) -> Column:
        """Codes of answers, `values` or those that have labels; some cells hold the mark of a missing answer."""
        values = values or tuple(labels or ())
        weights = self.draw.dirichlet(np.full(len(values), 3.0)) if len(values) > 1 else np.ones(1)
        return self._marked(self.draw.choice(values, self.rows, p=weights), marks, Truth(kind, labels=labels))

    def _marked(self, cells: Any, marks: tuple[int, ...], truth: Truth, share: float = 0.04) -> Column:
        for mark in marks:
            cells = np.where(self.draw.random(self.rows) < share, mark, cells)
        return cells, replace(truth, marks=tuple(map(str, marks)))

    def whole(
        self, low: int, high: int, *, peak: float = 0.4, marks: tuple[int, ...] = (), kind: str = "integer"
    ) -> Column:
        cells = np.rint(low + (high - low) * self.draw.beta(1 + 4 * peak, 1 + 4 * (1 - peak), self.rows))
        return self._marked(cells.astype(int), marks, Truth(kind))

    def money(self, typical: float, *, places: int = 0, marks: tuple[int, ...] = ()) -> Column:
        cells = self.draw.lognormal(np.log(typical), 0.7, self.rows).round(places)
        if places:
            return cells, REAL
        return self._marked(cells.astype(int), marks, WHOLE, 0.02)

    def any_of(self, *values: str | int, marks: tuple[str, ...] = (), kind: str = "categorical") -> Column:
        """Texts or codes that are all equally frequent, the marks too."""
        return self.draw.choice((*values, *marks), self.rows), Truth(kind, marks)

    def days(self, first: str, last: str) -> Column:
        span = int((np.datetime64(last) - np.datetime64(first)).astype(int))
        return np.datetime64(first) + self.draw.integers(0, span, self.rows), DATE

    def households(self, largest: int = 6) -> tuple[Any, Any, Any]:
        """Number of the household, number of the person in it, size."""
        sizes = self.draw.choice(np.arange(1, largest + 1), self.rows)
        sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), self.rows)) + 1]
        numbers = 10_000 + 7 * np.arange(len(sizes))
        hh = np.repeat(numbers, sizes)[: self.rows]
        persons = np.concatenate([np.arange(1, size + 1) for size in sizes])[: self.rows]
        return hh, persons, np.repeat(sizes, sizes)[: self.rows]

    def prose(self) -> Column:
        return [" ".join(self.draw.choice(SENTENCE.split(), 12)) for _ in range(self.rows)], DROP

    def weights(self, mean: float = 1.0) -> Column:
        return (mean * self.draw.lognormal(0, 0.4, self.rows)).round(4), WEIGHT


def numbered(words: str) -> dict[int, str]:
    """Labels of the codes 1, 2, 3 …"""
    return dict(enumerate(words.split(", "), 1))


def with_commas(column: Column, places: int = 2) -> Column:
    return [f"{cell:.{places}f}".replace(".", ",") for cell in column[0]], column[1]


def as_written(days: Column, form: str) -> Column:
    return [day.strftime(form) for day in days[0].astype(object)], DATE


# Files. Each gives its columns with their truth, and how they are written.


def household_survey() -> dict[str, Column]:
    m = Maker(1, 4580)
    hh, person, size = m.households(12)
    return {
        "hhid": (hh, UNIT),
        "persnr": (person, Truth(ANY)),
        "hhsize": (size, WHOLE),
        "sex": m.codes(1, 2),
        "age": m.whole(0, 97),
        "marstat": m.codes(1, 2, 3, 4, 5, marks=(9,)),
        "isced": m.codes(0, 1, 2, 3, 4, 5, 6, 7, 8, marks=(99,), kind=EITHER),
        "region": m.codes(*range(1, 17)),
        "actstat": m.codes(1, 2, 3, 4, marks=(8, 9)),
        "hours_worked": m.whole(0, 70, marks=(99,)),
        "income_net": m.money(1900, marks=(-9, -8)),
        "rent": m.money(700, marks=(99999,)),
        "tenure": m.codes(1, 2, 3),
        "int_date": m.days("2024-01-08", "2024-04-01"),
        "hhweight": m.weights(812.5),
    }


def labour_force() -> dict[str, Column]:
    m = Maker(2, 4000)
    hh, person, _ = m.households()
    small = {
        "SEX": (1, 2),
        "NATION": (1, 2, 3),
        "CIVIL": (1, 2, 3, 4),
        "FTPT": (1, 2),
        "STAPRO": (1, 3, 4, 5),
        "TEMP": (1, 2),
        "SHIFTWK": (1, 3),
        "EVENWK": (1, 2, 3),
        "NIGHTWK": (1, 2, 3),
        "SATWK": (1, 2, 3),
        "HOMEWK": (1, 2, 3),
        "LOOKOJ": (1, 2),
        "WSTATOR": (1, 2, 3, 4, 5),
        "SUPVISOR": (1, 2),
        "SIZEFIRM": (11, 12, 13, 14, 15),
        "SEEKWORK": (1, 2, 3, 4),
        "AVAIL": (1, 2),
        "METHODA": (0, 1),
        "METHODB": (0, 1),
        "METHODC": (0, 1),
        "EDUCSTAT": (1, 2),
    }
    columns: dict[str, Column] = {
        "HHNUM": (hh, UNIT),
        "HHSEQNUM": (person, Truth(ANY)),
        "COEFF": m.weights(0.9),
        "WEIGHT": m.weights(312),
        "REFYEAR": m.codes(2022, 2023, kind=ANY),
        "REFWEEK": m.whole(1, 52, peak=0.5, kind=ANY),
        "AGE": m.whole(15, 89),
        "REGION": m.codes(*range(11, 35)),
        "ISCO3D": m.any_of(110, 111, 121, 122, *range(210, 266), *range(311, 352), *range(411, 964, 5)),
        "NACE2D": m.any_of(*range(1, 97)),
        "HWUSUAL": m.whole(1, 80, marks=(98, 99)),
        "HWACTUAL": m.whole(0, 80, marks=(99,)),
        "INCDECIL": m.codes(*range(1, 11), marks=(99,), kind=EITHER),
    }
    for name, values in small.items():
        marks = (9,) if max(values) < 7 else (99,)
        columns[name] = m.codes(*values, marks=marks)
    return columns


def hospital_register() -> dict[str, Column]:
    m = Maker(3, 3000)
    stay, _ = m.whole(0, 40, peak=0.1)
    admitted, _ = m.days("2021-01-01", "2023-12-31")
    icd = [
        f"{letter}{number:02d}.{digit}"
        for letter in "ACEIJKMS"
        for number in range(10, 20)
        for digit in (0, 1, 9)
    ]
    return {
        "patient_id": (m.draw.choice(np.arange(100_000, 999_999), 3000, replace=False), ID),
        "patient_name": ([f"Person {n}" for n in m.draw.permutation(3000)], DROP),
        "birth_date": m.days("1925-01-01", "2020-01-01"),
        "sex": m.any_of("f", "m"),
        "postcode": ([f"{n:05d}" for n in m.draw.choice(np.arange(1067, 9999, 31), 3000)], CODE),
        "ward": m.any_of("surgery", "medicine", "paediatrics", "ICU"),
        "admitted": (admitted, DATE),
        "discharged": (admitted + stay, DATE),
        "los_days": (stay, WHOLE),
        "icd10": m.any_of(*icd),
        "severity": m.any_of("mild", "moderate", "severe", kind="ordinal"),
        "weight_kg": (m.draw.normal(75, 14, 3000).round(1), REAL),
        "bp_systolic": m.whole(90, 200, marks=(999,)),
        "temperature": (m.draw.normal(37.2, 0.7, 3000).round(1), REAL),
        "n_diagnoses": m.whole(1, 14, peak=0.2),
        "bill": m.money(4200, places=2),
        "insurer": m.codes(101, 102, 108, 201, 305),
        "smoker": m.any_of("yes", "no", marks=("unknown",)),
        "notes": m.prose(),
    }


def european_csv() -> dict[str, Column]:
    m = Maker(4, 1200)
    grouped = [f"{value:,.2f}".translate(str.maketrans(",.", ".,")) for value in m.money(2600, places=2)[0]]
    return {
        "lfdnr": (np.arange(1, 1201), ID),
        "geburtsdatum": as_written(m.days("1940-01-01", "2005-01-01"), "%d.%m.%Y"),
        "geschlecht": m.any_of("männlich", "weiblich", "divers"),
        "einkommen": (grouped, REAL),
        "miete": ([f"{value:,}".replace(",", ".") for value in m.money(900)[0]], WHOLE),
        "anteil": with_commas((m.draw.random(1200), REAL), 3),
        "plz": ([f"{n:05d}" for n in m.draw.choice(np.arange(1067, 9999, 97), 1200)], CODE),
        "kinder": m.whole(0, 5, peak=0.2),
        "zufriedenheit": m.any_of("sehr schlecht", "schlecht", "mittel", "gut", "sehr gut", kind="ordinal"),
        "gewicht": with_commas(m.weights(), 4),
    }


AGREE = numbered("Strongly disagree, Disagree, Neither agree nor disagree, Agree, Strongly agree")
YES = numbered("Yes, No")


def spss_survey() -> dict[str, Column]:
    m = Maker(5, 1500)
    status = numbered("Employed, Unemployed, Student, Retired, Other")
    return {
        "respid": (np.arange(1, 1501), ID),
        "sex": m.codes(labels=numbered("Male, Female")),
        "age": m.whole(18, 93, marks=(999,)),
        "agegrp": m.codes(labels=numbered("18-29, 30-44, 45-64, 65 and more"), kind="ordinal"),
        "status": m.codes(marks=(97, 98, 99), labels=status),
        "trust": m.codes(marks=(77, 88), labels={n: str(n) for n in range(11)}, kind="ordinal"),
        "agree_a": m.codes(marks=(8, 9), labels=AGREE, kind="ordinal"),
        "agree_b": m.codes(marks=(8, 9), labels=AGREE, kind="ordinal"),
        "voted": m.codes(marks=(-1,), labels=YES),
        "hours_tv": m.whole(0, 12, peak=0.2),
        "income": m.money(2200, marks=(-99,)),
        "party": m.any_of("A", "B", "C", "D"),
        "interview": m.days("2023-05-01", "2023-07-01"),
        "pweight": m.weights(),
    }


SPSS_WORDS = {
    "status": {97: "Not applicable", 98: "Refused", 99: "Don't know"},
    "trust": {0: "No trust at all", 10: "Complete trust", 77: "Refusal", 88: "Don't know"},
    "agree_a": {8: "Don't know", 9: "No answer"},
    "agree_b": {8: "Don't know", 9: "No answer"},
    "voted": {-1: "Not asked"},
}


def stata_survey() -> dict[str, Column]:
    m = Maker(6, 2200)
    hh, person, _ = m.households()
    return {
        "hhid": (hh, UNIT),
        "pno": (person, Truth(ANY)),
        "female": m.codes(labels={0: "male", 1: "female"}),
        "educ": m.codes(labels=numbered("primary, secondary, tertiary"), kind="ordinal"),
        "urban": m.codes(labels=numbered("urban, rural")),
        "age": m.whole(0, 95),
        "health": m.codes(
            marks=(-2,),
            labels=numbered("excellent, very good, good, fair, poor"),
            kind="ordinal",
        ),
        "wage": m.money(14, places=2),
        "ncars": m.codes(0, 1, 2, 3, kind="categorical|integer"),
        "dob": m.days("1930-01-01", "2010-01-01"),
        "wgt": m.weights(420),
        "strata": m.codes(*range(1, 9)),
    }


def sas_transport() -> dict[str, Column]:
    m = Maker(7, 900)
    return {
        "SEQN": (62_161 + np.arange(900), ID),
        "RIAGENDR": m.codes(1, 2),
        "RIDAGEYR": m.whole(0, 80),
        "RIDRETH1": m.codes(1, 2, 3, 4, 5),
        "DMDEDUC2": m.codes(1, 2, 3, 4, 5, marks=(9,), kind=EITHER),
        "DMDMARTL": m.codes(1, 2, 3, 4, 5, 6, marks=(77, 99)),
        "INDFMPIR": ((m.draw.random(900) * 5).round(2), REAL),
        "BMXWT": (m.draw.normal(80, 16, 900).round(1), REAL),
        "BPXSY1": (2 * m.whole(45, 110)[0], WHOLE),
        "ALQ120Q": m.whole(0, 60, peak=0.1, marks=(777, 999)),
        "WTINT2YR": (m.money(24_000, places=3)[0], Truth("continuous", suggestion="weight")),
    }


def r_factors() -> dict[str, Column]:
    m = Maker(8, 700)
    levels = pd.Categorical(m.any_of("low", "middle", "high")[0], ["low", "middle", "high"], ordered=True)
    return {
        "id": (np.arange(1.0, 701.0), ID),
        "canton": (pd.Categorical(m.any_of("BE", "ZH", "VD", "TI")[0]), Truth("categorical")),
        "income_class": (levels, Truth("ordinal")),
        "age": (m.whole(16, 90)[0].astype(float), WHOLE),
        "satisfaction": (m.codes(*range(11))[0].astype(float), Truth(EITHER)),
        "married": (m.codes(0, 1)[0].astype(bool), Truth("boolean")),
        "rent": m.money(1400, places=1),
    }


def workbook() -> dict[str, Column]:
    m = Maker(9, 400)
    return {
        "Employee ID": (m.draw.choice(np.arange(10_000, 99_999), 400, replace=False), ID),
        "Department": m.any_of("Sales", "IT", "HR", "Legal"),
        "Grade": m.codes(1, 2, 3, 4, 5, 6, kind=EITHER),
        "Salary": m.money(51_000),
        "Part time": m.any_of("yes", "no"),
        "Hired": m.days("1999-01-01", "2024-01-01"),
        "Sick days": m.whole(0, 40, peak=0.1),
        "Rating": m.any_of("low", "medium", "high", "very high", kind="ordinal"),
    }


def timestamps_register() -> dict[str, Column]:
    m = Maker(10, 2500)
    start = np.datetime64("2024-03-01T00:00:00") + m.draw.integers(0, 60 * 86_400, 2500)
    persons = m.draw.integers(0, 600, 2500)
    return {
        "event_id": ([f"e{n:06d}" for n in m.draw.permutation(2500)], ID),
        "person_id": (8_000_000 + persons * 13, UNIT),
        "started": (start, TIME),
        "ended": (start + m.draw.integers(60, 7200, 2500), TIME),
        "kind": m.any_of("call", "visit", "transport"),
        "priority": m.codes(1, 2, 3, kind=EITHER),
        "distance_km": m.money(6, places=2),
        "station": m.any_of(*range(1, 41)),
        "duration_min": m.whole(1, 120, peak=0.2),
    }


def questionnaire() -> dict[str, Column]:
    m = Maker(11, 800)
    columns: dict[str, Column] = {"CASEID": (np.arange(5001, 5801), ID)}
    for block, top in (("A", 5), ("B", 7), ("C", 4)):
        for item in range(1, 21):
            columns[f"{block}{item:02d}"] = m.codes(*range(1, top + 1), marks=(99,), kind=EITHER)
    columns["AGE"] = m.whole(18, 85, marks=(999,))
    columns["REMARKS"] = m.prose()
    return columns


def school_marks() -> dict[str, Column]:
    m = Maker(12, 1400)
    names = {
        f"mark_{subject}": m.codes(1, 2, 3, 4, 5, 6, kind=EITHER)
        for subject in ("maths", "german", "english", "sport")
    }
    parts = [m.whole(0, 40), m.whole(0, 40), m.whole(0, 20)]
    return {
        "student_id": (m.draw.choice(np.arange(200_000, 299_999), 1400, replace=False), ID),
        "school": ([f"S{n:03d}" for n in m.draw.integers(1, 60, 1400)], UNIT),
        "class_year": m.codes(5, 6, 7, 8, 9, 10, kind=ANY),
        "gender": m.any_of("girl", "boy"),
        **names,
        "points_a": parts[0],
        "points_b": parts[1],
        "points_c": parts[2],
        "points_total": (sum(cells for cells, _ in parts), WHOLE),
        "absent_days": m.whole(0, 35, peak=0.1, marks=(-9,)),
        "language": m.any_of("German", "Turkish", "Arabic", "other"),
    }


def business_survey() -> dict[str, Column]:
    m = Maker(13, 1000)
    return {
        "firm_id": (m.draw.choice(np.arange(1_000_000, 9_999_999), 1000, replace=False), ID),
        "nace": m.any_of(10, 13, 25, 28, 41, 45, 46, 47, 49, 55, 62, 69, 71, 86),
        "size_class": m.codes(labels=numbered("0-9, 10-49, 50-249, 250 and more"), kind="ordinal"),
        "employees": m.money(40),
        "turnover": m.money(900_000),
        "exports_pct": m.whole(0, 100, peak=0.1),
        "innovates": m.codes(marks=(9,), labels=YES),
        "region": m.codes(*range(1, 8)),
        "design_weight": m.weights(17),
    }


def travel_diary() -> dict[str, Column]:
    m = Maker(14, 2000)
    speed = np.where(m.draw.random(2000) < 0.05, "NA", m.money(30, places=1)[0].astype(str))
    odd = np.where(m.draw.random(2000) < 0.1, "approx.", m.money(30, places=2)[0].astype(str))
    return {
        "trip": (np.arange(1, 2001), ID),
        "mode": m.any_of("walk", "bike", "car", "train", marks=("?",)),
        "speed": (speed, Truth("continuous", ("NA",))),
        "start": m.days("2024-06-01", "2024-06-30"),
        "passengers": m.whole(0, 4, peak=0.2, kind="integer|categorical"),
        "purpose": m.codes(*range(1, 10)),
        "cost": (odd, DROP),
        "how_often": m.any_of("daily", "weekly", "monthly", "rarely", "never", kind="ordinal"),
        "wt": m.weights(1.0),
    }


def health_survey() -> dict[str, Column]:
    m = Maker(15, 1100)
    smoke = numbered("Every day, Some days, Not at all")
    return {
        "idno": (np.arange(100_001, 101_101), ID),
        "gndr": m.codes(marks=(9,), labels=numbered("Male, Female")),
        "cntry": m.any_of("AT", "BE", "CH", "DE", "FR"),
        "smoke": m.codes(marks=(7, 9), labels=smoke, kind="ordinal"),
        "doctor": m.codes(marks=(7, 9), labels=YES),
        "health": m.codes(labels=numbered("Very good, Good, Fair, Bad, Very bad"), kind="ordinal"),
        "height": m.whole(145, 205, peak=0.5, marks=(777, 888)),
        "netusoft": m.codes(
            marks=(-1,),
            labels=numbered("Never, Only occasionally, A few times a week, Most days, Every day"),
            kind="ordinal",
        ),
        "yrbrn": m.whole(1930, 2006, peak=0.5, marks=(7777,)),
        "pspwght": m.weights(),
    }


HEALTH_WORDS = {
    "gndr": {9: "No answer"},
    "smoke": {7: "Refused", 9: "Don't know"},
    "doctor": {7: "Refused", 9: "Don't know"},
    "netusoft": {-1: "Not applicable"},
    "height": {777: "Refusal", 888: "Don't know"},
    "yrbrn": {7777: "Refusal"},
}


def census_extract() -> dict[str, Column]:
    m = Maker(16, 5000)
    hh, person, size = m.households()
    return {
        "SERIAL": (hh, UNIT),
        "PERNUM": (person, Truth(ANY)),
        "NUMPREC": (size, Truth(ANY)),
        "PERWT": (m.whole(20, 300)[0], WEIGHT),
        "STATEFIP": m.any_of(1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 17, 36, 48),
        "SEX": m.codes(1, 2),
        "AGE": m.whole(0, 95),
        "MARST": m.codes(1, 2, 3, 4, 5, 6),
        "RACE": m.codes(1, 2, 3, 4, 5, 6, 7, 8),
        "EDUC": m.codes(*range(12), kind=EITHER),
        "EMPSTAT": m.codes(0, 1, 2, 3),
        "OCC1990": m.any_of(*range(3, 906, 7)),
        "UHRSWORK": m.whole(0, 90),
        "INCTOT": m.money(31_000, marks=(9_999_999,)),
        "TRANTIME": m.whole(0, 120, peak=0.2),
    }


# Written when the rules stood: at the first try, 48 of these 51 columns were right.


def income_conditions() -> dict[str, Column]:
    m = Maker(21, 2400)
    hh, _, _ = m.households()
    status = numbered(
        "Employee full time, Employee part time, Self-employed, Unemployed, Retired, Disabled, Domestic tasks"
    )
    general = numbered("Very good, Good, Fair, Bad, Very bad")
    return {
        "RB010": (np.full(2400, 2023), WHOLE),
        "RB030": (hh * 100 + m.draw.integers(1, 100, 2400) + 7 * np.arange(2400), ID),
        "RX030": (hh, UNIT),
        "RB050": m.weights(612),
        "RB080": m.whole(1930, 2020, peak=0.5),
        "RB090": m.codes(labels=numbered("Male, Female")),
        "PL031": m.codes(marks=(-1,), labels=status),
        "PE040": m.codes(0, 100, 200, 300, 400, 500, kind=EITHER),
        "PH010": m.codes(marks=(-1,), labels=general, kind="ordinal"),
        "PH020": m.codes(marks=(-1,), labels=YES),
        "PY010N": m.money(19_000, places=2),
        "PL060": m.whole(1, 80, marks=(-2,)),
        "HS120": m.codes(1, 2, 3, 4, 5, 6, kind=EITHER),
        "DB100": m.codes(1, 2, 3),
    }


INCOME_WORDS = {"PL031": {-1: "Not applicable"}, "PH010": {-1: "Missing"}, "PH020": {-1: "Missing"}}
INCOME_LABELS = {
    "RB010": "Year of the survey",
    "RB030": "Personal ID",
    "RX030": "Household ID",
    "RB050": "Personal cross-sectional weight",
    "RB080": "Year of birth",
    "PL060": "Hours usually worked per week in main job",
    "HS120": "Ability to make ends meet",
}


def tax_register() -> dict[str, Column]:
    m = Maker(22, 3500)
    gross, _ = m.money(52_000, places=2)
    tax = (gross * 0.2).round(2)
    return {
        "taxpayer": ([f"{n:011d}" for n in m.draw.choice(10**9, 3500, replace=False)], ID),
        "year": m.codes(2021, 2022, 2023, kind=ANY),
        "canton": m.any_of("AG", "BE", "GE", "TI", "VD", "ZH"),
        "commune": m.any_of(*range(1, 6800, 61)),
        "filing_status": m.any_of("single", "married", "widowed", "divorced"),
        "dependants": m.whole(0, 6, peak=0.15, kind="integer|categorical"),
        "gross_income": (gross, REAL),
        "tax_due": (tax, REAL),
        "net_income": ((gross - tax).round(2), REAL),
        "assets": m.money(120_000),
        "assessed_on": m.days("2022-03-01", "2024-11-30"),
        "appeal": m.any_of("Y", "N"),
    }


def cancer_registry() -> dict[str, Column]:
    m = Maker(23, 1800)
    return {
        "reg_no": (20_240_000 + np.arange(1800), ID),
        "dx_date": m.days("2010-01-01", "2022-12-31"),
        "age_dx": m.whole(0, 99, peak=0.65),
        "sex": m.codes(1, 2, marks=(9,)),
        "topography": m.any_of(*(f"C{n:02d}.{d}" for n in range(15, 80, 3) for d in (0, 9))),
        "morphology": m.any_of(
            8000, 8010, 8070, 8140, 8500, 8520, 8720, 9680, 9732, 9823, 9861, 8041, 8312, 8441
        ),
        "behaviour": m.codes(2, 3),
        "stage": m.any_of("I", "II", "III", "IV", kind=EITHER),
        "grade": m.codes(1, 2, 3, 4, marks=(9,), kind=EITHER),
        "tumour_size_mm": m.whole(1, 120, peak=0.2, marks=(999,)),
        "nodes_positive": m.whole(0, 30, peak=0.05, marks=(98, 99)),
        "vital_status": m.any_of("alive", "dead"),
        "survival_months": m.whole(0, 150),
        "hospital": ([f"H{n:02d}" for n in m.draw.integers(1, 25, 1800)], CODE),
    }


def demographic_health() -> dict[str, Column]:
    m = Maker(24, 1600)
    educ = {0: "no education", 1: "primary", 2: "secondary", 3: "higher"}
    wealth = numbered("poorest, poorer, middle, richer, richest")
    return {
        "caseid": (
            [
                f"{c:4d} {h:3d} {n:2d}"
                for c, h, n in zip(*(m.draw.integers(1, top, 1600) for top in (400, 200, 30)), strict=True)
            ],
            ID,
        ),
        "v001": (m.draw.integers(1, 401, 1600), WHOLE),
        "v005": m.money(1_000_000),
        "v012": m.whole(15, 49),
        "v025": m.codes(labels=numbered("urban, rural")),
        "v106": m.codes(labels=educ, kind="ordinal"),
        "v190": m.codes(labels=wealth, kind=EITHER),
        "v201": m.whole(0, 12, peak=0.2, kind="integer|categorical"),
        "v481": m.codes(marks=(9,), labels={0: "no", 1: "yes"}),
        "v511": m.whole(12, 35, marks=(97, 98)),
        "bmi100": m.whole(1400, 4200, marks=(9998,)),
    }


# Written later again, by somebody else: at the first try, 28 of these 31 columns and 79 of 90 in six files were right.


def household_budgets() -> dict[str, Column]:
    m = Maker(101, 3200)
    hh, person, size = m.households(6)
    return {
        "nr_gosp": (hh, UNIT),
        "nr_os": (person, Truth(ANY)),
        "plec": m.codes(1, 2),
        "wiek": m.whole(0, 94),
        "woj": m.any_of(*range(2, 33, 2)),
        "klm": m.codes(1, 2, 3, 4, 5, 6, kind=EITHER),
        "wykszt": m.codes(1, 2, 3, 4, 5, 6, 7, marks=(99,), kind=EITHER),
        "stan_cyw": m.codes(1, 2, 3, 4, 5),
        "l_osob": (size, Truth(ANY)),
        "dochod": with_commas(m.money(4200, places=2)),
        "wydatki": with_commas(m.money(2900, places=2)),
        "waga_gd": with_commas(m.weights(1450.0), 4),
        "data_wyw": as_written(m.days("2023-01-02", "2023-12-30"), "%d.%m.%Y"),
        "ocena": m.any_of("bardzo dobra", "raczej dobra", "przeciętna", "raczej zła", "zła", kind=EITHER),
        "uwagi": m.prose(),
    }


def discharges() -> dict[str, Column]:
    m = Maker(102, 2600)
    codes = [f"{a}{n:02d}.{d}" for a in "IJKN" for n in range(10, 60, 7) for d in (0, 1, 9)]
    return {
        "num_historia": (m.draw.integers(200_000, 201_700, 2600), UNIT),
        "hospital": m.any_of(80012, 80044, 80107, 80115, 80203, 80311),
        "sexo": m.codes(1, 2, marks=(9,)),
        "edad": m.whole(0, 101, peak=0.65),
        "cod_postal": ([f"{n:05d}" for n in m.draw.integers(8001, 8043, 2600)], CODE),
        "fecha_ingreso": as_written(m.days("2022-01-01", "2022-12-01"), "%d/%m/%Y"),
        "fecha_alta": as_written(m.days("2022-01-03", "2022-12-31"), "%d/%m/%Y"),
        "dias_estancia": (np.minimum(m.draw.geometric(0.16, 2600), 90), WHOLE),
        "tipo_alta": m.codes(1, 2, 3, 4, marks=(9,)),
        "servicio": m.any_of("MIR", "CGD", "TRA", "PED", "OBG", "NRL", "CAR"),
        "diag_ppal": m.any_of(*codes),
        "n_procedimientos": (np.minimum(m.draw.poisson(2.1, 2600), 15), WHOLE),
        "grd": m.any_of(*range(4, 950, 13)),
        "gravedad": m.any_of("leve", "moderada", "mayor", "extrema", kind=EITHER),
        "coste": with_commas(m.money(3800, places=2)),
        "reingreso": m.any_of("S", "N"),
    }


# Writing them, each as the program writes it that people use.


def _frame(columns: dict[str, Column]) -> pd.DataFrame:
    return pd.DataFrame({name: cells for name, (cells, _) in columns.items()})


def _csv(columns: dict[str, Column], path: Path, delimiter: str = ",") -> None:
    with path.open("w", newline="", encoding="utf-8") as sink:
        writer = csv.writer(sink, delimiter=delimiter)
        writer.writerow(columns)
        writer.writerows(zip(*(cells for cells, _ in columns.values()), strict=True))


def _semicolons(columns: dict[str, Column], path: Path) -> None:
    _csv(columns, path, ";")


def _words(columns: dict[str, Column], more: dict[str, dict[int, str]]) -> dict[str, dict[int, str]]:
    said = {name: dict(truth.labels or {}) for name, (_, truth) in columns.items() if name != "trust"}
    return {name: found for name in columns if (found := said.get(name, {}) | more.get(name, {}))}


def _days(cells: Any) -> bool:
    return isinstance(cells, np.ndarray) and cells.dtype.kind == "M"


def _sav(columns: dict[str, Column], path: Path) -> None:
    import pyreadstat

    words = _words(columns, SPSS_WORDS | HEALTH_WORDS | INCOME_WORDS)
    declared = {
        name: [float(m) for m in t.marks][:3]
        for name, (_, t) in columns.items()
        if t.marks and name != "agree_b"
    }
    frame = _frame({name: (_stored(cells), truth) for name, (cells, truth) in columns.items()})
    pyreadstat.write_sav(
        frame,
        str(path),
        variable_value_labels={n: {float(c): w for c, w in found.items()} for n, found in words.items()},
        missing_ranges=declared,
        column_labels=INCOME_LABELS
        | {"income": "Net household income per month", "hours_tv": "Hours of television per day"},
    )


def _stored(cells: Any) -> Any:
    """SPSS has numbers, texts, and dates that are numbers."""
    if _days(cells):
        return [day.astype(object) for day in cells]
    return cells if isinstance(cells[0], str) else np.asarray(cells, float)


def _dta(columns: dict[str, Column], path: Path) -> None:
    import pyreadstat

    words = _words(
        columns, {"health": {-2: "refused"}, "innovates": {9: "no answer"}, "v481": {9: "missing"}}
    )
    frame = _frame(
        {n: ([d.astype(object) for d in c] if _days(c) else c, t) for n, (c, t) in columns.items()}
    )
    frame = frame.astype(dict.fromkeys(words, "int32"))
    pyreadstat.write_dta(frame, str(path), variable_value_labels=words)


def _xpt(columns: dict[str, Column], path: Path) -> None:
    import pyreadstat

    pyreadstat.write_xport(_frame(columns).astype(float), str(path))


def _rds(columns: dict[str, Column], path: Path) -> None:
    import rdata

    frame = _frame(columns)
    numbers = {name: "int32" for name in frame if frame[name].dtype.kind == "i"}
    rdata.write_rds(path, frame.astype(numbers))


def _parquet(columns: dict[str, Column], path: Path) -> None:
    _frame(columns).to_parquet(path)


def _xlsx(columns: dict[str, Column], path: Path) -> None:
    """A workbook with a sheet of notes before the table: made by the tests' own writer, which needs no library."""
    from workbooks import write_xlsx

    cells = [[_cell(cell) for cell in column] for column, _ in columns.values()]
    rows = [list(columns), *map(list, zip(*cells, strict=True))]
    write_xlsx(path, {"README": [["Personnel file"], ["Do not share"]], "Data": rows})


def _cell(cell: Any) -> Any:
    if isinstance(cell, np.datetime64):
        return cell.astype(object)
    return cell.item() if isinstance(cell, np.generic) else cell


FILES: dict[str, tuple[Callable[[], dict[str, Column]], Callable[[dict[str, Column], Path], None], str]] = {
    "household survey": (household_survey, _csv, "households.csv"),
    "labour force survey": (labour_force, _csv, "lfs.csv"),
    "hospital register": (hospital_register, _csv, "hospital.csv"),
    "European CSV": (european_csv, _semicolons, "umfrage.csv"),
    "attitudes, with labels": (spss_survey, _sav, "attitudes.sav"),
    "living standards": (stata_survey, _dta, "living.dta"),
    "health examination": (sas_transport, _xpt, "nhes.xpt"),
    "rents, with factors": (r_factors, _rds, "rents.rds"),
    "personnel workbook": (workbook, _xlsx, "personnel.xlsx"),
    "ambulance events": (timestamps_register, _parquet, "events.parquet"),
    "wide questionnaire": (questionnaire, _csv, "likert.csv"),
    "school marks": (school_marks, _csv, "marks.csv"),
    "business survey": (business_survey, _dta, "firms.dta"),
    "travel diary": (travel_diary, _csv, "trips.csv"),
    "social survey": (health_survey, _sav, "social.sav"),
    "census extract": (census_extract, _csv, "census.csv"),
}
LATER = {
    "income and living conditions": (income_conditions, _sav, "silc.sav"),
    "tax register": (tax_register, _csv, "tax.csv"),
    "cancer registry": (cancer_registry, _csv, "cancer.csv"),
    "demographic and health survey": (demographic_health, _dta, "dhs.dta"),
    "household budgets": (household_budgets, _semicolons, "budzety.csv"),
    "hospital discharges": (discharges, _semicolons, "cmbd.csv"),
}


def wrong(draft: coterie.Draft, columns: dict[str, Column]) -> dict[str, str]:
    """The columns that are not as their codebook says, and in what."""
    found = {}
    for name, (_, truth) in columns.items():
        attribute = draft.schema[name]
        dropped = attribute.role is coterie.Role.IDENTIFIER
        labels = attribute.categories.labels if attribute.categories is not None else None
        if dropped is not (truth.type == "drop") or (not dropped and attribute.type.value not in truth.types):
            found[name] = f"{'dropped' if dropped else attribute.type.value} for {truth.type}"
        elif draft.suggestions.get(name, "") != truth.suggestion:
            found[name] = f"suggestion '{draft.suggestions.get(name, '')}' for '{truth.suggestion}'"
        elif not dropped and set(attribute.missing_marks) != set(truth.marks):
            found[name] = f"missing {attribute.missing_marks} for {truth.marks}"
        elif truth.labels is not None and labels != tuple(map(str, truth.labels)):
            found[name] = f"labels {labels}"
    return found


def scores(folder: Path) -> Iterator[tuple[str, str, int, dict[str, str]]]:
    for title, (make, write, name) in (FILES | LATER).items():
        columns, path = make(), folder / name
        write(columns, path)
        draft = coterie.Schema.draft(path, table="Data" if name.endswith(".xlsx") else None)
        yield title, path.suffix, len(columns), wrong(draft, columns)


def run() -> Iterator[str]:
    yield "| file | | columns | right |"
    yield "|---|---|---|---|"
    total = right = 0
    with tempfile.TemporaryDirectory() as folder:
        for title, suffix, columns, faults in scores(Path(folder)):
            total, right = total + columns, right + columns - len(faults)
            yield f"| {title} | `{suffix}` | {columns} | {columns - len(faults)} |"
    yield f"| **all** | | **{total}** | **{right}** |"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        for line in scores(Path(place)):
            print(*line)
