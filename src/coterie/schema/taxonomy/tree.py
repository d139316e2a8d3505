"""A tree of categories: which label stands below which, and which labels a record may hold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.errors import DataError, SchemaError

TAXONOMY_VERSION = 1
FLAT_ROOT = "*"
# Far above any real hierarchy (WordNet: 20). Below it, rounding keeps the metric laws: see semantics.py.
DEEPEST = 200


class Edge(NamedTuple):
    """One label and the label above it (None: the root); `line` is its place in a file, 0 when unknown."""

    child: str
    parent: str | None
    line: int = 0


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """Nodes in depth-first order, siblings sorted by label, so equal trees are equal values.

    `categories` are the labels a record may hold, in the same order: the code of a category is its place
    there. They are usually the leaves; an inner concept may be a category too.
    """

    nodes: tuple[str, ...]
    parents: tuple[int, ...]  # place in `nodes`; -1 for the root, which is the first node
    categories: tuple[str, ...]
    _codes: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_codes", {label: code for code, label in enumerate(self.categories)})

    @classmethod
    def build(cls, edges: Iterable[Edge], categories: Iterable[str] | None = None) -> Taxonomy:
        """The tree of these edges, checked. Without `categories` the leaves are the domain."""
        above = _parents(edges)
        children: dict[str, list[str]] = {label: [] for label in above}
        for child, parent in above.items():
            if parent is not None:
                children[parent].append(child)
        root = _only_root(above)
        nodes: list[str] = []
        parents: list[int] = []
        stack = [(root, -1, 1)]
        while stack:
            label, parent_place, depth = stack.pop()
            if depth > DEEPEST:
                raise SchemaError(
                    f"The taxonomy is more than {DEEPEST} levels deep.", "Leave out levels that say nothing."
                )
            stack += [(child, len(nodes), depth + 1) for child in sorted(children[label], reverse=True)]
            nodes.append(label)
            parents.append(parent_place)
        if len(nodes) < len(above):
            caught = min(set(above) - set(nodes))
            raise SchemaError(
                f"The taxonomy has a cycle: following '{caught}' upwards never reaches the root.",
                "Remove one of the links of the cycle.",
            )
        return cls(tuple(nodes), tuple(parents), _domain(nodes, children, categories))

    @classmethod
    def flat(cls, labels: Iterable[str], root: str = FLAT_ROOT) -> Taxonomy:
        """A plain list of labels: depth one, every label equally far from every other."""
        listed = list(labels)
        while root in listed:  # a label may be called like our root
            root += "*"
        return cls.build([Edge(root, None), *(Edge(label, root) for label in listed)])

    def edges(self) -> list[Edge]:
        links = zip(self.nodes, self.parents, strict=True)
        return [Edge(label, self.nodes[place] if place >= 0 else None) for label, place in links]

    def digest(self) -> str:
        """sha256 by which a certificate names this tree; the same for every file that spells it."""
        document = {
            "coterie_taxonomy": TAXONOMY_VERSION,
            "nodes": {edge.child: edge.parent for edge in self.edges()},
            "categories": list(self.categories),
        }
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return sha256(text.encode()).hexdigest()

    def ancestors(self, label: str) -> tuple[str, ...]:
        """φ of Sánchez et al. 2016, eq. (3): the label itself, then upwards to the root."""
        if label not in self.nodes:
            raise SchemaError(
                f"The taxonomy has no label '{label}'.", f"Nearest: {_near(label, self.nodes)}."
            )
        return tuple(self.nodes[place] for place in self._upwards(self.nodes.index(label)))

    def at_level(self, label: str, level: int) -> str:
        """The label itself, or its ancestor so many levels below the root."""
        upwards = self.ancestors(label)
        return upwards[max(len(upwards) - 1 - level, 0)]

    def cut(self, level: int) -> Taxonomy:
        """The tree without what lies deeper than `level`; 1 stands just below the root."""
        depth = max(len(self.ancestors(label)) - 1 for label in self.categories)
        if level >= depth:
            raise SchemaError(
                f"Labels are recoded at level {level}, but the taxonomy has {depth} levels.",
                f"Write a level from 1 to {depth - 1}; 1 is the coarsest."
                if depth > 1
                else "It is a flat list: merge labels with recode: {labels: …}.",
            )
        kept = dict.fromkeys(self.at_level(label, level) for label in self.categories)
        if len(kept) < 2:
            raise SchemaError(
                f"At level {level} of the taxonomy all labels become one.", "Choose a deeper level."
            )
        needed = {above for label in kept for above in self.ancestors(label)}
        return Taxonomy.build([edge for edge in self.edges() if edge.child in needed], kept)

    def ancestry(self) -> NDArray[np.bool_]:
        """Row c, column v: is node v in φ(category c)?"""
        places = {label: place for place, label in enumerate(self.nodes)}
        matrix = np.zeros((len(self.categories), len(self.nodes)), dtype=np.bool_)
        for code, label in enumerate(self.categories):
            matrix[code, list(self._upwards(places[label]))] = True
        return matrix

    def codes(self, values: Sequence[str]) -> NDArray[np.int32]:
        """The code of each value. Give distinct labels (a dictionary's) where a column is long."""
        codes = np.fromiter((self._codes.get(value, -1) for value in values), np.int32, len(values))
        unknown = np.flatnonzero(codes < 0)
        if len(unknown):
            # The value is data: neither it nor what resembles it is shown. Labels of the taxonomy are public.
            shown = ", ".join(f"'{label}'" for label in sorted(self.categories)[:8])
            raise DataError(
                "Values are not categories of the taxonomy.",
                f"Its labels are such as {shown}. Correct the values, or add their labels to the taxonomy.",
                detail=f"The first is at position {unknown[0] + 1}.",
            )
        return codes

    def labels(self, codes: NDArray[np.integer[Any]]) -> list[str]:
        return [self.categories[code] for code in codes.tolist()]

    def _upwards(self, place: int) -> Iterator[int]:
        while place >= 0:
            yield place
            place = self.parents[place]


def _parents(edges: Iterable[Edge]) -> dict[str, str | None]:
    above: dict[str, str | None] = {}
    for edge in edges:
        where = f" (line {edge.line})" if edge.line else ""
        for label in (edge.child,) if edge.parent is None else (edge.child, edge.parent):
            if not isinstance(label, str) or not label or label != label.strip():
                raise SchemaError(
                    f"A label is empty, not text, or begins or ends with a blank{where}.", "Correct it."
                )
        if edge.child in above:
            same = above[edge.child] == edge.parent
            raise SchemaError(
                f"Label '{edge.child}' appears twice{where}"
                + ("." if same else f": below '{above[edge.child]}' and below '{edge.parent}'."),
                "A taxonomy is a tree: give each label one place.",
            )
        above[edge.child] = edge.parent
    for parent in [parent for parent in above.values() if parent is not None]:
        above.setdefault(parent, None)
    return above


def _only_root(above: Mapping[str, str | None]) -> str:
    roots = sorted(label for label, parent in above.items() if parent is None)
    if not above:
        raise SchemaError("The taxonomy is empty.", "Give it at least one category.")
    if not roots:
        raise SchemaError(
            "The taxonomy has a cycle and no root.", "Remove the link above the most general label."
        )
    if len(roots) > 1:
        raise SchemaError(
            f"The taxonomy has {len(roots)} roots, among them '{roots[0]}' and '{roots[1]}'.",
            "Put one most general label above them all.",
        )
    return roots[0]


def _domain(
    nodes: Sequence[str], children: Mapping[str, Sequence[str]], categories: Iterable[str] | None
) -> tuple[str, ...]:
    if categories is None:
        return tuple(label for label in nodes if not children[label])
    wanted = list(categories)
    if len(set(wanted)) < len(wanted):
        twice = sorted({label for label in wanted if wanted.count(label) > 1})
        raise SchemaError(f"Category '{twice[0]}' is listed twice.", "List each category once.")
    for label in wanted:
        if label not in children:
            raise SchemaError(
                f"Category '{label}' is not in the taxonomy.",
                f"The nearest labels are: {_near(label, nodes)}.",
            )
    if not wanted:
        raise SchemaError("The taxonomy has no categories.", "List at least one label a record may hold.")
    chosen = set(wanted)
    return tuple(label for label in nodes if label in chosen)


def _near(name: str, known: Sequence[str]) -> str:
    folded = {label.casefold(): label for label in sorted(known)}
    close = get_close_matches(name.casefold(), folded, n=3, cutoff=0.5)
    shown = [folded[match] for match in close] or sorted(known)[:8]
    return ", ".join(f"'{label}'" for label in shown)
