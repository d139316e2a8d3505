"""A vertical study with a proof: each owner's columns are synthetic on their own, and stand side by side."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from federation_world import ATTRIBUTES, people

from coterie.errors import CoterieError
from coterie.federation.aggregator.assembly import side_by_side
from coterie.federation.documents.certificate import MEMBERSHIP, verified
from coterie.federation.documents.signed import signed_from
from coterie.publication.ledger import Ledger

CONTENT = {
    "fragmentation": "vertical",
    "method": "dp-synthetic",
    "attributes": {name: ATTRIBUTES[name] for name in ("age", "stay")},
}


def test_no_id_no_peer_and_a_proof(shared: Any) -> None:
    homes = [shared.join(name) for name in ("side-a", "side-b")]
    shared.give(homes[0], people(60, 1).select(["age"]))
    shared.give(homes[1], people(45, 2).select(["stay"]))
    owners = {"side-a": ["age"], "side-b": {"attributes": ["stay"], "weight": "3"}}
    study = shared.study(owners, pinned=False, **CONTENT)
    assert (study.join, study.identifier, study.lead) == ("side by side", None, None)
    shared.finish(study, homes)
    held = signed_from((homes[0].study(study.id) / "release.certificate.json").read_bytes())
    certificate = verified(held, study.aggregator)
    promise = certificate.guarantee
    assert (promise.model, promise.value, promise.status) == ("differential privacy", "1", "conditional")
    assert MEMBERSHIP in promise.assumptions
    assert [part.epsilon for part in certificate.owners] == ["0.25", "0.75"]
    table = pq.read_table(shared.aggregator.release(study.id))
    assert (table.column_names, table.num_rows) == (["age", "stay"], 45)
    assert any("no relation between columns" in note for note in certificate.notes)
    for home, charge in zip(homes, ("1/4", "3/4"), strict=True):
        [entry] = Ledger.inspect(home.default_ledger).entries.values()
        assert str(entry.purpose.loss.epsilon) == charge
        assert not (home.study(study.id) / "group.key").exists()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"join": "group key", "lead": "refused-a", "identifier": "patient"}, "people cannot be matched"),
        ({"method": "idp-ls", "join": "side by side"}, "must be matched by an identifier"),
        ({"identifier": "patient"}, "and only that, names an identifier"),
    ],
)
def test_what_cannot_carry_the_promise_is_refused(shared: Any, changes: Any, reason: str) -> None:
    for name in ("refused-a", "refused-b"):
        if not (shared.root / name).exists():
            shared.join(name)
    with pytest.raises(CoterieError, match=reason):
        shared.study({"refused-a": ["age"], "refused-b": ["stay"]}, **{**CONTENT, **changes})


def test_streams_that_break_in_different_places() -> None:
    def part(name: str, sizes: tuple[int, ...]) -> Any:
        start = 0
        for size in sizes:
            yield pa.table({name: pa.array(range(start, start + size), pa.int64())})
            start += size

    schema = pa.schema([("b", pa.int64()), ("a", pa.int64())])
    found = pa.concat_tables(side_by_side([part("a", (3, 1, 5)), part("b", (2, 0, 5))], schema))
    assert found.column("a").to_pylist() == found.column("b").to_pylist() == list(range(7))
