"""TLS without a certificate authority: the aggregator makes its own certificate, and owners pin exactly that one."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from coterie.federation.errors import FederationError
from coterie.federation.secrets.keys import pem, write_private

CERTIFICATE, KEY = "tls.pem", "tls.key"
_YEARS = 10


def make_certificate(folder: Path, names: Sequence[str]) -> None:
    """A self-signed certificate (P-256) for these host names and addresses; the key with mode 0600."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Coterie aggregator")])
    start = datetime.now(UTC) - timedelta(days=1)
    public = key.public_key()
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=365 * _YEARS))
        .add_extension(x509.SubjectAlternativeName([_alternative(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(public), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    write_private(folder / KEY, pem(key))
    (folder / CERTIFICATE).write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def pinned_context(certificate: str) -> ssl.SSLContext:
    """Trusts this one certificate and nothing else. The pin says who it is, so the host name need not."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    try:
        context.load_verify_locations(cadata=certificate)
    except (ssl.SSLError, ValueError):
        raise FederationError("The invitation holds no TLS certificate.", "Ask for a new one.") from None
    return context


def authority_context(bundle: Path) -> ssl.SSLContext:
    """For a proxy that inspects TLS: trust its authority for the channel; answers are still signed end to end."""
    try:
        return ssl.create_default_context(cafile=str(bundle))
    except (OSError, ssl.SSLError):
        raise FederationError(
            f"The CA bundle {bundle} cannot be read.", "Give a PEM file of certificates."
        ) from None


def show_certificate(context: ssl.SSLContext, path: Path) -> None:
    """Load the certificate and private key (PEM) for an aggregator that demands a certificate of its callers."""
    try:
        context.load_cert_chain(path)
    except (OSError, ssl.SSLError):
        raise FederationError(
            f"{path} does not hold a TLS certificate with its private key.",
            "Put both into one PEM file, without a passphrase, readable by you only.",
        ) from None


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
