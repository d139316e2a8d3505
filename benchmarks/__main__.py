"""`python -m benchmarks [name …]`: run every benchmark, or those named."""

from __future__ import annotations

import sys
from importlib import import_module
from pkgutil import iter_modules

import benchmarks


def main(names: list[str]) -> int:
    known = sorted(module.name for module in iter_modules(benchmarks.__path__) if module.name != "__main__")
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"No benchmark is called {', '.join(unknown)}. There is: {', '.join(known)}.", file=sys.stderr)
        return 2
    for name in names or known:
        run = getattr(import_module(f"benchmarks.{name}"), "run", None)
        if run is not None:
            print(f"== {name}", flush=True)
            run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
