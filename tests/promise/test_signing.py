"""Ed25519 signatures: right key, wrong key, changed certificate, unreadable keys."""

from __future__ import annotations

import base64
import json
import stat
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from coterie import Attribute, Certificate, Domain, Role, Schema, protect
from coterie.cli.app import app
from coterie.errors import CertificateError, OutputError, ParameterError
from coterie.federation.documents.verification import superseded
from coterie.promise.signing import check_signature, make_key, sign


@pytest.fixture
def certificate(people: pa.Table, people_schema: Schema) -> Certificate:
    return protect(people, people_schema, method="dp-ir", epsilon=1, k=5).certificate


@pytest.fixture
def key(tmp_path: Path) -> Path:
    make_key(tmp_path / "key")
    return tmp_path / "key"


def public(key: Path) -> Path:
    return key.with_name(key.name + ".pub")


def test_a_signature_holds_through_json(certificate: Certificate, key: Path) -> None:
    signed = Certificate.from_json(sign(certificate, key).to_json())
    signer = check_signature(signed, public(key))
    assert signer is not None
    assert signer.startswith("SHA256:")
    assert check_signature(signed, None) == signer
    assert signed.canonical() == certificate.canonical()


def test_the_private_key_is_for_its_owner_only(key: Path) -> None:
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert b"PRIVATE" not in public(key).read_bytes()


def test_a_key_file_is_never_overwritten(key: Path) -> None:
    before = key.read_bytes()
    with pytest.raises(OutputError, match="cannot be written"):
        make_key(key)
    assert key.read_bytes() == before
    with pytest.raises(OutputError):
        make_key(key.parent / "nowhere" / "key")


@pytest.mark.parametrize("taken", ["new", "new.pub"])
def test_a_key_pair_is_written_whole_or_not_at_all(tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).write_text("somebody's")
    with pytest.raises(OutputError):
        make_key(tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == [taken]
    assert (tmp_path / taken).read_text() == "somebody's"


def test_an_unsigned_certificate_has_no_signer(certificate: Certificate, key: Path) -> None:
    assert check_signature(certificate, None) is None
    with pytest.raises(CertificateError, match="not signed"):
        check_signature(certificate, public(key))


@pytest.mark.parametrize("change", [{"epsilon": "0.1"}, {"k": 6}, {"notes": ()}, {"tool": "other"}], ids=str)
def test_a_changed_certificate_is_refused(
    certificate: Certificate, key: Path, change: dict[str, object]
) -> None:
    signed = sign(certificate, key).model_copy(update=change)
    with pytest.raises(CertificateError, match="does not fit its content"):
        check_signature(signed, None)


@pytest.mark.parametrize(
    "change",
    [
        {"value": base64.b64encode(bytes(64)).decode()},
        {"value": "no base64!"},
        {"public_key": "AAAA"},
        {"public_key": base64.b64encode(bytes(32)).decode()},
    ],
    ids=["other value", "no base64", "short key", "other key"],
)
def test_a_changed_signature_is_refused(certificate: Certificate, key: Path, change: dict[str, str]) -> None:
    signed = sign(certificate, key)
    assert signed.signature is not None
    broken = signed.model_copy(update={"signature": signed.signature.model_copy(update=change)})
    with pytest.raises(CertificateError, match="does not fit"):
        check_signature(broken, None)
    document = json.loads(signed.to_json()) | {"signature": {}}
    with pytest.raises(CertificateError, match="can read"):
        Certificate.from_json(json.dumps(document))


def test_somebody_elses_signature_is_refused(certificate: Certificate, key: Path) -> None:
    make_key(key.parent / "other")
    signed = sign(certificate, key.parent / "other")
    assert check_signature(signed, None) is not None
    with pytest.raises(CertificateError, match="another key"):
        check_signature(signed, public(key))


def test_what_is_no_key_is_refused(certificate: Certificate, key: Path) -> None:
    bad = key.parent / "bad"
    bad.write_text("not a key")
    for path in (bad, key.parent / "missing", public(key)):
        with pytest.raises(ParameterError, match=r"private key file .* (cannot be read|is no Ed25519 key)"):
            sign(certificate, path)
    signed = sign(certificate, key)
    for path in (bad, key.parent / "missing", key):
        with pytest.raises(ParameterError, match=r"public key file .* (cannot be read|is no Ed25519 key)"):
            check_signature(signed, path)


BEFORE = sorted((Path(__file__).parent / "certificates").glob("before-beside-*.json"))


@pytest.mark.parametrize("path", BEFORE, ids=lambda path: path.stem)
def test_certificates_from_before_there_was_a_beside_still_verify(path: Path) -> None:
    """Written and signed by the code of before: they parse, verify, and are written again as they were."""
    certificate = Certificate.from_json(path.read_bytes())
    assert check_signature(certificate, None) is not None
    assert certificate.guarantee.beside == ()
    assert json.loads(certificate.to_json()) == json.loads(path.read_bytes())
    note = superseded(certificate)
    assert (note is not None) is (certificate.method != "laplace")
    shown = CliRunner().invoke(app, ["certificate", "show", str(path)]).output
    assert ("an earlier version wrote" in shown) is (note is not None)
    weaker = certificate.guarantee.model_copy(update={"beside": (certificate.guarantee,)})
    with pytest.raises(CertificateError):
        check_signature(certificate.model_copy(update={"guarantee": weaker}), None)


def test_what_stands_beside_is_signed_and_survives_writing(tmp_path: Path) -> None:
    make_key(tmp_path / "key")
    schema = Schema(attributes=(Attribute(name="x", role=Role.PROTECT, domain=Domain(lower=0, upper=1)),))
    release = protect(
        {"x": [0.0, 0.1, 0.2, 0.8, 0.9, 1.0]}, schema, method="idp-cbls-joint", epsilon="1", k=3
    )
    signed = Certificate.from_json(sign(release.certificate, tmp_path / "key").to_json())
    assert check_signature(signed, tmp_path / "key.pub") is not None
    assert signed.guarantee.status == "refuted"
    assert [(b.status, b.value) for b in signed.guarantee.beside] == [("proved", "1")]
    alone = signed.guarantee.model_copy(update={"beside": ()})
    with pytest.raises(CertificateError):
        check_signature(signed.model_copy(update={"guarantee": alone}), None)
