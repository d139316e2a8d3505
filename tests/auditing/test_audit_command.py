"""coterie audit, its page, its figure and the map."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pyarrow.csv as pacsv
import pytest
from attack_tables import normals, normals_schema
from typer.testing import CliRunner

from coterie import protect
from coterie.auditing import audit_release
from coterie.cli.audit import app
from coterie.errors import CertificateError, DataError, OutputError, ParameterError
from coterie.methods.guarantee import Guarantee, Status
from coterie.promise.certificate import Digest
from coterie.publication.staging import stage
from coterie.report.audit_page import audit_figure, audit_page, audit_section
from coterie.report.charts import RiskPoint, risk_utility_map
from coterie.report.examples import risk_point

RUN = CliRunner()
PNG = b"\x89PNG"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    people = normals(400, 3, 1)
    pacsv.write_csv(people, tmp_path / "original.csv")
    pacsv.write_csv(normals(200, 3, 2), tmp_path / "control.csv")
    (tmp_path / "schema.yaml").write_text(normals_schema(3).to_yaml())
    release = protect(people, normals_schema(3), method="dp-ir", epsilon=1, k=10, shuffle=False)
    staged = stage(release.table, tmp_path / "released.csv", force=False)
    certificate = release.certify(Digest(over="file bytes", value=staged.sha256))
    staged.publish()
    (tmp_path / "released.csv.certificate.json").write_text(certificate.to_json())
    names = ("original.csv", "released.csv", "control.csv", "schema.yaml")
    return {name.split(".")[0]: str(tmp_path / name) for name in names} | {"out": str(tmp_path / "out")}


def command(files: dict[str, str], *more: str) -> list[str]:
    return [files["original"], files["released"], "--schema", files["schema"], "-o", files["out"], *more]


def test_an_audit_from_the_command_line(files: dict[str, str]) -> None:
    result = RUN.invoke(app, command(files, "--control", files["control"], "--known", "0.1"))
    assert result.exit_code == 0, result.output
    assert "Severe risk." in result.output
    assert "refuted" in result.output  # the certificate beside the release was found
    out = Path(files["out"])
    assert (out / "audit.png").read_bytes().startswith(PNG)
    content = json.loads((out / "audit.json").read_text())
    assert content["warning"].startswith("DO NOT PUBLISH")
    assert {finding["attack"] for finding in content["findings"]} >= {"tie-linkage", "membership-distance"}
    page = (out / "audit.html").read_text()
    assert "DO NOT PUBLISH" in page


def test_options_may_come_first_and_json_is_json(files: dict[str, str]) -> None:
    arguments = [
        "--schema",
        files["schema"],
        "--json",
        "-o",
        files["out"],
        files["original"],
        files["released"],
    ]
    result = RUN.invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["level"] == "severe risk"


def test_a_method_from_the_command_line(files: dict[str, str]) -> None:
    arguments = ["method", "idp-cbls", "--epsilon", "0.1", "--k", "10", "-o", files["out"], "--json"]
    named = ["--data", files["original"], "--schema", files["schema"], "--runs", "100"]
    result = RUN.invoke(app, [*arguments, *named])
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert content["subject"] == "method idp-cbls, ε = 0.1, k = 10"
    found = {finding["attack"]: finding for finding in content["findings"]}
    assert {"empirical-epsilon", "replaced-minimum", "threshold-queries", "nearest-linkage"} <= set(found)
    assert found["empirical-epsilon"]["estimate"]["high"] is None  # an open end, and valid JSON


@pytest.mark.parametrize(
    ("more", "error"),
    [
        (["--certificate", "schema.yaml"], CertificateError),
        (["--order", "nowhere.txt"], DataError),
        (["--attack", "nonsense"], ParameterError),
    ],
)
def test_wrong_options(files: dict[str, str], more: list[str], error: type[Exception]) -> None:
    result = RUN.invoke(app, command(files, *more))
    assert isinstance(result.exception, error)
    assert not Path(files["out"]).exists()


def test_a_certificate_of_other_bytes_is_refused(files: dict[str, str]) -> None:
    with Path(files["released"]).open("a") as file:
        file.write("0,0,0\n")
    result = RUN.invoke(app, command(files))
    assert isinstance(result.exception, CertificateError)


def test_nothing_is_overwritten(files: dict[str, str]) -> None:
    assert RUN.invoke(app, command(files, "--attack", "tie-linkage")).exit_code == 0
    again = RUN.invoke(app, command(files))
    assert isinstance(again.exception, OutputError)
    assert RUN.invoke(app, command(files, "--attack", "tie-linkage", "--force")).exit_code == 0


def test_an_order_file(files: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "order.txt").write_text("\n".join(str(row) for row in range(400)))
    result = RUN.invoke(
        app, command(files, "--order", str(tmp_path / "order.txt"), "--attack", "tie-linkage")
    )
    assert result.exit_code == 0, result.output
    (tmp_path / "words.txt").write_text("one two")
    broken = RUN.invoke(app, command(files, "--order", str(tmp_path / "words.txt"), "--force"))
    assert isinstance(broken.exception, DataError)


class _Strict(HTMLParser):
    """Every tag that opens closes, and nothing is fetched from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("src", "href"):
                assert value is not None
                assert value.startswith("data:")
            if tag == "img" and name == "alt":
                assert value
        if tag not in ("meta", "br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_stands_alone() -> None:
    people = normals(300, 2, 3)
    released = protect(people, normals_schema(2), method="ir", epsilon=1, k=5, seed=1).table
    audit = audit_release(people, released, normals_schema(2))
    parser = _Strict()
    page = audit_page(audit)
    parser.feed(page)
    assert parser.open == []
    assert audit_section(audit) in page
    assert "http" not in page
    for finding in audit.findings:
        assert finding.attack in {f.attack for f in audit.findings}
    for missed in audit.not_run:
        assert missed.reason[:20] in page


def test_hostile_names_do_not_become_markup() -> None:
    hostile = "<script>alert(1)</script>"
    people = normals(300, 2, 3).rename_columns([hostile, "b"])
    entry = {"type": "continuous", "role": "protect", "domain": {"lower": -6, "upper": 6}}
    from coterie import Schema

    schema = Schema.load({"attributes": {hostile: entry, "b": entry}})
    audit = audit_release(people, people, schema, attacks=["attribute-inference", "interval-disclosure"])
    assert audit_page(audit).count("<script") == 1, "our own, for tooltips"
    assert "alert(1)</script>" not in audit_page(audit)


def test_an_audit_without_findings_still_has_a_page() -> None:
    people = normals(10, 2, 3)
    audit = audit_release(people, people, normals_schema(2), attacks=["tie-linkage"])
    assert "Nothing can be said" in audit_page(audit)
    assert audit_figure(audit) is None


def test_the_map_draws_every_method() -> None:
    people = normals(300, 2, 3)
    audit = audit_release(people, people, normals_schema(2))
    weaker = Guarantee("k-anonymity", "5", Status.PROVED, "rows", "5-anonymity", (), "")
    points = [
        risk_point("ir", weaker, 0.01, audit),
        RiskPoint("dp-synthetic", "proved", 0.2, 0.0, 0.0, 0.01),
        RiskPoint("dp-ir", "refuted", 0.4, 0.97, 0.96, 0.98),
    ]
    assert points[0].risk > 0.9
    assert points[0].promise == "proved: k-anonymity"
    figure = risk_utility_map(points, loss="loss", caption="300 people")
    words = set(re.findall(r">(ir|dp-synthetic|dp-ir)</text>", figure.panels[0].usual.parts))
    assert words == {"ir", "dp-synthetic", "dp-ir"}
    assert [key.words for key in figure.keys] == ["proved: k-anonymity", "proved", "refuted"]
    assert figure.png().startswith(PNG)
