"""What the routes tell OpenAPI: bodies are read by hand (their bytes are signed), so they are described by hand."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from coterie.federation.documents import wire
from coterie.federation.documents.wire import LARGEST_CHUNK

_HEADERS = {
    wire.PROTOCOL: "protocol versions of the owner, such as 1 or 1-2",
    wire.KEY: "the owner's Ed25519 public key, base64",
    wire.TIME: "now, ISO 8601 with zone; at most two minutes off",
    wire.NONCE: "16 to 64 characters, never used before",
    wire.SIGNATURE: "Ed25519 over the request, base64 (docs/reference/protocol.md)",
}
_WORDS = {
    401: "bad signature, reused nonce, unknown key (no detail); or clock off, with both times",
    404: "no such study for this owner",
    409: "the state does not allow it, or another process uses this key",
    410: "the invitation was used or has expired",
    413: "the body is too long",
    422: "the document or chunk is not acceptable; the reason is given",
    426: "no common protocol version; both ranges are given",
    507: "the disk of the aggregator is full: try again later",
}
FAULT_SCHEMA = {
    "type": "object",
    "required": ["error", "problem", "advice"],
    "properties": {name: {"type": "string"} for name in ("error", "problem", "advice")},
}

SIGNED: dict[str, Any] = {
    "parameters": [
        {"name": name, "in": "header", "required": True, "description": text, "schema": {"type": "string"}}
        for name, text in _HEADERS.items()
    ]
}


def document_body(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    content = {"application/json": {"schema": schema}}
    return {**SIGNED, "requestBody": {"required": True, "content": content}}


def chunk_body() -> dict[str, Any]:
    schema = {"type": "string", "format": "binary", "maxLength": LARGEST_CHUNK}
    content = {"application/octet-stream": {"schema": schema}}
    return {**SIGNED, "requestBody": {"required": True, "content": content}}


def responses(*codes: int, content: str = "application/json") -> dict[int | str, dict[str, Any]]:
    found: dict[int | str, dict[str, Any]] = {
        200: {
            "description": "done",
            "content": {content: {"schema": {} if "json" in content else {"type": "string"}}},
        }
    }
    for code in codes:
        found[code] = {"description": _WORDS[code], "content": {"application/json": {"schema": FAULT_SCHEMA}}}
    return found
