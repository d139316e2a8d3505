"""`python -m benchmarks.peers [name …]`: every comparison, or those named (anonymeter, diffprivlib, dpmm, …)."""

from __future__ import annotations

import sys
from importlib import import_module

from benchmarks.peers.environment import PeerMissing

PEERS = ("anonymeter", "diffprivlib", "dpmm", "smartnoise", "tumult")


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        print(f"No peer is called {', '.join(unknown)}. There is: {', '.join(PEERS)}.", file=sys.stderr)
        return 2
    for name in names or PEERS:
        print(f"== {name}", flush=True)
        try:
            import_module(f"benchmarks.peers.against_{name}").run()
        except PeerMissing as missing:
            print(f"not compared: {missing}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
