"""One recipe per file. The registry finds every module here that defines METHOD, and the entry points `coterie.methods`."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules

from coterie.errors import ParameterError, nearest
from coterie.methods.recipe import Method


@cache
def all_methods() -> dict[str, Method]:
    """Every method by name, in the order in which a reader should meet them."""
    modules = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    methods = [module.METHOD for module in modules if hasattr(module, "METHOD")]
    methods += [point.load() for point in entry_points(group="coterie.methods")]
    return {method.name: method for method in sorted(methods, key=lambda method: (method.rank, method.name))}


def get_method(name: str) -> Method:
    methods = all_methods()
    if name not in methods:
        raise ParameterError(
            f"There is no method '{name}'.",
            f"{nearest(name, methods)} `coterie methods` lists them with what they promise.",
        )
    return methods[name]
