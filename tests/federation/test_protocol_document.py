"""docs/reference/protocol.md is complete: every route and field is in it, and an owner written from it alone is heard."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from federation_world import people

from coterie.federation.aggregator import app, home, receiving, routes, service
from coterie.federation.aggregator.receiving import ProgressReport
from coterie.federation.documents import certificate, chunks, messages, study
from coterie.federation.documents.signed import Document, Signed

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "protocol.md").read_text(encoding="utf-8")
ROUTES = json.loads((ROOT / "docs" / "reference" / "openapi.json").read_text(encoding="utf-8"))["paths"]
MODELS = {
    model
    for module in (certificate, chunks, messages, study)
    for model in vars(module).values()
    if isinstance(model, type) and issubclass(model, Document) and model is not Document
} | {Signed, ProgressReport}


@pytest.mark.parametrize(
    ("path", "method"), [(path, method) for path, found in ROUTES.items() for method in found]
)
def test_every_route_is_described(path: str, method: str) -> None:
    short = re.sub(r"\{(\w+)\}", lambda name: "N" if name[1] == "number" else name[1].upper(), path)
    short = short.replace("/v1/studies/STUDY", "…").replace("STEP/N", "STEP/NUMBER")
    assert f"`{method.upper()} {short}" in PAGE or (
        method == "get" and f"PUT {short}" in PAGE and "`GET`" in PAGE
    )


@pytest.mark.parametrize("model", sorted(MODELS, key=lambda model: model.__name__))
def test_every_field_is_described(model: type[Document]) -> None:
    missing = [name for name in model.model_fields if not re.search(rf'[`"]{name}[`"]', PAGE)]
    assert not missing


def test_every_error_is_described() -> None:
    words = set()
    for module in (app, home, receiving, routes, service):
        words |= set(re.findall(r'Fault\(\s*\d+,\s*"([^"]+)"', Path(module.__file__ or "").read_text()))
    assert words
    assert not [word for word in words if f"`{word}`" not in PAGE]


class ForeignOwner:
    """Written from the page, without a line of Coterie's own."""

    def __init__(self, text: str) -> None:
        body = text.removeprefix("coterie-invitation:").strip()
        self.invited = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        self.signing, self.sealing = Ed25519PrivateKey.generate(), X25519PrivateKey.generate()
        self.session = secrets.token_urlsafe(18)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False
        context.load_verify_locations(cadata=self.invited["tls"])
        self.http = httpx.Client(base_url=self.invited["url"], verify=context, timeout=60, trust_env=False)

    @property
    def key(self) -> str:
        return base64.b64encode(self.signing.public_key().public_bytes_raw()).decode()

    @staticmethod
    def canonical(content: Any) -> bytes:
        return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

    def sign(self, kind: str, content: bytes) -> str:
        return base64.b64encode(self.signing.sign(f"coterie {kind} 1\n".encode() + content)).decode()

    def send(self, method: str, target: str, content: Any = None) -> tuple[int, Any]:
        body = b"" if content is None else self.canonical(content)
        nonce, now = secrets.token_urlsafe(18), datetime.now(UTC).isoformat()
        signed = {
            "method": method, "target": target, "body": hashlib.sha256(body).hexdigest(), "nonce": nonce,
            "time": now, "session": self.session, "to": self.invited["aggregator"],
        }  # fmt: skip
        headers = {
            "Coterie-Protocol": "1-2", "Coterie-Key": self.key, "Coterie-Time": now, "Coterie-Nonce": nonce,
            "Coterie-Session": self.session, "Coterie-Signature": self.sign("request", self.canonical(signed)),
        }  # fmt: skip
        answer = self.http.request(method, target, content=body, headers=headers)
        said = {
            "status": answer.status_code,
            "body": hashlib.sha256(answer.content).hexdigest(),
            "nonce": nonce,
        }
        aggregator = Ed25519PublicKey.from_public_bytes(base64.b64decode(self.invited["aggregator"]))
        signature = base64.b64decode(answer.headers["Coterie-Signature"])
        aggregator.verify(signature, b"coterie response 1\n" + self.canonical(said))
        return answer.status_code, answer.json()

    def signed(self, kind: str, document: dict[str, Any]) -> dict[str, Any]:
        return {"document": document, "key": self.key, "signature": self.sign(kind, self.canonical(document))}


def test_an_owner_in_another_language(shared: Any) -> None:
    foreign = ForeignOwner(shared.invitation("foreign").to_text())
    sealing = base64.b64encode(foreign.sealing.public_key().public_bytes_raw()).decode()
    form = {"token": foreign.invited["token"], "key": foreign.key, "sealing_key": sealing}
    status, said = foreign.send("POST", "/v1/enrol", form)
    assert (status, said["owner"]) == (200, "foreign")
    other = shared.join("native")
    shared.give(other, people(30, 1))
    asked = shared.study(["foreign", "native"], title="Länge des Aufenthalts")
    status, said = foreign.send("GET", "/v1/desired?after=&wait=0")
    [wanted] = said["studies"]
    document = wanted["study"]["document"]
    assert hashlib.sha256(foreign.canonical(document)).hexdigest() == wanted["id"] == asked.id
    names = [attribute["name"] for attribute in document["attributes"]]
    promise = {
        "model": "none", "value": "none", "status": "none", "scope": "nothing", "label": "no formal guarantee",
        "assumptions": [], "citation": "", "neighbours": "none", "rests_on_noise": False,
    }  # fmt: skip
    answer = {
        "coterie_answer": 1, "study": wanted["id"], "owner": "foreign", "decision": "approve", "attributes": names,
        "disjoint": True, "reason": None, "figures": {}, "at": datetime.now(UTC).isoformat(), "promise": promise,
    }  # fmt: skip
    target = f"/v1/studies/{wanted['id']}"
    assert foreign.send("POST", f"{target}/answer", foreign.signed("answer", answer)) == (
        200,
        {"state": "APPROVED"},
    )
    assert shared.part(asked, "foreign")["state"] == "APPROVED"
    status, wrong = foreign.send("POST", f"{target}/seal")
    assert (status, wrong["error"]) == (409, "conflict")
    assert foreign.send("POST", "/v1/leave") == (200, {"owner": "foreign", "state": "left"})
    assert foreign.send("GET", "/v1/desired?after=&wait=0")[0] == 401
    foreign.http.close()
