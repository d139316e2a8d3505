"""Whatever is wrong with an owner's table, the bytes that leave the machine are the same: a refusal is no query."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from federation_world import ATTRIBUTES, Look, people
from lying_aggregator import Lies, lying

from coterie.federation.documents import wire
from coterie.federation.documents.signed import Signed
from coterie.federation.owner import answering as owner_table
from coterie.federation.owner.policy import UNFIT

_numbers = count()
# The hash of a body follows from the body, which is compared; the diary's last line is marked with the owner's own key.
_EACH_TIME_NEW = tuple(
    name.lower() for name in (wire.TIME, wire.NONCE, wire.SIGNATURE, wire.BODY, wire.DIARY)
)
ROWS = 30


def spoiled(column: str, values: Any) -> pa.Table:
    table = people(ROWS, 1)
    return table.set_column(table.column_names.index(column), column, pa.array(values))


def first(number: int, wrong: Any, right: Any, rows: int = ROWS) -> list[Any]:
    return [wrong] * number + [right] * (rows - number)


IDS = [f"Q{number}" for number in range(ROWS)]
TABLES: dict[str, pa.Table] = {
    "one value above": spoiled("stay", first(1, 60.5, 1.0)),
    "fifteen values above": spoiled("stay", first(15, 87.125, 1.0)),
    "one value below": spoiled("age", first(1, -1, 30)),
    "one missing": spoiled("age", first(1, None, 30)),
    "four missing": spoiled("stay", first(4, None, 1.0)),
    "all missing": spoiled("age", pa.array([None] * ROWS, pa.int64())),
    "a missing label": spoiled("ward", first(1, None, "north")),
    "one unknown label": spoiled("ward", first(1, "west", "north")),
    "three unknown labels": spoiled("ward", first(3, "west", "north")),
    "text for a number": spoiled("stay", first(1, "long", "1.5")),
    "all text": spoiled("stay", ["long"] * ROWS),
    "a fraction for a whole number": spoiled("age", first(1, 30.5, 30.0)),
    "not a number": spoiled("stay", first(1, float("inf"), 1.0)),
    "bytes": spoiled("ward", [b"\xff\xfe"] * ROWS),
    "lists": spoiled("stay", [[1.0]] * ROWS),
    "far too large": spoiled("age", first(1, "1" + "0" * 400, "30")),
    "no rows": people(0, 1),
    "one row": people(1, 1),
    "nine rows": people(9, 1),
    "no such column": people(ROWS, 1).drop_columns(["stay"]),
    "a column twice": people(ROWS, 1).append_column("stay", pa.array([1.0] * ROWS)),
}
OF_IDS = {
    "an id twice": spoiled("patient", ["Q1", "Q1", *IDS[2:]]),
    "ids three times": spoiled("patient", ["Q1", "Q1", "Q1", *IDS[3:]]),
    "an id missing": spoiled("patient", [None, *IDS[1:]]),
    "ids that are bytes": spoiled("patient", [b"\xff\xfe"] * ROWS),
    "ids that are fractions": spoiled("patient", [1.5] * ROWS),
    "no ids": people(ROWS, 1).drop_columns(["patient"]),
}


def stored(table: pa.Table) -> Callable[[Path], None]:
    return lambda path: pq.write_table(table, path)


FILES: dict[str, Callable[[Path], None]] = {
    **{name: stored(table) for name, table in TABLES.items()},
    "no file": lambda path: path.unlink(missing_ok=True),
    "no table": lambda path: path.write_bytes(b"patient,age\n1"),
    "half a table": lambda path: path.write_bytes(path.read_bytes()[:200]),
}


@pytest.fixture(scope="session")
def asked(shared: Any) -> Iterator[tuple[Any, Any, Lies]]:
    """One owner, and an aggregator that asks whatever a test wants."""
    home = shared.join("asked-by-a-liar")
    with lying(shared.aggregator.folder, shared.aggregator.keys) as lies:
        yield shared, home, lies


def ask(lies: Lies, study: Any, keys: Any) -> None:
    envelope = Signed.of(study, keys).content()
    wanted = {"id": study.id, "study": envelope, "state": "PUBLISHED", "contribution": "INVITED"}
    rest = dict.fromkeys(("reason", "contribution_reason", "group_key", "receipt", "release"))
    lies.desired = {"version": f"{next(_numbers):032d}", "owner": "", "studies": [{**rest, **wanted}]}


def sent(world: Any, home: Any, lies: Lies) -> tuple[list[Any], Look]:
    """Every request of one look of the agent, to the byte, without what is new in every request."""
    look, found = Look(world, home, lies.url), []

    def heard(request: httpx.Request) -> None:
        headers = {name: value for name, value in request.headers.items() if name not in _EACH_TIME_NEW}
        body = json.loads(request.content) if request.content else None
        if body is not None:
            body.pop("signature"), body["document"].pop("at")
        headers.pop("content-length", None) if body is None else None
        found.append((request.method, str(request.url), sorted(headers.items()), body))

    look.client._http.event_hooks = {"request": [heard]}
    look.once()
    return found, look


def study_of(shared: Any, home: Any, **changes: Any) -> Any:
    other = shared.join(f"beside-a-liar-{next(_numbers)}")
    study = shared.study(changes.pop("owners", [home.owner, other.owner]), **changes)
    shared.cancel_all()  # the real aggregator need not look at it
    return study


def test_every_table_that_does_not_fit_is_refused_in_the_same_bytes(asked: Any) -> None:
    shared, home, lies = asked
    ask(lies, study_of(shared, home), shared.aggregator.keys)
    answers: dict[str, Any] = {}
    for name, write in FILES.items():
        path = shared.give(home, people(ROWS, 1))
        write(path)
        answers[name], look = sent(shared, home, lies)
        assert [event for event, _, _ in look.said] == ["refused"], (name, look.said)
        noted = home.journal.diary()[-1]
        assert noted["reason"] == UNFIT
        assert noted["detail"], "here, and only here, it is said what is wrong"
    expected = answers["no rows"]
    assert len(expected) == 2, "a question and an answer"
    assert expected[1][3]["document"]["reason"] == UNFIT
    assert not expected[1][3]["document"]["figures"]
    assert [name for name, answer in answers.items() if answer != expected] == []


def test_so_is_every_table_that_cannot_be_joined(asked: Any) -> None:
    shared, home, lies = asked
    other = shared.join("joined-with-a-liar")
    owners = {home.owner: ["age", "ward"], other.owner: ["stay"]}
    for study in (
        study_of(
            shared, home, owners=owners, fragmentation="vertical", identifier="patient", lead=other.owner
        ),
        study_of(
            shared, home, owners=owners, fragmentation="vertical", identifier="patient", join="blinded ids"
        ),
    ):
        ask(lies, study, shared.aggregator.keys)
        answers = {}
        for name, table in {**OF_IDS, "nine rows": TABLES["nine rows"]}.items():
            shared.give(home, table, blinded=True)
            answers[name], _ = sent(shared, home, lies)
        assert len({json.dumps(answer) for answer in answers.values()}) == 1, answers
        assert answers["no ids"][1][3]["document"]["reason"] == UNFIT


def bounded(upper: float, **entries: Any) -> dict[str, Any]:
    return {
        "attributes": {
            **ATTRIBUTES,
            "stay": {**ATTRIBUTES["stay"], "domain": {"lower": 0, "upper": upper}, **entries},
        }
    }


@pytest.mark.parametrize("upper", [12.5, 31.0, 45.0, 59.9])
def test_bounds_cannot_be_bisected(asked: Any, monkeypatch: pytest.MonkeyPatch, upper: float) -> None:
    """The study's bounds are compared with those that the owner declares, before the table is opened."""
    shared, home, lies = asked
    ask(lies, study_of(shared, home, **bounded(upper)), shared.aggregator.keys)
    shared.give(home, people(ROWS, 1))
    with monkeypatch.context() as closed:
        closed.setattr(owner_table, "read_table", lambda *_, **__: pytest.fail("the table was opened"))
        expected, _ = sent(shared, home, lies)
    assert "declares possible for 'stay'" in expected[1][3]["document"]["reason"]
    for largest in (5.0, 40.0, 59.95, 70.0):
        shared.give(home, spoiled("stay", first(1, largest, 1.0)))
        assert sent(shared, home, lies)[0] == expected


def test_labels_cannot_be_tried(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shared, home, lies = asked
    fewer = {**ATTRIBUTES, "ward": {**ATTRIBUTES["ward"], "categories": {"labels": ["north", "south"]}}}
    ask(lies, study_of(shared, home, attributes=fewer), shared.aggregator.keys)
    shared.give(home, people(ROWS, 1))
    monkeypatch.setattr(owner_table, "read_table", lambda *_, **__: pytest.fail("the table was opened"))
    answer, _ = sent(shared, home, lies)
    assert "declares possible for 'ward'" in answer[1][3]["document"]["reason"]


def test_who_cannot_pay_does_not_look(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise studies that are too dear would ask about the table for nothing."""
    shared, home, lies = asked
    ask(lies, study_of(shared, home, epsilon="11"), shared.aggregator.keys)
    shared.give(home, people(ROWS, 1), maximum_epsilon="100")
    monkeypatch.setattr(owner_table, "read_table", lambda *_, **__: pytest.fail("the table was opened"))
    answer, _ = sent(shared, home, lies)
    assert answer[1][3]["document"]["figures"] == {
        "requested": "22",
        "remaining": "10",
        "limit": "10",
    }  # idp-ls: 2ε


@pytest.mark.parametrize(
    ("bounds", "upper", "fits"),
    [
        (bounded(60.0), 60.0, True),
        (bounded(75.0), 60.0, True),
        (bounded(50.0, outside="clip"), 60.0, True),
        (bounded(50.0, outside="clip"), None, True),
        (bounded(60.0), 60.5, False),
        (bounded(60.0), None, False),
        (bounded(60.0), "many", False),
    ],
)
def test_which_bounds_an_owner_takes(shared: Any, bounds: Any, upper: Any, fits: bool) -> None:
    from coterie.federation.owner.policy import Declared

    names = [shared.join(f"bounds-{next(_numbers)}").owner for _ in range(2)]
    study = shared.study(names, **bounds)
    [stay] = [attribute for attribute in study.attributes if attribute.name == "stay"]
    declared = {} if upper is None else {"lower": 0, "upper": upper}
    assert Declared.model_validate(declared).admits(stay) is fits
