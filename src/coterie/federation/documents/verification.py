"""verify(): do a release and a certificate belong together? For rows, statistics and releases of several owners."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from coterie.errors import CertificateError, reading
from coterie.federation.documents.certificate import MEMBERSHIP, FederatedCertificate, is_federated, verified
from coterie.federation.documents.signed import signed_from
from coterie.federation.errors import FederationError
from coterie.federation.secrets.keys import fingerprint
from coterie.promise.certificate import Certificate, Digest
from coterie.promise.signing import check_signature, require_digest, require_signer
from coterie.schema.frame_kind import to_kind
from coterie.statistics.releasing.certificate import StatisticsCertificate

AnyCertificate = Certificate | StatisticsCertificate | FederatedCertificate


@dataclass(frozen=True, repr=False)
class Verification:
    """A release and a certificate that belong together.

    Attributes
    ----------
    certificate : Certificate, StatisticsCertificate or FederatedCertificate
        What was promised.
    signer : str or None
        The fingerprint of the key that signed it; None where it is not signed.
    signer_trusted : bool
        Whether that is the key you named.
    outdated : str or None
        What an earlier version of Coterie wrote and today's would not.
    """

    certificate: AnyCertificate
    signer: str | None
    signer_trusted: bool
    outdated: str | None

    def __repr__(self) -> str:
        told = "not signed" if self.signer is None else f"signed by {self.signer}"
        trusted = ", the key you trust" if self.signer_trusted else ""
        note = f"; but {self.outdated}" if self.outdated else ""
        return f"<Verification: the release has the bytes that were certified; {told}{trusted}{note}>"

    def to_frame(self, kind: str = "arrow") -> Any:
        """One row: what was promised, and who signed it. `kind`: arrow, pandas or polars."""
        promise = self.certificate.guarantee
        row: dict[str, str | bool | None] = {
            "status": str(promise.status),
            "promise": promise.label,
            "signer": self.signer,
        }
        row |= {"signer_trusted": self.signer_trusted, "outdated": self.outdated}
        return to_kind(pa.table({name: [value] for name, value in row.items()}), kind)


def verify(
    released: str | Path,
    certificate: str | Path | None = None,
    *,
    table: str | None = None,
    key: str | Path | None = None,
) -> Verification:
    """Check that a release and a certificate belong together.

    Parameters
    ----------
    released : str or Path
        The released file or folder, or the address of a database.
    certificate : str or Path, optional
        The certificate's file. Default: RELEASED.certificate.json.
    table : str, optional
        The released table, where `released` is the address of a database.
    key : str or Path, optional
        The issuer's public key file, or its fingerprint (SHA256:…). Then the signature must be theirs.

    Returns
    -------
    Verification
        The certificate, and who signed it.

    Raises
    ------
    CertificateError
        Where the digests differ, the signature does not fit, or another key signed it.

    Examples
    --------
    >>> import coterie, tempfile
    >>> people = coterie.demo_population(people=100)
    >>> release = coterie.protect(people, coterie.demo_schema(), method="laplace", epsilon=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mark = coterie.make_key(f"{folder}/key")
    ...     written = release.write(f"{folder}/released.csv", sign=f"{folder}/key")
    ...     coterie.verify(f"{folder}/released.csv", key=mark).signer_trusted
    True
    """
    path = Path(f"{released}.certificate.json") if certificate is None else Path(certificate)
    found, signer, digest = read_any(path)
    if key is not None:
        require_signer(signer, str(key))
    require_digest(str(released), table, digest)
    return Verification(found, signer, key is not None, superseded(found))


def read_any(path: Path) -> tuple[AnyCertificate, str | None, Digest]:
    """A certificate of any kind, who signed it, and the digest it is about; checked in all its parts."""
    with reading(f"The certificate {path}", CertificateError):
        data = path.read_bytes()
    try:
        content: Any = json.loads(data)
    except (ValueError, RecursionError):
        content = None  # the reader of one table's certificate reports what is wrong with the file
    if is_federated(content):
        try:
            signed = signed_from(data)
            joined = verified(signed, signed.key)
        except FederationError as error:
            raise CertificateError(error.problem, error.advice) from None
        return joined, fingerprint(signed.key), joined.digest
    if isinstance(content, dict) and "coterie_statistics_certificate" in content:
        statistics = StatisticsCertificate.from_json(data)
        # Signatures are over `canonical()` bytes, which both kinds of certificate have.
        return statistics, check_signature(cast(Certificate, statistics)), statistics.digest
    rows = Certificate.from_json(data)
    return rows, check_signature(rows), rows.release.digest


def superseded(certificate: AnyCertificate) -> str | None:
    """What an earlier version wrote and today's would not."""
    promise = certificate.guarantee
    if isinstance(certificate, FederatedCertificate):
        # It did not say this where it added up the owners' ε.
        if certificate.coterie_federated_certificate > 1 or promise.status not in ("proved", "bounded"):
            return None
        return (
            f"an earlier version wrote '{promise.status}'; today it is 'conditional', because it holds "
            f"only if {MEMBERSHIP}"
        )
    # It gave rows the status of the list of group means, and said so in the scope alone.
    if isinstance(certificate, Certificate) and promise.scope.endswith(", not the rows it is put back on"):
        return (
            f"an earlier version wrote '{promise.status}' of the list of group means; today the released rows have a "
            f"status of their own, which is weaker (`coterie methods show {certificate.method}`)"
        )
    return None
