"""The published API: the document is that of the application, and schemathesis finds no answer outside of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import write_openapi
from coterie.federation.owner.client import Client

ROOT = Path(__file__).parents[2]
schemathesis = pytest.importorskip("schemathesis")
DOCUMENT = json.loads((ROOT / "docs" / "reference" / "openapi.json").read_text(encoding="utf-8"))
schema = schemathesis.openapi.from_dict(DOCUMENT)
schemathesis.checks.load_all_checks()
CHECKS = [
    schemathesis.checks.CHECKS.get_one(name)
    for name in ("status_code_conformance", "content_type_conformance", "response_schema_conformance")
]


def test_the_document_is_that_of_the_application() -> None:
    assert write_openapi.text() == (ROOT / "docs" / "reference" / "openapi.json").read_text(
        encoding="utf-8"
    ), "run: python tools/write_openapi.py"


@pytest.fixture(scope="session")
def speaker(shared: Any) -> Any:
    """Signs whatever schemathesis invents, as an owner who has joined, and sends it over TLS."""
    import requests

    home = shared.join("fuzzer")
    session = requests.Session()
    session.trust_env = False
    session.verify = str(shared.aggregator.folder / "tls.pem")
    signer = Client(home.url, home.aggregator, home.tls, home.keys, session="a-session-of-the-fuzzer")

    def send(case: Any) -> Any:
        given = case.as_transport_kwargs(base_url=shared.url)
        kept = {name: given.get(name) for name in ("method", "url", "params", "json", "data", "files")}
        prepared = requests.Request(
            **{name: value for name, value in kept.items() if value is not None}
        ).prepare()
        body = prepared.body or b""
        body = body.encode() if isinstance(body, str) else body
        prepared.headers.update(signer.signed_headers(prepared.method or "", prepared.path_url, body))
        return session.send(prepared, timeout=60)

    yield send
    signer.close()
    session.close()


@schema.include(path_regex="^/v1/(?!leave)").parametrize()
@settings(
    max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)
def test_no_answer_outside_the_document(case: Any, speaker: Any) -> None:
    response = speaker(case)
    assert response.status_code < 500
    case.validate_response(response, checks=CHECKS)


def test_the_server_still_serves(shared: Any, speaker: Any) -> None:
    assert shared.listening()
