"""Write docs/reference/openapi.json from the application; a test keeps the two the same."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from coterie.federation.aggregator.app import make_app
from coterie.federation.aggregator.home import init

TARGET = Path(__file__).parents[1] / "docs" / "reference" / "openapi.json"


def document() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        aggregator, _ = init(Path(folder) / "aggregator", "https://localhost:8443", ["localhost"], None)
        try:
            content = make_app(aggregator).openapi()
        finally:
            aggregator.close()
    content["info"]["version"] = "1"  # the protocol's; the tool's own changes more often
    return content


def text() -> str:
    return json.dumps(document(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(text(), encoding="utf-8")
