"""A WordNet of eleven synsets in the format of the real one."""

from __future__ import annotations

from pathlib import Path

# offset: (words, hypernyms). `pet` has two: the longer way over 00000030 and the shorter over 00000040;
# `mule` has two equally long ones, of which the lower offset wins.
SYNSETS = {
    10: ("entity", []),
    20: ("being", [("@", 10)]),
    30: ("animal beast", [("@", 20)]),
    40: ("possession", [("@", 10)]),
    50: ("pet", [("@", 30), ("@", 40)]),
    60: ("dog Canis", [("@", 30), ("~", 70)]),
    70: ("Rex", [("@i", 60)]),
    80: ("horse", [("@", 30)]),
    85: ("donkey", [("@", 30)]),
    90: ("mule", [("@", 85), ("@", 80)]),
    95: ("dog", [("@", 40)]),
}


def make_database(folder: Path, line_end: str = "\n") -> Path:
    data, senses = ["  1 a licence line"], {}
    for offset, (words, links) in SYNSETS.items():
        listed = words.split()
        pointers = " ".join(f"{symbol} {target:08d} n 0000" for symbol, target in links)
        spelt = " ".join(f"{word} 0" for word in listed)
        data.append(
            f"{offset:08d} 03 n {len(listed):02x} {spelt} {len(links):03d} {pointers} | gloss @ 99 n  "
        )
        for word in listed:
            senses.setdefault(word.lower(), []).append(offset)
    index = ["  1 a licence line"]
    for lemma, offsets in sorted(senses.items()):
        index.append(
            f"{lemma} n {len(offsets)} 1 @ {len(offsets)} 0 " + " ".join(f"{at:08d}" for at in offsets)
        )
    (folder / "data.noun").write_bytes(line_end.join([*data, ""]).encode())
    (folder / "index.noun").write_bytes(line_end.join([*index, ""]).encode())
    return folder
