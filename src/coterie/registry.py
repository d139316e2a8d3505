"""How parts are found: every module of a package that defines one, and what other people's packages offer.

Nobody edits a list. A package of your own adds a part by an entry point: under `[project.entry-points."coterie.methods"]`
it says `my-method = "my_package.my_module:METHOD"`. Groups: `coterie.methods`, `coterie.measures`, `coterie.attacks`,
`coterie.allocators`. A package that cannot be loaded is named in a warning, and stops only those who ask for its part.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pkgutil import iter_modules
from traceback import walk_tb
from typing import Any, Protocol, TypeVar

from coterie.errors import ParameterError, nearest


class _Named(Protocol):
    @property
    def name(self) -> str: ...


Part = TypeVar("Part", bound=_Named)


class Parts(dict[str, Part]):
    """Parts by name, in an order; and the entry points that gave none, by their name."""

    def __init__(self, parts: Iterable[Part], group: str | None, broken: dict[str, ParameterError]) -> None:
        super().__init__((part.name, part) for part in parts)
        self.group, self.broken = group, broken

    def __repr__(self) -> str:
        kind = type(next(iter(self.values()))).__name__ if self else "Part"
        return f"<{kind}s: {', '.join(self)}>"


_outside: set[str] = set()  # packages that offered a part which was asked for


def discover(
    package: str,
    path: Iterable[str],
    constant: str,
    kind: type[Part],
    group: str | None,
    order: Callable[[Part], Any],
) -> Parts[Part]:
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
    broken: dict[str, ParameterError] = {}
    for point in entry_points(group=group) if group else ():
        try:
            part = _loaded(point, kind)
            if part.name in found:
                raise ParameterError(
                    f"{_offer(point)}: there is a {kind.__name__.lower()} '{part.name}' already.",
                    "Give it another name in that package, or remove the package.",
                )
        except ParameterError as error:
            broken[point.name] = error
            warnings.warn(str(error), stacklevel=2)
            continue
        found[part.name] = part
        _outside.add(point.module.partition(".")[0])
    return Parts(sorted(found.values(), key=order), group, broken)


def unknown(kind: str, name: object, parts: Parts[Part], listed: str = "") -> ParameterError:
    """Why no part has this name, and which name is near; `listed` says where to see them all."""
    if not isinstance(name, str):
        what = f"No {kind} was named" if name is None else f"A {kind} is asked for by its name"
        found = "" if name is None else f", and this is a value of the type {type(name).__name__}"
        own = f" One of your own is found by the entry points `{parts.group}` of its package."
        return ParameterError(f"{what}{found}.", f"{nearest('', parts)}{own if parts.group else ''}")
    if name in parts.broken:
        return parts.broken[name]
    return ParameterError(f"There is no {kind} '{name}'.", f"{nearest(name, parts)} {listed}".rstrip())


def failure(error: Exception) -> str:
    """Why a part gave no result. An exception's own text may hold data values: name its kind only."""
    if os.environ.get("COTERIE_DEBUG"):
        raise error
    return f"it failed ({type(error).__name__}; COTERIE_DEBUG=1 shows where)"


def outside_packages() -> frozenset[str]:
    """Top-level modules of other people's packages that offered parts: engines send them along to other machines."""
    return frozenset(_outside)


def raised_by(error: Exception) -> str | None:
    """The other package whose part raised it; None where it is our own fault."""
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    packages = [str(frame.f_globals.get("__name__")).partition(".")[0] for frame in frames]
    return next((package for package in packages if package in _outside), None)


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
