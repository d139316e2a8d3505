"""How parts are found: every module of a package that defines one, and what other people's packages offer.

Nobody edits a list. A package of your own adds a part by an entry point: under `[project.entry-points."coterie.methods"]`
it says `my-method = "my_package.my_module:METHOD"`. Groups: `coterie.methods`, `coterie.measures`, `coterie.attacks`,
`coterie.allocators`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pkgutil import iter_modules
from typing import Any, Protocol, TypeVar

from coterie.errors import ParameterError, nearest


class _Named(Protocol):
    @property
    def name(self) -> str: ...


Part = TypeVar("Part", bound=_Named)
_outside: set[str] = set()  # packages that offered a part which was asked for


def discover(
    package: str,
    path: Iterable[str],
    constant: str,
    kind: type[Part],
    group: str | None,
    order: Callable[[Part], Any],
) -> dict[str, Part]:
    """Every part of one kind by name, in an order. A module defines `constant`: a part, or a tuple of them."""
    found: dict[str, Part] = {}
    # Files with an underscore hold helpers.
    for module in iter_modules(list(path)):
        if not module.name.startswith("_"):
            parts = getattr(import_module(f"{package}.{module.name}"), constant, ())
            for part in parts if isinstance(parts, tuple) else (parts,):
                if part.name in found:
                    raise RuntimeError(f"two parts of {package} are called {part.name}")
                found[part.name] = part
    for point in entry_points(group=group) if group else ():
        part = _loaded(point, kind)
        if part.name in found:
            raise ParameterError(
                f"{_offer(point)}: there is a {kind.__name__.lower()} '{part.name}' already.",
                "Give it another name in that package, or remove the package.",
            )
        found[part.name] = part
        _outside.add(point.module.partition(".")[0])
    return {part.name: part for part in sorted(found.values(), key=order)}


def look_up(kind: str, name: str, parts: Mapping[str, Part], listed: str = "") -> Part:
    """The part of this name, or an error with the nearest one; `listed` says where to see them all."""
    if name not in parts:
        raise ParameterError(f"There is no {kind} '{name}'.", f"{nearest(name, parts)} {listed}".rstrip())
    return parts[name]


def outside_packages() -> frozenset[str]:
    """Top-level modules of other people's packages that offered parts: engines send them along to other machines."""
    return frozenset(_outside)


def _loaded(point: EntryPoint, kind: type[Part]) -> Part:
    advice = "Mend the package, or remove it; what it says is in its entry points."
    try:
        part: Any = point.load()
    except Exception as error:
        raise ParameterError(
            f"{_offer(point)}, which cannot be loaded ({type(error).__name__}: {error}).", advice
        ) from error
    if not isinstance(part, kind):
        raise ParameterError(f"{_offer(point)}, which is not a {kind.__name__}.", advice)
    return part


def _offer(point: EntryPoint) -> str:
    package = point.dist.name if point.dist else point.module
    return f"The package '{package}' offers '{point.value}' in {point.group}"
