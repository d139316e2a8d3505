"""A one-time invitation: where the aggregator is, which keys to pin, and a secret that works once."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Annotated, Literal

from pydantic import Field

from coterie.federation.documents.canonical import Document, parsed, validated
from coterie.federation.documents.study import Moment, OwnerName, PublicKey
from coterie.federation.errors import FederationError

_PREFIX = "coterie-invitation:"


class Invitation(Document):
    coterie_invitation: Literal[1] = 1
    owner: OwnerName
    url: Annotated[str, Field(pattern=r"^https://[^\s/]+$", max_length=300)]
    aggregator: PublicKey
    tls: Annotated[str, Field(max_length=5000)]  # the certificate to pin, PEM
    token: Annotated[str, Field(min_length=20, max_length=100)]
    expires: Moment

    def to_text(self) -> str:
        return _PREFIX + base64.urlsafe_b64encode(self.canonical()).decode().rstrip("=")

    @classmethod
    def from_text(cls, text: str) -> Invitation:
        body = "".join(text.split())
        if not body.startswith(_PREFIX) or len(body) > 20_000:
            raise FederationError(
                "This is not an invitation.",
                "Give the text (or file) that `coterie aggregator invite` wrote.",
            )
        body = body.removeprefix(_PREFIX)
        try:
            raw = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))
        except (binascii.Error, ValueError):
            raise FederationError("The invitation is damaged.", "Copy it whole, or ask again.") from None
        return validated(cls, parsed(raw), "invitation")


class Enrolment(Document):
    """What the owner sends once: the secret, and both public keys. The request is signed with the new key."""

    token: Annotated[str, Field(min_length=20, max_length=100)]
    key: PublicKey
    sealing_key: PublicKey


def token_hash(token: str) -> str:
    """Tokens have 256 random bits, so one round of hashing is enough to store them by."""
    return hashlib.sha256(b"coterie token\n" + token.encode()).hexdigest()
