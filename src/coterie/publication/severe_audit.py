"""A severe audit stops the next release by the same method of the same table, until somebody writes why they go on.

Audits lie where `coterie audit` put them: `audit.json` in the folder of a release, or in a folder inside it. The reason lies
beside the certificate, as RELEASED.reason.json, whether or not there is a ledger.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from coterie.errors import ParameterError
from coterie.table.address import is_database
from coterie.table.digest import file_sha256

SEVERE = "severe risk"


def recorded_audits(folder: Path) -> list[dict[str, Any]]:
    """The audits that lie in a folder, or in a folder inside it; the latest last."""
    return [one for one in recorded(folder, "audit.json") if isinstance(one.get("level"), str)]


def recorded(folder: Path, name: str) -> list[dict[str, Any]]:
    """JSON documents of such a name in a folder, or in a folder inside it; the latest last."""
    found = []
    for path in (*folder.glob(name), *folder.glob(f"*/{name}")):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue  # not a file of ours
        if isinstance(content, dict):
            found.append(content)
    return sorted(found, key=lambda one: str(one.get("made", "")))


def digest_of_file(data: Any) -> str | None:
    """SHA-256 of a file; None where the data are no file."""
    if not isinstance(data, str | Path) or is_database(data) or not Path(data).is_file():
        return None
    return file_sha256(Path(data))


def require_reason(data: Any, output: str | Path, method: str, despite: str | None) -> str:
    """The reason to go on; refuse where the latest audit of such a release found a severe risk and there is none."""
    reason = (despite or "").strip()
    if reason or is_database(output):
        return reason
    audits = [
        one
        for one in recorded_audits(Path(output).absolute().parent)
        if one.get("source_digest") and (one.get("promised") or {}).get("method") == method
    ]
    if not audits:
        return ""
    source = digest_of_file(data)
    same = [one for one in audits if one["source_digest"] == source]
    if same and same[-1]["level"] == SEVERE:
        raise ParameterError(
            f"An audit of this table released by '{method}' found a severe risk ({str(same[-1].get('made'))[:10]}).",
            'Choose a proved method (`coterie methods`), or write why you go on: --despite "…" (despite=). The reason '
            "is kept beside the release, in the ledger and on the dossier.",
        )
    return ""


def _reason_file(certificate: Path) -> Path:
    return certificate.with_name(certificate.name.removesuffix(".certificate.json") + ".reason.json")


def reason_document(certificate: Path, digest: str, reason: str) -> dict[Path, bytes]:
    """The file that keeps the reason, and of which release it is; for the owner's eyes only."""
    made = datetime.now(UTC).isoformat(timespec="seconds")
    content = {"made": made, "release_digest": digest, "despite": reason}
    return {_reason_file(certificate): json.dumps(content, indent=2, ensure_ascii=False).encode()}


def kept_reason(certificate: Path, digest: str) -> str:
    """The reason beside a release of such bytes; empty where there is none."""
    path = _reason_file(certificate)
    found = [
        one for one in recorded(path.absolute().parent, path.name) if one.get("release_digest") == digest
    ]
    return str(found[-1].get("despite") or "") if found else ""
