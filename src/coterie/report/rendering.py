"""Pages from templates: one file each, escaped, and nothing that a template asks for is silently missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from coterie.errors import MissingExtra
from coterie.report.charts.svg import in_order


def rendered(
    template: str, what: str, filters: dict[str, Callable[..., Any]] | None = None, **given: Any
) -> str:
    """A file in templates/, filled in; `what` is said where the extra is not installed."""
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise MissingExtra.named("report", what) from None
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= filters or {}
    text = (Path(__file__).parent / "templates" / template).read_text(encoding="utf-8")
    return in_order(environment.from_string(text).render(given))
