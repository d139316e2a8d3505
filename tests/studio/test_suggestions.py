"""What is known without the table is offered with where it is known from; what is not known is not guessed."""

from __future__ import annotations

import pytest

from coterie.studio.attribute_form import AttributeForm
from coterie.studio.suggestions import suggested


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (AttributeForm("age", type="integer"), "0 to 120 years"),
        (AttributeForm("ageAtEntry", type="integer"), "0 to 120 years"),
        (AttributeForm("v12", label="Alter in Jahren"), "0 to 120 years"),
        (AttributeForm("share_percent"), "0 to 100 %"),
        (AttributeForm("q", unit="%"), "0 to 100 %"),
        (AttributeForm("hours-per-week"), "0 to 168 hours"),
        (AttributeForm("height_cm"), "0 to 280 cm"),
        (AttributeForm("lat"), "−90 to 90 °"),
        (AttributeForm("rooms", type="integer", format="F2.0"), "0 to 99"),
        (AttributeForm("age", unit="months"), None),  # the range is in years
        (AttributeForm("mean_age"), None),
        (AttributeForm("weight"), None),  # of a body or of a survey: nobody can know
        (AttributeForm("income"), None),
        (AttributeForm("x", type="integer", format="F8.2"), None),  # what SPSS writes if nobody chose
        (AttributeForm("age", lower="0", upper="99"), None),  # described already
        (AttributeForm("age", role="identifier"), None),
    ],
)
def test_a_range_follows_from_name_label_unit_and_width(row: AttributeForm, words: str | None) -> None:
    found = suggested(row)
    assert (found and found.words) == words
    if found:
        found.accept(row)
        assert row.public
        assert row.because == found.because, "where it is known from goes into the schema and the certificate"


@pytest.mark.parametrize(
    ("seen", "labels"),
    [
        (["male", "female"], "female\nmale"),
        (["weiblich", "männlich", "divers"], "weiblich\nmännlich\ndivers"),
        (["Yes", "No"], "Yes\nNo"),
        (["F", "M"], "F\nM"),
        (["f", "m", "x"], "f\nm\nx"),
        (["north", "south"], None),
        (["yes"], None),
    ],
)
def test_the_usual_answers_are_spelled_as_in_the_table(seen: list[str], labels: str | None) -> None:
    row = AttributeForm("q", type="categorical")
    found = suggested(row, seen)
    assert (found and found.fields["labels"]) == labels


def test_codes_come_from_the_files_own_codebook_without_its_missing_marks() -> None:
    row = AttributeForm("roof", type="categorical", words="1 = tile\n2 = metal\n9 = not stated", marks="9")
    row.labels, row.leaks = "1", "labels"  # as filled from the data: only what occurs
    found = suggested(row)
    assert found is not None
    found.accept(row)
    assert row.labels == "1\n2"
    assert "codebook" in row.because
