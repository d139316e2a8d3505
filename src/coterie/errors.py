"""Everything that can go wrong, and what to do about it.

    CoterieError
    ├── SchemaError          the schema is wrong or does not fit the table          exit 3
    ├── DataError            the table holds something that cannot be protected     exit 4
    ├── ParameterError       method, epsilon, k or another choice is impossible     exit 5
    ├── OutputError          the result cannot be written, or would overwrite       exit 6
    ├── CertificateError     file and certificate do not belong together            exit 7
    ├── LedgerError          the ledger is locked, damaged or not a ledger          exit 8
    │   └── BudgetExceeded   the population's lifetime epsilon would be passed      exit 9
    └── MissingExtra         an optional part of Coterie is not installed           exit 10

Exit 0 is success, 1 an unexpected fault (a bug: please report it), 2 a command line that cannot be read.
A message never holds a value of the data, nor a count of it. `problem` and `advice` name columns and public numbers
only, and may leave the machine; `detail` says in which row to look, and is for the person at the keyboard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import ClassVar


class CoterieError(Exception):
    """What is wrong (`problem`), what to do about it (`advice`), and where to look on this machine (`detail`).

    Certificates, logs and messages to other parties hold `problem` and `advice` only: `detail` may name a row.

    Examples
    --------
    >>> import coterie
    >>> try:
    ...     coterie.protect({"age": [31]}, coterie.demo_schema(), method="laplase", epsilon=1)
    ... except coterie.CoterieError as error:
    ...     print(error.advice)
    Did you mean 'laplace'? `coterie methods` lists them with what they promise.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, problem: str, advice: str, *, detail: str = "") -> None:
        super().__init__(" ".join(part for part in (problem, detail, advice) if part))
        self.problem = problem
        self.advice = advice
        self.detail = detail

    @property
    def located(self) -> str:
        """The problem and where it is: for the screen of whoever holds the table."""
        return f"{self.problem} {self.detail}".rstrip()


class SchemaError(CoterieError):
    exit_code = 3


class DataError(CoterieError):
    exit_code = 4


class ParameterError(CoterieError):
    exit_code = 5


class OutputError(CoterieError):
    exit_code = 6


class CertificateError(CoterieError):
    exit_code = 7


class LedgerError(CoterieError):
    exit_code = 8


class BudgetExceeded(LedgerError):
    exit_code = 9


class MissingExtra(CoterieError):
    exit_code = 10

    @classmethod
    def named(cls, extra: str, purpose: str) -> MissingExtra:
        return cls(
            f"{purpose} needs an optional part of Coterie.", f"Install it: pip install 'coterie[{extra}]'."
        )


@contextmanager
def reading(what: str, fault: type[CoterieError], advice: str = "Check the path.") -> Iterator[None]:
    """A file that cannot be read, or is not UTF-8 text, as a fault of this kind."""
    try:
        yield
    except OSError as error:
        raise fault(f"{what} cannot be read ({error.strerror}).", advice) from None
    except UnicodeDecodeError:
        raise fault(f"{what} is not UTF-8 text.", "Save it as UTF-8.") from None


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """'Did you mean …?' for a near miss, else the list of what there is."""
    names = sorted(known)
    folded = {candidate.casefold(): candidate for candidate in names}
    close = get_close_matches(name.casefold(), folded, n=1, cutoff=cutoff)
    if close:
        return f"Did you mean '{folded[close[0]]}'?"
    return f"There is: {shortened(names)}." if names else "There is none."


def shortened(names: Sequence[str], most: int = 12) -> str:
    """The first of them, and a mark where there are more."""
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def enumerated(words: Sequence[str]) -> str:
    """All of them: age, sex and region."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def counted(number: int, noun: str) -> str:
    """A number with its noun as people read it: 1 row, 5,000 rows."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
