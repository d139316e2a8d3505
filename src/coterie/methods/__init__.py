"""One recipe per file. The registry finds every module here that defines METHOD, and the entry points `coterie.methods`."""

from __future__ import annotations

from functools import cache

from coterie.errors import ParameterError, nearest
from coterie.methods.recipe import Method
from coterie.registry import discover


@cache
def all_methods() -> dict[str, Method]:
    """Every method by name, in the order in which a reader should meet them."""
    methods = discover(__name__, __path__, "METHOD", Method, "coterie.methods")
    return {method.name: method for method in sorted(methods, key=lambda method: (method.rank, method.name))}


def get_method(name: str) -> Method:
    methods = all_methods()
    if name not in methods:
        raise ParameterError(
            f"There is no method '{name}'.",
            f"{nearest(name, methods)} `coterie methods` lists them with what they promise.",
        )
    return methods[name]
