"""Public names that are imported when they are first used. The stub beside a module says which, and where they are."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def names_of(module: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a module. Each line of its stub: from PLACE import NAME as NAME."""
    here = vars(sys.modules[module])
    stub = here["__loader__"].get_data(here["__file__"].removesuffix(".py") + ".pyi").decode()
    places = {words[3]: words[1] for words in map(str.split, stub.splitlines())}

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        place = places[name]
        value = import_module(f"{place}.{name}") if place == module else getattr(import_module(place), name)
        here[name] = value
        return value

    names = sorted(places)
    return get, lambda: names, names
