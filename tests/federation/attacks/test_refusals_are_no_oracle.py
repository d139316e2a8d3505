"""The aggregator bisects an owner's largest value by the bounds of its studies, and reads yes or no. It learns nothing."""

from __future__ import annotations

from typing import Any

from federation_world import ATTRIBUTES, Look, people


def _asked(world: Any, home: Any, other: str, upper: int) -> dict[str, Any]:
    stay = {**ATTRIBUTES["stay"], "domain": {"lower": 0, "upper": upper}}
    study = world.study([home.owner, other], attributes={**ATTRIBUTES, "stay": stay})
    Look(world, home).once()
    return dict(world.part(study, home.owner))


def test_bounds_inside_the_declared_ones_are_refused_unopened(shared: Any) -> None:
    home, other = shared.join("oracle-a"), shared.join("oracle-b")
    shared.give(home, people(40, 1))
    answers = [_asked(shared, home, other.owner, upper) for upper in (30, 45, 52, 56)]
    assert {(part["state"], part["reason"]) for part in answers} == {
        ("REFUSED", "the study does not take all values that the policy declares possible for 'stay'")
    }
    assert not home.journal.noted("table opened"), (
        "what is refused by declared facts asks nothing of the data"
    )
    assert _asked(shared, home, other.owner, 60)["state"] == "APPROVED"
    assert len(home.journal.noted("table opened")) == 1


def test_rows_are_not_counted_by_k(shared: Any) -> None:
    """A study needs 2k rows. A table of 1,234 was counted in 17 studies and 16 s, ε 0."""
    home, other = shared.join("oracle-e"), shared.join("oracle-f")
    shared.give(home, people(250, 1))
    asked = [shared.study([home.owner, other.owner], k=k) for k in (100, 101, 125, 126, 50_000)]
    Look(shared, home).once()
    parts = [shared.part(study, home.owner) for study in asked]
    assert [part["state"] for part in parts] == ["APPROVED", *["REFUSED"] * 4]
    assert {part["reason"].partition(" (")[0] for part in parts[1:]} == {"k is larger than the policy allows"}
    assert {line["study"] for line in home.journal.noted("table opened")} == {asked[0].id}


def test_studies_are_limited_by_number_and_time(shared: Any) -> None:
    """Whether a table fits is one bit a study; the owner decides how many bits."""
    home, other = shared.join("oracle-c"), shared.join("oracle-d")
    shared.give(home, people(9, 1), studies={"most": 2, "days": 30})  # fewer than 2k: it never fits
    answers = [_asked(shared, home, other.owner, 60)["reason"] for _ in range(4)]
    unfit = "the owner's table could not be protected under this study's description"
    limit = "this owner's limit on studies is reached (limit 2 in 30 days)"
    assert answers == [unfit, unfit, limit, limit]
    assert len({line["study"] for line in home.journal.noted("table opened")}) == 2
    assert home.journal.first_broken() is None
