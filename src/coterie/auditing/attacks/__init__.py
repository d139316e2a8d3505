"""What an attacker still gets: one attack per file. The registry finds every module here that defines ATTACK.

A package of your own adds attacks by the entry points `coterie.attacks`. Or hand Attack values to an audit: `attacks=[…]`.
"""

from __future__ import annotations

from functools import cache

from coterie.auditing.attacks.attack import Attack, Subject
from coterie.errors import ParameterError, nearest
from coterie.registry import discover

__all__ = ["Attack", "Subject", "all_attacks", "get_attack"]


@cache
def all_attacks() -> dict[str, Attack]:
    """Every attack by name, in the order in which they run."""
    attacks = discover(__name__, __path__, "ATTACK", Attack, "coterie.attacks")
    return {attack.name: attack for attack in sorted(attacks, key=lambda attack: (attack.rank, attack.name))}


def get_attack(name: str) -> Attack:
    attacks = all_attacks()
    if name not in attacks:
        raise ParameterError(f"There is no attack '{name}'.", nearest(name, attacks))
    return attacks[name]
