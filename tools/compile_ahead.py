"""Write the machine code of every loop beside the sources, so that no first-time user waits for a compiler.

    python tools/compile_ahead.py          when the working copy is set up, and before a wheel is built

The releases below call every loop with every kind of array that a command gives it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    from coterie.chain.partition import _machine_code

    shutil.rmtree(_machine_code.FOLDER, ignore_errors=True)
    # Numba reads these once, when it is imported.
    chosen = {
        "NUMBA_CPU_NAME": _machine_code.PROCESSOR,
        "NUMBA_CPU_FEATURES": "",
        _machine_code.WRITING: "yes",
    }
    again = [sys.executable, "-c", "import compile_ahead; compile_ahead.release_by_every_loop()"]
    here = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)]),
    }
    subprocess.run(again, env=here | chosen, check=True)
    forget_what_is_never_loaded()


def forget_what_is_never_loaded() -> None:
    """A loop that only others call is part of their machine code, and needs none of its own."""
    from numba.core.dispatcher import Dispatcher

    from coterie.chain.partition import _machine_code

    release_by_every_loop()
    loaded = {
        f"{name.rpartition('.')[2]}.{loop.__name__}"
        for name, module in sys.modules.items()
        if name.startswith("coterie.")
        for loop in vars(module).values()
        if isinstance(loop, Dispatcher) and loop.stats.cache_hits
    }
    for path in _machine_code.FOLDER.rglob("*.nb?"):
        if path.name.partition("-")[0] not in loaded:
            path.unlink()


def release_by_every_loop() -> None:
    import numpy as np
    import pyarrow as pa

    import coterie
    from coterie.engines.out_of_core.chain import warm_up

    draw = np.random.Generator(np.random.PCG64(1))
    numbers = {name: draw.random(60_000) for name in "xy"}
    table = pa.table({**numbers, "group": draw.choice(["a", "b"], 60_000)})
    bounded = {"role": "protect", "domain": {"lower": 0, "upper": 1}}
    groups = {"role": "protect", "type": "categorical", "categories": {"labels": ["a", "b"]}}

    def release(rows: int, method: str, mixed: bool = False, **settings: Any) -> None:
        attributes = {"x": bounded, "y": bounded, "group": groups if mixed else {"role": "keep"}}
        schema = {"coterie_schema": 1, "attributes": attributes}
        coterie.protect(table.slice(0, rows), schema, method=method, **settings)

    warm_up()  # what sorts on a disk, and on a cluster
    release(60_000, "dp-ir", epsilon=1, k=10)
    release(60_000, "dp-ir", mixed=True, epsilon=1, k=10)
    release(60_000, "idp-ls", epsilon=1, k=10)
    release(60_000, "idp-cbls", epsilon=1, k=10)
    release(60_000, "ir", k=10, grouping="optimal")
    release(60_000, "laplace", epsilon=1)
    release(3_000, "mdav", k=100)
    release(500, "mdav", mixed=True, k=50)
    release(3_000, "dp-mdav", mixed=True, epsilon=1, k=50)
    release(500, "dp-synthetic", mixed=True, epsilon=1)
    release(500, "dp-synthetic", mixed=True, epsilon=1, delta=1e-6)


if __name__ == "__main__":
    main()
