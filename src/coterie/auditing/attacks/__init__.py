"""What an attacker still gets: one attack a file. The registry finds every module here that defines ATTACK.

A package of your own can add attacks without touching Coterie: an entry point in the group
`coterie.attacks` that names
an Attack value. Or hand Attack values to audit_release(…, attacks=[…]) for one audit.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules

from coterie.auditing.attacks.attack import Attack, Subject
from coterie.errors import ParameterError, nearest

__all__ = ["Attack", "Subject", "all_attacks", "get_attack"]


@cache
def all_attacks() -> dict[str, Attack]:
    """Every attack by name, in the order in which they run."""
    modules = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    attacks = [module.ATTACK for module in modules if hasattr(module, "ATTACK")]
    attacks += [point.load() for point in entry_points(group="coterie.attacks")]
    return {attack.name: attack for attack in sorted(attacks, key=lambda attack: (attack.rank, attack.name))}


def get_attack(name: str) -> Attack:
    attacks = all_attacks()
    if name not in attacks:
        raise ParameterError(f"There is no attack '{name}'.", nearest(name, attacks))
    return attacks[name]
