"""Ranges and labels that are known without the table: by definition, from the file's own codebook, or by common sense.

A range follows from a column's name, label, unit and width alone; no value is looked at. Of labels, only the spelling is
read off the table: "female" and "male" are offered where both are written so.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from coterie.schema.attributes import AttributeType, Role
from coterie.studio.attribute_form import AttributeForm


@dataclass(frozen=True, slots=True)
class Suggestion:
    words: str  # what would be written: "0 to 120 years"
    because: str  # where it is known from; written as the reason why it is public
    fields: dict[str, str]  # of the row's form

    def accept(self, row: AttributeForm) -> None:
        for entry, text in self.fields.items():
            setattr(row, entry, text)
        row.because = self.because or row.because
        row.search = row.share = ""


_NOBODY, _SENSE = "common sense: nobody is older", "common sense: far beyond what people have"
_DEFINED, _CALENDAR = "by definition", "by definition: the calendar"
# One of these words in the name or the label: the range, its unit, and where it is known from.
_RANGES = (
    ("bmi", 5, 150, "kg/m²", _SENSE),
    ("percent percentage pct prozent pourcentage porcentaje", 0, 100, "%", f"{_DEFINED}: a percentage"),
    ("age alter edad leeftijd âge idade età", 0, 120, "years", _NOBODY),
    ("birthyear geburtsjahr yob", 1890, 2100, "", _NOBODY),
    ("latitude lat", -90, 90, "°", _DEFINED),
    ("longitude lon lng", -180, 180, "°", _DEFINED),
    ("month monat mois mes", 1, 12, "", _CALENDAR),
    ("weekday wochentag", 1, 7, "", _CALENDAR),
    ("hour stunde heure", 0, 24, "", _CALENDAR),
    ("systolic", 0, 400, "mmHg", _SENSE),
    ("diastolic", 0, 300, "mmHg", _SENSE),
    ("pulse puls heartrate", 0, 400, "per minute", _SENSE),
    ("children kinder enfants hijos", 0, 30, "", _SENSE),
    ("ph", 0, 14, "", _DEFINED),
)
_PER_WEEK, _HOURS = {"week", "weekly", "woche", "semaine"}, {"hours", "hour", "stunden", "heures"}
_BODY = (("height größe", 0, 280, "cm"), ("weight gewicht", 0, 700, "kg"))
_NOT_OF_ONE = "mean average avg change diff difference group std log index total sum"
_USUAL = (
    "female male;female male other;f m;f m x;w m;w m d;weiblich männlich;weiblich männlich divers;femme homme;mujer hombre;"
    "vrouw man;yes no;ja nein;ja nee;oui non;sí no;si no;y n;true false"
)
_ANSWERS = tuple(tuple(words.split()) for words in _USUAL.split(";"))
_WIDTH = re.compile(
    r"F([1-7])(?:\.0)?"
)  # of SPSS; eight digits are what it writes where nobody chose a width


def suggested(row: AttributeForm, seen: Collection[str] = ()) -> Suggestion | None:
    """What could stand in the place of what is open, or of what came from the data. `seen`: texts that occur."""
    if row.role not in (Role.PROTECT, Role.WEIGHT) or not (row.open or row.from_data):
        return None
    if row.ranged and row.type in (AttributeType.INTEGER, AttributeType.CONTINUOUS):
        return None if row.role == Role.WEIGHT else _range(row)
    return _labels(row, seen) if row.labelled else None


def _range(row: AttributeForm) -> Suggestion | None:
    words = {
        *re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-zß-ÿ])(?=[A-Z])", " ", f"{row.name} {row.label}").lower())
    }
    unit = row.unit.strip()
    if words & {*_NOT_OF_ONE.split()}:
        return None
    if words & _PER_WEEK and words & _HOURS:
        return _between(0, 168, "hours", "by definition: a week has 168 hours")
    if unit == "%":
        return _between(0, 100, unit, f"{_DEFINED}: a percentage")
    for known, low, high, measured in _BODY:
        if words & {*known.split()} and (unit == measured or measured in words):
            return _between(low, high, measured, _SENSE)
    for known, low, high, measured, because in _RANGES:
        if words & {*known.split()} and unit in ("", measured):
            return _between(low, high, measured, because)
    width = _WIDTH.fullmatch(row.format)
    if width and row.type == AttributeType.INTEGER:
        return _between(
            0, 10 ** int(width[1]) - 1, unit, f"form: the field is {width[1]} digits wide in the file"
        )
    return None


def _between(low: int, high: int, unit: str, because: str) -> Suggestion:
    fields = {"lower": str(low), "upper": str(high)} | ({"unit": unit} if unit else {})
    return Suggestion(f"{low:,} to {high:,}{f' {unit}' if unit else ''}".replace("-", "−"), because, fields)


def _labels(row: AttributeForm, seen: Collection[str]) -> Suggestion | None:
    marks, codes = {*row.marks.split("\n")}, [line.partition(" = ") for line in row.words.split("\n") if line]
    if codes:
        labels = [code for code, _, _ in codes if code not in marks]
        words = ", ".join(f"{code} {text}" for code, _, text in codes[:6] if code not in marks)
        return _these(
            labels, words + (" …" if len(codes) > 6 else ""), "codebook: the value labels in the file"
        )
    spelled = {text.strip().casefold(): text.strip() for text in seen if text and text.strip() not in marks}
    for answers in _ANSWERS:
        if len(spelled) > 1 and {*spelled} <= {*answers}:
            like = next(iter(spelled.values()))
            style = str.upper if like.isupper() else str.title if like[:1].isupper() else str.lower
            labels = [spelled.get(answer) or style(answer) for answer in answers]
            return _these(labels, ", ".join(labels), "common sense: the usual answers")
    return None


def _these(labels: list[str], words: str, because: str) -> Suggestion:
    return Suggestion(words, because, {"labels": "\n".join(labels), "taxonomy": ""})
