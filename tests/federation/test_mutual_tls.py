"""`aggregator serve --client-ca`: who shows no certificate, or one of somebody else, is not even listened to."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from federation_world import command, environment, until, world

from coterie.federation.aggregator.home import init
from coterie.federation.owner.home import OwnerHome

Issued = tuple[x509.Certificate, ec.EllipticCurvePrivateKey]


def issued(name: str, issuer: Issued | None = None, days: int = 9) -> Issued:
    """A certificate by `issuer`; without one, an authority of its own."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    by, signer = (issuer[0].subject, issuer[1]) if issuer else (subject, key)
    start, public = datetime.now(UTC) - timedelta(days=10), key.public_key()
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=10 + days))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
    )
    return builder.sign(signer, hashes.SHA256()), key


def pem(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey | None = None) -> bytes:
    text = certificate.public_bytes(serialization.Encoding.PEM)
    if key is not None:
        text += key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    return text


@pytest.fixture(scope="module")
def demanding(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Path]]:
    """An aggregator that demands certificates of one authority, and a folder of good and bad ones."""
    folder = tmp_path_factory.mktemp("mutual")
    authority, stranger = issued("authority"), issued("stranger")
    (folder / "authority.pem").write_bytes(pem(authority[0]))
    (folder / "good.pem").write_bytes(pem(*issued("hospital", authority)))
    (folder / "wrong.pem").write_bytes(pem(*issued("hospital", stranger)))
    (folder / "expired.pem").write_bytes(pem(*issued("hospital", authority, days=-1)))
    with world(folder / "world") as made:
        words = ("--host", "127.0.0.1", "--client-ca", str(folder / "authority.pem"), "--json")
        with (folder / "server.log").open("wb") as log:
            made.server = subprocess.Popen(
                command("aggregator", "serve", str(made.aggregator.folder), *words),
                env=environment(), stdout=log, stderr=log,
            )  # fmt: skip
        until(made.listening, "the aggregator to listen")
        until(
            lambda: '"listening"' in (folder / "server.log").read_text(), "the service to say that it listens"
        )
        yield made, folder


def invited(demanding: tuple[Any, Path], name: str) -> Path:
    made, folder = demanding
    (folder / name).write_text(made.invitation(name).to_text())
    return folder / name


@pytest.mark.parametrize("shown", [None, "wrong", "expired"])
def test_without_the_right_certificate(demanding: Any, coterie: Any, shown: str | None) -> None:
    made, folder = demanding
    name = f"{shown or 'no'}-certificate"
    words = ("--client-certificate", folder / f"{shown}.pem") if shown else ()
    home = folder / f"{name}-home"
    code, _, wrong = coterie("owner", "join", invited(demanding, name), "--home", home, *words, "--json")
    assert code == 19, wrong
    assert "without an answer" in wrong["problem"]
    assert "--client-certificate" in wrong["advice"]
    assert not [line for line in made.diary("enrolled") if line["owner"] == name]


def test_with_the_right_certificate(demanding: Any, coterie: Any) -> None:
    made, folder = demanding
    home = folder / "good-home"
    shown = ("--client-certificate", folder / "good.pem")
    code, _, wrong = coterie("owner", "join", invited(demanding, "good"), "--home", home, *shown, "--json")
    assert code == 0, wrong
    assert (home / "tls-client.pem").stat().st_mode & 0o777 == 0o600
    for words in (("run", "--once"), ("inspect",), ("leave", "--yes")):
        assert coterie("owner", *words, "--home", home)[0] == 0, words
    assert OwnerHome.open(home).tls_client is not None
    assert made.diary("left")


def test_files_that_are_no_certificates(demanding: Any, coterie: Any, tmp_path: Path) -> None:
    made, _ = demanding
    invitation = invited(demanding, "clumsy")
    (tmp_path / "empty.pem").write_text("nothing\n")
    for given, word in ((tmp_path / "empty.pem", "private key"), (tmp_path / "none.pem", "cannot be read")):
        words = ("--home", tmp_path / "home", "--client-certificate", given, "--json")
        code, _, wrong = coterie("owner", "join", invitation, *words)
        assert (code, word in wrong["problem"]) == (11, True), wrong
    other, _ = init(tmp_path / "other", made.url, ["127.0.0.1"], None)
    other.close()
    for words, word in (
        (("--client-ca", tmp_path / "empty.pem"), "CA bundle"),
        (("--host", "127.0.0.1"), "cannot be listened on"),
    ):
        code, _, wrong = coterie("aggregator", "serve", other.folder, *words, "--json")
        assert (code, word in wrong["problem"]) == (11, True), wrong


def test_the_service_speaks_json(demanding: Any) -> None:
    made, folder = demanding
    lines = [json.loads(line) for line in (folder / "server.log").read_text().splitlines()]
    [started] = [line for line in lines if line["event"] == "listening"]
    assert started["url"] == made.url
    assert started["address"] == made.url
    assert started["key"] == made.aggregator.fingerprint
    assert started["client_certificates"] == "demanded"
    assert len(started["tls_sha256"]) == 64
    assert all({"event", "at", "level", "text"} <= line.keys() for line in lines if line is not started)


def test_an_interrupt_ends_it_quietly(tmp_path: Path) -> None:
    with world(tmp_path) as made:
        made.serve()
        assert made.server is not None
        log = tmp_path / "server.log"
        # The port is open a moment before the service says so; an interrupt in between would find an empty log.
        until(lambda: made.aggregator.fingerprint in log.read_text(), "the service to say that it listens")
        made.server.send_signal(signal.SIGINT)
        assert made.server.wait(60) == 0
        assert "Traceback" not in log.read_text()
