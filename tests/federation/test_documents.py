"""Canonical form, signatures, sealing, pseudonyms, composition, shuffling, joining: the parts by themselves."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.errors import DataError
from coterie.federation.aggregator.assembly import joined, shuffled
from coterie.federation.documents import wire
from coterie.federation.documents.certificate import nominal
from coterie.federation.documents.messages import Invitation
from coterie.federation.documents.signed import Document, Signed, canonical, parsed
from coterie.federation.documents.study import Study
from coterie.federation.documents.study_file import study_from
from coterie.federation.errors import FederationError
from coterie.federation.owner.policy import Policy
from coterie.federation.secrets.blinding import COLUMN, checked_ids, normalised, pseudonyms
from coterie.federation.secrets.keys import Keys, new_key, seal, unseal, verify
from coterie.federation.storage.parties import Owner

ROOT = Path(__file__).parents[2]
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(plain)
def test_canonical_form_says_the_same_and_only_once(content: Any) -> None:
    text = canonical(content)
    assert parsed(text) == content
    assert canonical(parsed(text)) == text


def test_canonical_form_of_rfc_8785() -> None:
    """The examples of its §3.2.2 and §3.2.3, without the floats."""
    escapes = {"string": '€$\u000f\nA\'B"\\\\"/'}
    assert canonical(escapes) == '{"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'.encode()
    names = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    expected = ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]
    assert list(json.loads(canonical(dict.fromkeys(names, 1)))) == expected


@pytest.mark.parametrize("content", [1.5, float("nan"), 2**53, {1: 2}, "\ud800", {"a": [0.1]}, b"x"])
def test_what_has_no_canonical_form(content: Any) -> None:
    with pytest.raises(FederationError):
        canonical(content)


@pytest.mark.parametrize("text", [b'{"a":1,"a":2}', b"1.5", b"NaN", b"{", b"\xff", b"[" * 100_000])
def test_what_has_no_single_reading(text: bytes) -> None:
    with pytest.raises(FederationError):
        parsed(text)


class Note(Document):
    kind = "note"

    text: str


class NoteAsReceipt(Note):
    kind = "receipt"


def test_a_signature_is_for_one_kind_key_and_content() -> None:
    keys, other = Keys.generate(), Keys.generate()
    signed = Signed.of(Note(text="hello"), keys)
    assert signed.opened(Note, key=keys.public).text == "hello"
    for model, key, document in (
        (NoteAsReceipt, keys.public, {"text": "hello"}),
        (Note, other.public, {"text": "hello"}),
        (Note, keys.public, {"text": "hellO"}),
    ):
        changed = signed.model_copy(update={"document": document})
        with pytest.raises(FederationError, match="does not fit"):
            changed.opened(model, key=key)
    assert not verify("nonsense", "note", b"", "nonsense")
    more = Signed.of(Note(text="hello"), keys).model_copy(update={"document": {"text": "x", "y": 1}})
    signature = keys.sign("note", canonical(more.document))
    with pytest.raises(FederationError, match="y"):
        more.model_copy(update={"signature": signature}).opened(Note, key=keys.public)


def test_keys_that_others_can_read_are_not_used(tmp_path: Path) -> None:
    Keys.generate().save(tmp_path)
    (tmp_path / "signing.pem").chmod(0o644)
    with pytest.raises(FederationError, match="can be read by others"):
        Keys.load(tmp_path)
    assert "PRIVATE" not in repr(Keys.generate())


def test_a_sealed_secret_is_for_one_reader_and_purpose() -> None:
    reader, other, secret = Keys.generate(), Keys.generate(), new_key()
    sealed = seal(secret, reader.sealing_public, "study one")
    assert unseal(sealed, reader.sealing, "study one") == secret
    assert seal(secret, reader.sealing_public, "study one") != sealed
    for key, purpose, text in (
        (other.sealing, "study one", sealed),
        (reader.sealing, "study two", sealed),
        (reader.sealing, "study one", sealed[:-8] + "AAAAAAA="),
        (reader.sealing, "study one", "short"),
    ):
        with pytest.raises(FederationError):
            unseal(text, key, purpose)


@given(st.text(min_size=1))
def test_ids_are_normalised_once_and_for_all(text: str) -> None:
    assert normalised(normalised(text)) == normalised(text)
    assert normalised(f"  {text.upper()}\t") == normalised(text.upper())


def test_pseudonyms_join_within_a_study_and_nowhere_else() -> None:
    key = new_key()
    here = pseudonyms(checked_ids(pa.chunked_array([["A1", "B2", "C3"]]), "id"), key, "study")
    there = pseudonyms(checked_ids(pa.chunked_array([[" c3 ", "ａ1", "D4"]]), "id"), key, "study")
    assert len(set(here.values.to_pylist()) & set(there.values.to_pylist())) == 2
    again = pseudonyms(("a1", "b2", "c3"), key, "another study")
    assert not set(here.values.to_pylist()) & set(again.values.to_pylist())
    assert here.values.to_pylist() == sorted(here.values.to_pylist())
    with pytest.raises(DataError, match="no identifier"):
        checked_ids(pa.chunked_array([[1.5]]), "id")


def study(fragmentation: str, owners: int, weights: list[str] | None = None) -> Study:
    names = [f"o{number}" for number in range(owners)]
    attributes = {f"x{n}": {"role": "protect", "domain": {"lower": 0, "upper": 1}} for n in range(owners)}
    content: dict[str, Any] = {
        "title": "t",
        "fragmentation": fragmentation,
        "method": "idp-ls",
        "epsilon": "1",
        "k": 3,
        "deadline": "1 hour",
        "attributes": attributes,
        "owners": names,
    }
    if fragmentation == "vertical":
        shares = weights or ["1"] * owners
        content |= {
            "owners": {n: {"attributes": [f"x{p}"], "weight": shares[p]} for p, n in enumerate(names)},
            "identifier": "id",
            "lead": "o0",
        }

    def find(name: str) -> Owner:
        keys = Keys.generate()
        return Owner(1, name, keys.public, keys.sealing_public, None)

    return study_from(content, Keys.generate().public, find)


def test_whoever_writes_a_study_is_told_what_to_correct() -> None:
    attributes = {"x": {"role": "protect", "domain": {"lower": 0, "upper": 1}}}
    content = {
        "title": "t", "fragmentation": "horizontal", "method": "idp-ls", "epsilon": "1", "k": 3, "deadline": "1 hour",
        "attributes": attributes, "owners": ["a", "b", "a"],
    }  # fmt: skip
    keys = Keys.generate()

    def find(name: str) -> Owner:
        return Owner(1, name, keys.public, keys.sealing_public, None)

    with pytest.raises(FederationError, match="'a' is named twice"):
        study_from(content, keys.public, find)
    with pytest.raises(FederationError, match="k: ") as raised:
        study_from({**content, "owners": ["a", "b"], "k": 2}, keys.public, find)
    assert "Correct that entry" in raised.value.advice
    recoded = {"x": {"role": "protect", "domain": {"lower": 0, "upper": 9}, "recode": {"top": 5}}}
    with pytest.raises(FederationError, match="recoded, which studies do not carry"):
        study_from({**content, "owners": ["a", "b"], "attributes": recoded}, keys.public, find)


@given(st.lists(st.booleans(), min_size=2, max_size=6))
@settings(max_examples=25, deadline=None)
def test_the_largest_counts_only_if_everybody_signed(signed: list[bool]) -> None:
    made = study("horizontal", len(signed))
    total, _ = nominal(made, {f"o{place}": word for place, word in enumerate(signed)})
    assert total == (1 if all(signed) else len(signed))


@given(st.lists(st.sampled_from(["1", "2", "0.5", "1/3"]), min_size=2, max_size=6))
@settings(max_examples=25, deadline=None)
def test_vertical_shares_make_exactly_the_whole(weights: list[str]) -> None:
    made = study("vertical", len(weights), weights)
    assert nominal(made, {f"o{place}": True for place in range(len(weights))})[0] == 1
    assert sum((made.share(f"o{place}") for place in range(len(weights))), Fraction(0)) == 1


def test_a_study_is_named_by_its_content() -> None:
    made = study("horizontal", 2)
    assert made.id == Study.model_validate(json.loads(made.canonical())).id
    assert made.model_copy(update={"k": 4}).id != made.id


def test_shuffling_keeps_every_row_and_repeats_with_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from coterie.federation.aggregator import assembly as shuffling

    monkeypatch.setattr(shuffling, "_PILE_BYTES", 2_000)
    table = pa.table({"a": np.arange(1_000)})
    parts = [table.slice(start, 90) for start in range(0, 1_000, 90)]

    def order(key: bytes) -> list[int]:
        out = pa.concat_tables(shuffled(parts, table.schema, 1_000, key, tmp_path))
        return list(out.column("a").to_pylist())

    one = order(b"k" * 32)
    assert one == order(b"k" * 32)
    assert one != order(b"l" * 32)
    assert sorted(one) == list(range(1_000))
    assert not list(tmp_path.iterdir())
    assert abs(np.corrcoef(one, np.arange(1_000))[0, 1]) < 0.15


@pytest.mark.statistical
def test_all_orders_are_equally_likely(tmp_path: Path) -> None:
    """χ² over the 24 orders of four rows, 2,400 keys: 5 degrees of slack beyond the 0.1 % point (49.7)."""
    table = pa.table({"a": [0, 1, 2, 3]})
    seen: Counter[tuple[int, ...]] = Counter()
    for number in range(2_400):
        key = number.to_bytes(32, "little")
        seen[
            tuple(pa.concat_tables(shuffled([table], table.schema, 4, key, tmp_path)).column("a").to_pylist())
        ] += 1
    assert len(seen) == 24
    assert sum((count - 100) ** 2 / 100 for count in seen.values()) < 55


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_joining_streams_is_joining_tables(data: st.DataObject) -> None:
    """Whatever the pieces: the people whom all owners hold, each with its own values."""
    owners = data.draw(st.integers(2, 4))
    held = [sorted(data.draw(st.sets(st.integers(0, 40), min_size=1))) for _ in range(owners)]
    schema = pa.schema([pa.field(f"x{n}", pa.int64(), nullable=False) for n in range(owners)])

    def pieces(owner: int) -> Any:
        people, size = held[owner], data.draw(st.integers(1, 7))
        for start in range(0, len(people), size):
            part = people[start : start + size]
            names = pa.array([person.to_bytes(32, "big") for person in part], pa.binary(32))
            yield pa.table({COLUMN: names, f"x{owner}": [person * 10 + owner for person in part]})

    rows = [row for table in joined([pieces(n) for n in range(owners)], schema) for row in table.to_pylist()]
    common = sorted(set.intersection(*map(set, held)))
    assert rows == [{f"x{n}": person * 10 + n for n in range(owners)} for person in common]


@pytest.mark.parametrize(
    ("offered", "common"),
    [("1", 1), ("1-9", 3), ("0-1", 1), ("2", 2), ("3", 3), ("4", None), ("4-9", None), ("x", None)],
)
def test_versions(offered: str, common: int | None) -> None:
    assert wire.common_version(offered) == common


@pytest.mark.parametrize(
    "text", ["", "coterie-invitation:", "coterie-invitation:####", "coterie-invitation:e30", "x" * 30_000]
)
def test_damaged_invitations(text: str) -> None:
    with pytest.raises(FederationError):
        Invitation.from_text(text)


def test_the_compose_file_can_be_read() -> None:
    content = yaml.safe_load((ROOT / "compose.yaml").read_text())
    assert set(content["services"]) == {"aggregator", "database"}
    assert content["networks"]["inside"]["internal"] is True
    assert "password" not in str(content["services"]["database"]["environment"]["POSTGRES_DB"])


def test_the_examples_of_the_guide() -> None:
    """What the guide tells to write is what the code reads."""
    text = (ROOT / "docs" / "how-to" / "federate.md").read_text(encoding="utf-8")
    horizontal, vertical, blinded, beside, policy = (
        yaml.safe_load(part.split("```")[0]) for part in text.split("```yaml")[1:]
    )

    def find(name: str) -> Owner:
        keys = Keys.generate()
        return Owner(1, name, keys.public, keys.sealing_public, None)

    assert study_from(horizontal, Keys.generate().public, find).minimum == 3
    both = study_from({**horizontal, "minimum": 2, **vertical}, Keys.generate().public, find)
    assert [str(both.share(name)) for name in ("hospital-a", "registry")] == ["1/3", "2/3"]
    assert study_from({**horizontal, "minimum": 2, **blinded}, Keys.generate().public, find).blinded
    attributes = {**horizontal["attributes"], "sex": {"type": "boolean", "role": "protect"}}
    attributes["cost"] = attributes["stay"]
    four = {**horizontal, "minimum": 2, "attributes": attributes, **beside}
    assert study_from(four, Keys.generate().public, find).join == "side by side"
    assert Policy.model_validate(policy).maximum_epsilon == "1"
