"""One recipe per file. The registry finds every module here that defines METHOD, and the entry points `coterie.methods`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from operator import attrgetter
from typing import Any

import pyarrow as pa

from coterie.methods.guarantee import Facts, Guarantee, beside_in_words, settle
from coterie.methods.recipe import Method
from coterie.registry import Parts, discover, unknown
from coterie.schema.frame_kind import to_kind

# Methods of earlier versions, whose place dp-synthetic took. Documents that name them still open and verify; nobody can ask
# for them any more.
WITHDRAWN = frozenset({"dp-copula", "dp-tree"})
LISTED = "`coterie methods` lists them with what they promise."


@cache
def all_methods() -> Parts[Method]:
    """Every method by name, in the order in which a reader should meet them."""
    return discover(__name__, __path__, "METHOD", Method, "coterie.methods", attrgetter("rank", "name"))


def get_method(name: str | Method) -> Method:
    """The method of this name; a method itself passes."""
    if isinstance(name, Method):
        return name
    methods = all_methods()
    if isinstance(name, str) and name in methods:
        return methods[name]
    raise unknown("method", name, methods, LISTED)


_COLUMNS = ("name", "title", "status", "model", "example_label", "minimum_k", "papers")


class Methods(Mapping[str, dict[str, Any]]):
    """Every method by name, in the order in which a reader should meet them; each with what is known about it."""

    def __getitem__(self, name: str) -> dict[str, Any]:
        return as_dict(get_method(name))

    def __iter__(self) -> Iterator[str]:
        return iter(all_methods())

    def __len__(self) -> int:
        return len(all_methods())

    def __repr__(self) -> str:
        return f"<Methods: {', '.join(self)}>"

    def to_frame(self, kind: str = "arrow") -> Any:
        """One row per method, as an Arrow table, a pandas or a polars frame."""
        rows = list(self.values())
        return to_kind(pa.table({column: [row[column] for row in rows] for column in _COLUMNS}), kind)


def list_methods() -> Methods:
    """List the methods, with the status of what each of them promises.

    Returns
    -------
    Methods
        By name: title, paper, stages, promise, assumptions and the best known attack. The promise is that of an
        example: 1,000 records, ε = 1, k = 10, declared bounds. `to_frame` makes a table of it.

    Examples
    --------
    >>> import coterie
    >>> methods = coterie.list_methods()
    >>> methods["laplace"]["status"]
    'proved'
    >>> [name for name, method in methods.items() if method["status"] == "proved"][:1]
    ['dp-synthetic']
    """
    return Methods()


def example_guarantee(method: Method) -> Guarantee:
    """The promise for an example table: 1,000 records, k = 10, ε = 1, declared bounds, secure noise."""
    k = method.fixed_k or 10
    return settle(
        method.promise,
        Facts(epsilon=Fraction(1), records=1000, k=k, clusters=1000 // k, protected=("value",)),
    )


def as_dict(method: Method) -> dict[str, Any]:
    guarantee = example_guarantee(method)
    return {
        "name": method.name,
        "title": method.title,
        "papers": method.papers,
        "stages": f"{method.grouping.name} · {method.numeric.stages}",
        "stages_for_categories": f"{method.grouping.name} · {method.categorical.stages}",
        "minimum_k": method.minimum_k,
        "fixed_k": method.fixed_k,
        "k_may_be_left_out": method.public_k is not None,
        "status": guarantee.status.value,
        "model": guarantee.model,
        "scope": guarantee.scope,
        "example_label": guarantee.label,
        "assumptions": list(guarantee.assumptions),
        "beside": [
            {
                "scope": other.scope,
                "model": other.model,
                "status": other.status.value,
                "value": other.value,
                "label": other.label,
                "assumptions": list(other.assumptions),
            }
            for other in guarantee.beside
        ],
        "beside_in_words": beside_in_words(guarantee.beside),
        "claim": guarantee.citation,
        "why": method.why,
        "attack": method.attack,
    }
