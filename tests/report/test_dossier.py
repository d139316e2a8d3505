"""The dossier says what certificate, audit and evaluation say; its public version has no figure from the original."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import coterie
from coterie.auditing import Audit
from coterie.errors import CertificateError, DataError, OutputError, ParameterError
from coterie.report.dossier import compose_dossier
from coterie.report.dossier_blocks import Dossier, GoodAndBad
from coterie.report.dossier_pdf import markup_of
from coterie.report.dossier_uses import uses as uses_of

PEOPLE = coterie.demo_population(300)
OTHERS = coterie.demo_population(150, seed=7).drop_columns(["person"])
SCHEMA = coterie.demo_schema()


def released(folder: Path, method: str = "dp-synthetic", **more: Any) -> Path:
    coterie.publish(PEOPLE, SCHEMA, folder / "out.csv", method=method, epsilon=1, **more)
    return folder / "out.csv"


def audited(path: Path, folder: Path) -> Audit:
    found = coterie.audit(
        PEOPLE, path, SCHEMA, control=OTHERS, attacks=["tie-linkage", "attribute-inference"]
    )
    coterie.write_report(found, folder)
    return found


def good_and_bad(dossier: Dossier) -> GoodAndBad:
    (found,) = (
        block for section in dossier.pages[0] for block in section.blocks if isinstance(block, GoodAndBad)
    )
    return found


def test_a_proved_release_has_its_odds_checks_and_lines_to_sign(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    coterie.Ledger.add_population(ledger, "people", 4)
    path = released(tmp_path, ledger=ledger, population="people")
    audited(path, tmp_path / "audit")
    evaluation = tmp_path / "evaluation.json"
    evaluation.write_text(json.dumps(coterie.evaluate(PEOPLE, path, SCHEMA).to_dict()))
    made = coterie.write_dossier(path, evaluation=evaluation, ledger=ledger, title="Incomes & <rents>")
    page = made.html.read_text(encoding="utf-8")
    assert made.pdf.read_bytes().startswith(b"%PDF-")
    assert b"/Count 2" in made.pdf.read_bytes()
    for words in (
        "Incomes &amp; &lt;rents&gt;",
        "at most 74\u00a0% sure after",
        "Verified, not signed",
        "150 people held back",
        "The audit in figures",
        "left: 3 of 4",
        "Who saw what",
        "coterie certificate verify out.csv",
        "Data protection officer",
    ):
        assert words in page, words
    with pytest.raises(OutputError, match="exists already"):
        coterie.write_dossier(path)


def test_bounds_of_the_data_with_a_public_reason_are_not_called_taken_from_it(tmp_path: Path) -> None:
    described = yaml.safe_load(SCHEMA.to_yaml())
    age = described["attributes"]["age"]["domain"]
    for reason, words in (("", "1 column taken from the data"), ("a codebook", "public for a reason")):
        age |= {"source": "data"} | ({"public_because": reason} if reason else {})
        path = tmp_path / f"{reason or 'none'}.csv"
        schema = coterie.Schema.load(described)
        coterie.publish(PEOPLE, schema, path, method="dp-synthetic", epsilon=1, despite="a test")
        page = coterie.write_dossier(path).html.read_text(encoding="utf-8")
        assert words in page
        assert ("taken from the data" in page) is not bool(reason)


def test_the_public_version_is_the_same_whatever_the_figures_were(tmp_path: Path) -> None:
    path = released(tmp_path)
    found = audited(path, tmp_path / "audit").to_dict()
    evaluation = coterie.evaluate(PEOPLE, path, SCHEMA)
    other = json.loads(json.dumps(found))
    for finding in other["findings"]:
        finding["estimate"] = {"value": 0.123, "low": 0.1, "high": 0.2, "trials": 7}
        finding["words"] = "SECRET"
    other |= {"people": 7, "rows": 8, "control": 9, "verdict": "SECRET", "correction": "SECRET"}
    (tmp_path / "other.json").write_text(json.dumps(other))
    pages = [
        compose_dossier(path, audit=given, evaluation=evaluation, public=True).pages
        for given in (tmp_path / "audit", tmp_path / "other.json")
    ]
    assert pages[0] == pages[1]
    internal = compose_dossier(path, audit=tmp_path / "other.json").pages
    assert "SECRET" in str(internal)
    assert "SECRET" not in str(pages)


@pytest.mark.parametrize(("method", "lost"), [("dp-synthetic", True), ("ir", False)])
def test_public_facts_tell_whether_relations_are_lost(method: str, lost: bool) -> None:
    asked: dict[str, Any] = {"method": method} | ({"epsilon": 1} if lost else {"k": 5})
    made = [
        coterie.protect(people, SCHEMA, **asked).certificate
        for people in (PEOPLE, coterie.demo_population(300, seed=5))
    ]
    uses, of_others = (uses_of(one, None, public=True).blocks[0] for one in made)
    assert uses == of_others, "it follows from the certificate alone"
    assert isinstance(uses, GoodAndBad)
    assert ("relations between two columns: destroyed" in uses.bad) == lost
    assert ("relations between two columns: kept" in uses.good) != lost


def test_two_pages_stay_two_pages_whatever_is_long(tmp_path: Path) -> None:
    path = released(tmp_path, method="dp-ir", k=10, shuffle=False)
    audited(path, tmp_path / "audit")
    long = {
        "title": "Łódź 東京 " * 40,
        "audience": "researchers under contract " * 40,
        "despite": "We know. " * 900,
    }
    made = coterie.write_dossier(path, **long)
    assert b"/Count 2" in made.pdf.read_bytes()
    assert markup_of("Łódź 東京 <1 %") == "Łódź ?? &lt;1\u00a0%"


def test_a_severe_finding_needs_a_reason_which_stays_internal(tmp_path: Path) -> None:
    path = released(tmp_path, method="dp-ir", k=10, shuffle=False)
    audited(path, tmp_path / "audit")
    with pytest.raises(ParameterError, match="severe risk"):
        compose_dossier(path)
    told = str(compose_dossier(path, despite="Only for our own lab.").pages)
    assert "Only for our own lab." in told
    public = str(compose_dossier(path, despite="Only for our own lab.", public=True).pages)
    assert "Only for our own lab." not in public
    assert "Severe finding" in public


@pytest.mark.parametrize("method", ["dp-ir", "ir"])
def test_a_promise_that_does_not_hold_needs_a_reason_without_any_audit(tmp_path: Path, method: str) -> None:
    path = released(tmp_path, method=method, k=10, shuffle=False)
    with pytest.raises(ParameterError, match="protects nobody for certain"):
        compose_dossier(path)
    assert "For our lab." in str(compose_dossier(path, despite="For our lab.").pages)


def test_a_reason_stands_whether_or_not_these_very_bytes_were_audited(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    coterie.Ledger.add_population(ledger, "people", 4)
    path = released(
        tmp_path, method="dp-ir", k=10, ledger=ledger, population="people", despite="For our lab."
    )
    told = str(compose_dossier(path, ledger=ledger).pages)
    assert "For our lab." in told
    assert "No proved promise limits what an attacker learns" in told
    assert "outside the account" in told
    (tmp_path / "out.csv.reason.json").unlink()
    elsewhere = tmp_path / "earlier"
    elsewhere.mkdir()
    audited(released(elsewhere, method="dp-ir", k=10, shuffle=False), tmp_path / "checks")
    with pytest.raises(ParameterError, match="another release by 'dp-ir'"):
        compose_dossier(path)
    assert "Not audited itself" in str(compose_dossier(path, despite="For our lab.").pages)


def test_a_table_in_a_database_has_a_dossier_beside_its_certificate(tmp_path: Path) -> None:
    place, file = f"sqlite:///{tmp_path}/out.db", tmp_path / "incomes.certificate.json"
    with pytest.raises(ParameterError, match="no file that its certificate could lie beside"):
        compose_dossier(place, table="incomes")
    given = {"method": "dp-synthetic", "epsilon": 1, "output_table": "incomes", "certificate": file}
    coterie.publish(PEOPLE, SCHEMA, place, **given)
    read = {"released_table": "incomes", "certificate": file}
    found = coterie.audit(PEOPLE, place, SCHEMA, control=OTHERS, attacks=["attribute-inference"], **read)
    worth = coterie.evaluate(PEOPLE, place, SCHEMA, measures=["one-way"], **read)
    for one in (found, worth):
        coterie.write_report(one, tmp_path / "checks")
    made = coterie.write_dossier(place, table="incomes", certificate=file)
    assert made.html == tmp_path / "incomes.dossier.html"
    page = made.html.read_text(encoding="utf-8")
    assert f"incomes in {place}" in page
    assert "150 people held back" in page
    assert "shares and distributions of single columns" in page
    assert f"coterie certificate verify {place} incomes.certificate.json --table incomes" in page
    coterie.publish(
        PEOPLE.slice(0, 200), SCHEMA, place, force=True, **given | {"certificate": tmp_path / "other.json"}
    )
    with pytest.raises(CertificateError, match="digests differ"):
        compose_dossier(place, table="incomes", certificate=file)
    with pytest.raises(CertificateError, match="do not belong together"):
        coterie.evaluate(PEOPLE, place, SCHEMA, **read)


def test_other_bytes_are_refused(tmp_path: Path) -> None:
    path = released(tmp_path)
    elsewhere = tmp_path / "second"
    elsewhere.mkdir()
    audit = audited(released(elsewhere), elsewhere / "audit")
    with pytest.raises(DataError, match="another release"):
        compose_dossier(path, audit=audit)
    path.write_bytes(path.read_bytes() + b"1,2\n")
    with pytest.raises(CertificateError, match="digests differ"):
        compose_dossier(path)


def test_an_evaluation_beside_the_release_is_found_and_must_be_of_these_bytes(tmp_path: Path) -> None:
    path = released(tmp_path)
    assert "Not measured" in str(compose_dossier(path).pages)
    found = coterie.evaluate(PEOPLE, path, SCHEMA, measures=["one-way", "associations", "models"])
    coterie.write_report(found, tmp_path / "checks")
    assert "by stated limits" in str(compose_dossier(path).pages)
    with pytest.raises(OutputError, match="exists already"):
        coterie.write_report(found, tmp_path / "checks")
    elsewhere = tmp_path / "second" / "third"
    elsewhere.mkdir(parents=True)
    other = released(elsewhere)
    with pytest.raises(DataError, match="evaluation is of another release"):
        compose_dossier(other, evaluation=tmp_path / "checks")


def test_what_is_destroyed_stands_among_what_it_is_not_good_for(tmp_path: Path) -> None:
    path = released(tmp_path)
    found = coterie.evaluate(PEOPLE, path, SCHEMA, measures=["one-way", "associations"])
    told = found.to_dict()
    told["measures"]["one-way"] |= {"value": 0.1, "attributes": {"age": 0.02, "rent": 0.7}, "details": {}}
    told["measures"]["associations"] |= {"value": 0.9, "details": {"worst_pairs": []}}
    told["rules"] = [{"rule": "age < 16 -> income = 0", "before": 0.0, "after": 0.25}]
    (tmp_path / "told.json").write_text(json.dumps(told))
    uses = good_and_bad(compose_dossier(path, evaluation=tmp_path / "told.json"))
    assert "shares and distributions of single columns: changed in places" in uses.good
    assert "shares and distributions of single columns, of rent: destroyed" in uses.bad
    assert "relations between two columns: destroyed" in uses.bad
    assert "the rule age < 16 -> income = 0: broken by 25\u00a0% of the rows" in uses.bad
    public = str(compose_dossier(path, evaluation=tmp_path / "told.json", public=True).pages)
    assert "rent" not in public.replace("rent,", "").replace(", rent", "")  # only among the columns
    assert "25\u00a0%" not in public
