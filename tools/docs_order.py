"""A hook of MkDocs: sections in the order in which a reader needs them, not in that of the alphabet."""

from __future__ import annotations

from typing import Any

ORDER = ("Tutorial", "How to", "Explanation", "Guarantees", "Reference", "Adr")


def on_nav(nav: Any, config: Any, files: Any) -> Any:
    """Pages are still found by folder; a section that is not named here comes last."""
    nav.items.sort(key=_place)
    ordered = [page for item in nav.items for page in _pages(item)]
    for page, before, after in zip(ordered, [None, *ordered], [*ordered[1:], None], strict=False):
        page.previous_page, page.next_page = before, after
    nav.pages[:] = ordered
    for section in nav.items:
        if section.title == "Adr":
            section.title = "Decisions"
    return nav


def _place(item: Any) -> int:
    """The home page, which is no section, comes first."""
    if not item.is_section:
        return -1
    return ORDER.index(item.title) if item.title in ORDER else len(ORDER)


def _pages(item: Any) -> list[Any]:
    return [page for child in item.children for page in _pages(child)] if item.is_section else [item]
