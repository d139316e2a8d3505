"""One recipe per file. The registry finds every module here that defines METHOD, and the entry points `coterie.methods`."""

from __future__ import annotations

from functools import cache

from coterie.methods.recipe import Method
from coterie.registry import discover, look_up

# Methods of earlier versions, whose place dp-synthetic took. Documents that name them still open and verify; nobody can ask
# for them any more.
WITHDRAWN = frozenset({"dp-copula", "dp-tree"})


@cache
def all_methods() -> dict[str, Method]:
    """Every method by name, in the order in which a reader should meet them."""
    return discover(__name__, __path__, "METHOD", Method, "coterie.methods", lambda m: (m.rank, m.name))


def get_method(name: str) -> Method:
    return look_up("method", name, all_methods(), "`coterie methods` lists them with what they promise.")
