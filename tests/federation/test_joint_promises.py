"""What a joined certificate may claim, which counts it prints, and that owner and aggregator agree about the charge."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import count
from typing import Any, get_args

import pytest
from federation_world import people

from coterie.federation.documents.certificate import (
    DISJOINT,
    JOINED,
    MEMBERSHIP,
    WITHHELD,
    composed,
    part_guarantee,
    part_promise,
    require_no_stronger,
    verified,
)
from coterie.federation.documents.study import Study
from coterie.federation.errors import FederationError
from coterie.methods import all_methods
from coterie.promise.certificate import CertifiedPromise
from coterie.publication.ledger import Ledger

_numbers = count()
STATUSES = get_args(CertifiedPromise.model_fields["status"].annotation)


def owners(world: Any, number: int = 2) -> list[Any]:
    return [world.join(f"joint-{next(_numbers)}") for _ in range(number)]


def test_a_method_that_costs_epsilon_for_each_attribute(shared: Any) -> None:
    """dp-mdav over three attributes: the owner is charged 3ε, and the aggregator expects just that."""
    homes = owners(shared)
    for home in homes:
        shared.give(home, people(60, 3), methods=["dp-mdav"], maximum_epsilon="1.5")
    study = shared.study([home.owner for home in homes], method="dp-mdav", epsilon="0.5")
    shared.finish(study, homes)
    certificate = shared.certificate(study)
    for home in homes:
        [entry] = Ledger.inspect(home.default_ledger).entries.values()
        assert (str(entry.purpose.loss.epsilon), str(study.charge(home.owner))) == ("3/2", "3/2")
        assert shared.part(study, home.owner)["epsilon"] == "1.5"
    assert [part.epsilon for part in certificate.owners] == ["1.5", "1.5"]
    assert (certificate.epsilon, certificate.guarantee.value) == ("3", "3")
    assert (certificate.guarantee.status, MEMBERSHIP in certificate.guarantee.assumptions) == (
        "conditional",
        True,
    )


@pytest.fixture(scope="session")
def studies(shared: Any) -> dict[str, Study]:
    homes = owners(shared)
    names = [home.owner for home in homes]
    made = {"horizontal": shared.study(names)}
    holds = {names[0]: ["age", "ward"], names[1]: ["stay"]}
    made["vertical"] = shared.study(holds, fragmentation="vertical", identifier="patient", lead=names[0])
    shared.cancel_all()
    return made


def promised(status: str, value: str = "1") -> CertifiedPromise:
    return CertifiedPromise(
        model="differential privacy", value=value, status=status, scope="the released rows", label=status,
        assumptions=("a",), citation="", neighbours="replace one record", rests_on_noise=True,
    )  # fmt: skip


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize(
    ("kind", "signed", "value", "condition"),
    [
        ("horizontal", (False, False), "3", MEMBERSHIP),
        ("horizontal", (True, False), "3", MEMBERSHIP),
        ("horizontal", (True, True), "2", DISJOINT),
        ("vertical", (False, False), "3", JOINED),
        ("vertical", (True, True), "3", JOINED),
    ],
)
def test_no_joined_promise_is_proved(
    studies: dict[str, Study], status: str, kind: str, signed: tuple[bool, bool], value: str, condition: str
) -> None:
    """Each owner's proof fixes its number of records: who is where is a condition of the whole, signed or not."""
    study = studies[kind]
    names = [entry.owner for entry in study.roster]
    parts = {names[0]: promised("proved", "2"), names[1]: promised(status)}
    found = composed(study, dict(zip(names, signed, strict=True)), parts)
    assert found.status == ("conditional" if status in ("proved", "bounded") else status)
    assert found.value == value
    assert condition in found.assumptions
    assert condition in found.label
    assert "number of records is fixed" in found.neighbours
    assert ("one person" in found.neighbours) is (condition is not DISJOINT)


@pytest.mark.parametrize("method", sorted(all_methods()))
def test_a_part_promises_the_same_for_every_number_of_rows(studies: dict[str, Study], method: str) -> None:
    for study in studies.values():
        try:
            asked = Study.model_validate({**study.content(), "method": method})
        except ValueError:
            continue  # no study can ask for it
        owner = asked.roster[0].owner
        found = {part_promise(asked, owner, rows) for rows in (5, 9, 30, 31, 999, 1041)}  # k = 5
        assert len(found) == 1
        settled = part_guarantee(asked, owner, 1041)
        [promise] = found
        assert (promise.status, promise.model, promise.scope) == (
            settled.status,
            settled.model,
            settled.scope,
        )
        assert {promise.value, promise.label} <= {settled.value, settled.label, WITHHELD}


def test_an_owner_cannot_promise_more_than_its_method(studies: dict[str, Study]) -> None:
    """Else one owner could make the sum of the joined promise smaller than it is."""
    content = {**studies["horizontal"].content(), "method": "dp-synthetic"}
    study = Study.model_validate(content)
    owner = study.roster[0].owner
    honest = part_promise(study, owner, 40)
    require_no_stronger(study, owner, honest)
    require_no_stronger(
        study, owner, honest.model_copy(update={"status": "none", "model": "none", "value": "none"})
    )
    refuted = Study.model_validate({**content, "method": "idp-ls"})
    require_no_stronger(refuted, owner, part_promise(refuted, owner, 40))
    for changes in (
        {"value": "0.001"},
        {"value": "0"},
        {"value": "next to nothing"},
        {"value": "1." + "0" * 60_000 + "1"},
        {"status": "conditional", "value": "0.001"},
        {"model": "zero"},
        {"scope": "everything"},
    ):
        with pytest.raises(FederationError, match="promises more"):
            require_no_stronger(study, owner, honest.model_copy(update=changes))
    for changes in ({"status": "proved"}, {"value": "1"}):
        with pytest.raises(FederationError, match="promises more"):
            require_no_stronger(refuted, owner, part_promise(refuted, owner, 40).model_copy(update=changes))


def whole_numbers(text: str) -> set[str]:
    """Numbers that stand alone: not digits of a hash, a signature, a time or an address."""
    return set(re.findall(r"(?<![\w.+/=:-])\d+(?![\w+/=:-]|\.\d)", text))


def everything_told(world: Any, study: Any, homes: Iterable[Any]) -> dict[str, str]:
    """The certificate, the status pages, the log, the diary, and what the other owners are told."""
    told = {"certificate": json.dumps(world.certificate(study).content(), ensure_ascii=False)}
    told["log"] = (world.root / "server.log").read_text()
    told["board"] = json.dumps(world.shown(study))
    told["diary"] = json.dumps([line for line in world.diary("contribution") if line["study"] == study.id])
    with world.http() as http:
        http.post("/sign-in", data={"token": world.token})
        told["page"] = http.get("/").text + http.get(f"/studies/{study.id}").text
        assert study.title in told["page"]
    for home in homes:
        with world.client(home, session="") as client:
            told[f"desired by {home.owner}"] = json.dumps(client.get("/v1/desired?after=&wait=0"))
    return told


def test_counts_of_an_owner_are_printed_only_where_it_says_so(federation: Any) -> None:
    """idp-cbls: even the promise of a part would tell the number of its groups."""
    homes = [federation.join(name) for name in ("quiet", "open")]
    rows = {"quiet": 1041, "open": 2053}
    for home in homes:
        federation.give(home, people(rows[home.owner], 5), rows_public=home.owner == "open")
    study = federation.study([*rows], method="idp-cbls")
    federation.finish(study, homes)
    certificate = federation.certificate(study)
    assert (certificate.rows, [part.rows for part in certificate.owners]) == (3094, [None, 2053])
    assert certificate.owners[0].certificate is None
    key = federation.aggregator.keys.public
    signed = homes[0].study(study.id) / "release.certificate.json"
    from coterie.federation.documents.signed import signed_from

    assert verified(signed_from(signed.read_bytes()), key).rows == 3094
    secret = {str(rows["quiet"]), str(rows["quiet"] // 5)}
    for place, text in everything_told(federation, study, homes[1:]).items():
        assert not whole_numbers(text) & secret, place
        if place in ("board", "page", "log", "diary"):
            assert not whole_numbers(text) & {"2053", "410"}, place
    assert {"2053", "3094"} <= whole_numbers(json.dumps(certificate.content())), (
        "the search finds what is there"
    )


def test_a_study_of_protocol_1(shared: Any) -> None:
    """Published before, or by an aggregator that was not renewed: its documents are as they were."""
    homes = owners(shared)
    for home in homes:
        shared.give(home, people(40, 5), rows_public=True, unsealed=True)
    study = shared.study([home.owner for home in homes], protocol=1)
    shared.finish(study, homes)
    certificate = shared.certificate(study)
    assert [part.rows for part in certificate.owners] == [40, 40]
    for part in certificate.owners:
        assert not {"promise", "rows_public"} & part.answer.document.keys()
    assert certificate.guarantee.status not in ("proved", "bounded")
