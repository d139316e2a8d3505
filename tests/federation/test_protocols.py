"""Both protocols of Del Vasto-Terrientes et al., steps 1 to 8, between real processes over TLS."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow.parquet as pq
from federation_world import PATIENCE, people, until

from coterie.federation.documents.certificate import FederatedCertificate, verified
from coterie.federation.documents.signed import signed_from
from coterie.promise.certificate import Certificate
from coterie.promise.loss import Loss, LossModel, NeighbourRelation
from coterie.promise.signing import check_signature
from coterie.publication.ledger import Ledger, ReleaseState


def _copies(world: Any, study: Any, homes: list[Any]) -> tuple[Any, FederatedCertificate]:
    """Every owner's copy is the aggregator's file, byte for byte, under a certificate signed by the aggregator."""
    original = world.aggregator.release(study.id).read_bytes()
    for home in homes:
        assert (home.study(study.id) / "release.parquet").read_bytes() == original
    signed = signed_from((homes[0].study(study.id) / "release.certificate.json").read_bytes())
    certificate = signed.opened(FederatedCertificate, key=world.aggregator.keys.public)
    return pq.read_table(world.aggregator.release(study.id)), certificate


def _charged_once(home: Any, study: Any, epsilon: str) -> None:
    """idp-ls: what is proved of its list of group means is individual differential privacy, with 2ε."""
    entries = list(Ledger.inspect(home.default_ledger).entries.values())
    counts = Loss(LossModel.IDP, NeighbourRelation.REPLACE_ONE, "bounded", 2 * Fraction(epsilon))
    found = [(e.purpose.fingerprint, e.state, replace(e.purpose.loss, scope="")) for e in entries]
    assert found == [(study.id, ReleaseState.RELEASED, counts)]
    # The ledger knows which promise was paid for: the one on the owner's own certificate.
    key = signed_from((home.study(study.id) / "part-key.json").read_bytes()).document
    promised = Certificate.from_json(key["certificate"]).guarantee.status
    assert [entry.purpose.status for entry in entries] == [promised]


def test_three_owners_of_different_people(shared: Any) -> None:
    homes = [shared.join(name) for name in ("hospital-a", "hospital-b", "hospital-c")]
    sizes = (40, 55, 23)
    for home, rows, seed in zip(homes, sizes, (1, 2, 3), strict=True):
        shared.give(home, people(rows, seed), disjoint=True, rows_public=True)
    study = shared.study(["hospital-a", "hospital-b", "hospital-c"])
    running = [shared.run_owner(home, "--until-done") for home in homes]
    shared.await_state(study, "RELEASED")
    assert [process.wait(PATIENCE) for process in running] == [0, 0, 0], shared.logs()

    table, certificate = _copies(shared, study, homes)
    assert table.num_rows == sum(sizes)
    assert table.column_names == ["age", "stay", "ward"]
    assert certificate.epsilon == "1"
    assert "max ε_j" in certificate.rule
    assert [(part.owner, part.epsilon, part.rows) for part in certificate.owners] == [
        ("hospital-a", "1", 40),
        ("hospital-b", "1", 55),
        ("hospital-c", "1", 23),
    ]
    for part, home in zip(certificate.owners, homes, strict=True):
        own = Certificate.from_json(json.dumps(part.certificate))
        assert check_signature(own, None) is not None
        _charged_once(home, study, "1")
    # Nothing of the parts is kept once the whole is out.
    until(lambda: not (shared.aggregator.folder / "chunks" / study.id).exists(), "the parts to be forgotten")
    row = shared.shown(study)
    assert [part["state"] for part in row["owners"]] == ["ACCEPTED"] * 3


def test_two_owners_of_the_same_people(shared: Any) -> None:
    homes = [shared.join(name) for name in ("clinic", "registry", "insurer")]
    everybody = people(60, 7)
    shared.give(homes[0], everybody.select(["patient", "age"]).slice(0, 50))
    shared.give(homes[1], everybody.select(["patient", "stay"]).slice(10, 50))
    # The same ids, written in another way.
    spelled = [f"  {name.lower()} " for name in everybody.column("patient").to_pylist()]
    shared.give(
        homes[2],
        everybody.select(["ward"]).append_column("id", [spelled]).slice(5, 50),
        identifier="id",
    )
    study = shared.study(
        {"clinic": ["age"], "registry": ["stay"], "insurer": ["ward"]},
        fragmentation="vertical",
        identifier="patient",
        lead="registry",
    )
    shared.finish(study, homes)

    table, certificate = _copies(shared, study, homes)
    assert table.num_rows == 40  # patients 10 … 49 are at all three
    assert table.column_names == ["age", "stay", "ward"]
    assert certificate.epsilon == "1"
    assert "Σ ε_j" in certificate.rule
    assert [part.epsilon for part in certificate.owners] == ["1/3"] * 3
    assert any("can test ids" in text for text in certificate.aggregator_learned)
    for home in homes:
        _charged_once(home, study, "1/3")


def test_two_owners_publish_synthetic_rows(shared: Any) -> None:
    """k plays no part there: the study's k is a floor for the owners' tables, and the parts say the method's own."""
    homes = [shared.join(name) for name in ("synthetic-a", "synthetic-b")]
    for home, seed in zip(homes, (4, 5), strict=True):
        shared.give(home, people(60, seed), disjoint=True, rows_public=True)
    study = shared.study(["synthetic-a", "synthetic-b"], method="dp-synthetic")
    shared.finish(study, homes)
    table, certificate = _copies(shared, study, homes)
    assert table.num_rows == 120
    assert (
        verified(
            signed_from((homes[0].study(study.id) / "release.certificate.json").read_bytes()),
            shared.aggregator.keys.public,
        ).guarantee
        == certificate.guarantee
    )
