"""One of many processes that want the last ε at once: `python ledger_racer.py LEDGER NAME EPSILON GATE`."""

from __future__ import annotations

import sys
import time
from fractions import Fraction
from pathlib import Path

from ledger_staged_file import StagedFile

from coterie.errors import BudgetExceeded
from coterie.promise.loss import Loss
from coterie.publication.ledger import Ledger, Purpose, storage

storage.WAIT_SECONDS = 60.0  # the race is about the sum, not about a slow disk

path, name, epsilon, gate = Path(sys.argv[1]), sys.argv[2], Fraction(sys.argv[3]), Path(sys.argv[4])
target = path.parent / f"{name}.csv"
(path.parent / f"{name}.here").touch()
while not gate.exists():
    time.sleep(0.001)
try:
    with (
        Ledger.open(path) as ledger,
        ledger.charge(Purpose("patients", Loss.pure(epsilon), "m", "s", str(target))) as charge,
    ):
        time.sleep(0.02)  # long enough for the others to look while this one only holds its ε
        charge.publish([StagedFile.write(target, name.encode())])
    print("released")
except BudgetExceeded:
    print("refused")
