"""`coterie certificate verify` and `show` for a joined release, and what must not pass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from federation_world import people

from coterie.errors import CertificateError, CoterieError
from coterie.federation.documents.certificate import FederatedCertificate, verified
from coterie.federation.documents.signed import Signed, signed_from
from coterie.federation.errors import Untrusted
from coterie.federation.owner import contribution


@pytest.fixture(scope="session")
def released(shared: Any) -> tuple[Any, Any, Path]:
    """A released study with unequal shares, one of its owners, and that owner's copy."""
    homes = [shared.join(name) for name in ("joined-a", "joined-b")]
    for home in homes:
        shared.give(home, people(40, 7), identifier="patient", rows_public=home is homes[0])
    owners = {"joined-a": ["age", "ward"], "joined-b": {"attributes": ["stay"], "weight": "3"}}
    study = shared.study(owners, fragmentation="vertical", identifier="patient", lead="joined-a")
    shared.finish(study, homes)
    return study, homes[0], homes[0].study(study.id)


def test_a_reader_verifies_it(
    shared: Any, released: Any, coterie: Callable[..., Any], tmp_path: Path
) -> None:
    def run(*words: object) -> tuple[int, str]:
        code, out, err = coterie("certificate", *words)
        return code, " ".join((out + err).split())

    table, paper = released[2] / "release.parquet", released[2] / "release.certificate.json"
    key = shared.aggregator.fingerprint
    code, said = run("verify", table, paper, "--key", key)
    assert (code, "Signed by the key you trust" in said, "joined-a, joined-b" in said) == (0, True, True)
    code, said = run("verify", table, paper, "--key", "SHA256:" + "0" * 32)
    assert (code, "another key" in said) == (7, True)
    (tmp_path / "other.parquet").write_bytes(table.read_bytes() + b"x")
    assert run("verify", tmp_path / "other.parquet", paper)[0] == 7
    (tmp_path / "forged.json").write_text(paper.read_text().replace('"epsilon":"1"', '"epsilon":"0.1"'))
    code, said = run("verify", table, tmp_path / "forged.json")
    assert (code, "does not fit its content" in said) == (7, True)
    code, said = run("show", paper)
    assert (code, "joined-b: ε = 0.75" in said, "joined-a: ε = 0.25, 40 rows" in said) == (0, True, True)
    _, shown, _ = coterie("certificate", "show", paper, "--json")
    assert shown["rows"] == 40


def test_a_part_without_an_owners_signature(shared: Any, released: Any) -> None:
    """The promise of an owner whose own certificate is not printed is the one in its signed answer."""
    content = shared.certificate(released[0]).content()
    keys = shared.aggregator.keys
    for change in ({"rows": 40}, {"answer": content["owners"][0]["answer"]}):
        owners = [content["owners"][0], {**content["owners"][1], **change}]
        forged = FederatedCertificate.model_validate({**content, "owners": owners})
        with pytest.raises(CoterieError, match=r"not signed by it|does not fit"):
            verified(Signed.of(forged, keys), keys.public)
    answer = {**content["owners"][1]["answer"]}
    answer["document"] = {
        **answer["document"],
        "promise": {**answer["document"]["promise"], "status": "proved"},
    }
    owners = [content["owners"][0], {**content["owners"][1], "answer": answer}]
    forged = FederatedCertificate.model_validate({**content, "owners": owners})
    with pytest.raises(CoterieError, match="does not fit"):
        verified(Signed.of(forged, keys), keys.public)


def test_a_certificate_of_version_1(coterie: Callable[..., Any]) -> None:
    """Written by the version before, which called the sum of two owners' ε proved: it verifies, and is told apart."""
    old = Path(__file__).parent / "old"
    table, paper = old / "joined-1.parquet", old / "joined-1.certificate.json"
    signed = signed_from(paper.read_bytes())
    assert verified(signed, signed.key).guarantee.status == "proved"
    code, said, _ = coterie("certificate", "verify", table, paper)
    assert (code, "today it is 'conditional'" in " ".join(said.split())) == (0, True)
    code, said, _ = coterie("certificate", "show", paper)
    assert (code, "today it is 'conditional'" in " ".join(said.replace("│", " ").split())) == (0, True)


def test_rows_that_show_groups_say_so_for_every_part(shared: Any, released: Any) -> None:
    label = shared.certificate(released[0]).guarantee.label
    assert "Each owner's part: the rows show which records share a group: not private, whatever ε" in label
    assert "privacy loss unbounded" in label


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"epsilon": "0.5"}, "not what the owners' parts come to"),
        ({"guarantee": {"value": "1"}}, "not what the owners' parts come to"),
        ({"guarantee": {"status": "proved"}}, "not what the owners' parts come to"),
        ({"owners": ()}, "every owner of the study"),
        ({"owners": {"certificate": {"epsilon": "0.1"}}}, "does not fit its part"),
        ({"owners": {"rows": 3}}, "not what the study asked for"),
        (
            {"coterie_federated_certificate": 1, "guarantee": {"status": "bounded"}},
            "not what the owners' parts come to",
        ),
    ],
)
def test_even_the_aggregator_cannot_embellish_it(
    shared: Any, released: Any, change: Any, problem: str
) -> None:
    """Signed with the right key, and wrong: neither a reader nor an owner takes it."""
    study, home, folder = released
    content = shared.certificate(study).content()
    for name, value in change.items():
        if name == "guarantee":
            content[name] |= value
        elif name == "owners" and value:
            first = content[name][0]
            first |= {"rows": value["rows"]} if "rows" in value else {}
            first["certificate"] |= value.get("certificate", {})
        else:
            content[name] = value
    keys = shared.aggregator.keys
    forged = Signed.of(FederatedCertificate.model_validate(content), keys)
    with pytest.raises(CertificateError, match=problem):
        verified(forged, keys.public)

    class Line:
        def get(self, _: str) -> Any:
            return forged.content()

    before = (folder / "release.certificate.json").read_bytes()
    with pytest.raises(Untrusted):
        contribution.fetch_release(home, Line(), study.id)  # type: ignore[arg-type]
    assert (folder / "release.certificate.json").read_bytes() == before


def test_another_studys_certificate_is_not_taken(shared: Any, released: Any) -> None:
    _, home, folder = released
    signed = signed_from((folder / "release.certificate.json").read_bytes())

    class Line:
        def get(self, _: str) -> Any:
            return signed.content()

    with pytest.raises(CoterieError, match="another study"):
        contribution.fetch_release(home, Line(), "0" * 64)  # type: ignore[arg-type]
