"""The one way out, for rows, statistics, owners and studio: staged, charged, then given their names; or nothing is left.

    publish_files(make, …)                   files whose bytes are at hand, with a ledger or without one
    place(staged)                            without a ledger: all parts, or what stood there before
    place_charged(ledger, purpose, prepare)  with one: charged before anything can be seen, and once

Parts become visible in their order. Give the data last: a certificate without its data promises nothing and shows nothing.
What a killed process leaves is finished or given back by whoever opens the ledger next (coterie.publication.ledger);
`Book.releases` recognises a request that is made again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from coterie.publication.ledger import Ledger, Purpose
from coterie.publication.staging import Staged, stage_bytes
from coterie.table.hidden_files import remove_any, temporary_address, temporary_for

Target = Path | str  # a file or folder of this machine, or an address
Hidden = Mapping[
    Target, Target
]  # the name under which each is staged; those that are not in it get one of their own
Prepare = Callable[[], tuple[Sequence[Target], Callable[[Hidden], Sequence[Staged]]]]


def publish_files(
    make: Callable[[], Mapping[Path, bytes]],
    *,
    ledger: Ledger | None = None,
    purpose: Purpose | None = None,
    force: bool = False,
    private: bool = False,
) -> None:
    """Put out files in the order of `make`, which is called when their ε is held, if there is a ledger."""
    if ledger is None or purpose is None:
        place(stage_files(make(), {}, force=force, private=private))
        return

    def prepare() -> tuple[Sequence[Target], Callable[[Hidden], Sequence[Staged]]]:
        files = make()
        return list(files), lambda hidden: stage_files(files, hidden, force=force, private=private)

    place_charged(ledger, purpose, prepare)


def stage_files(
    files: Mapping[Path, bytes], hidden: Hidden, *, force: bool, private: bool = False
) -> list[Staged]:
    """Everything written and durable, nothing visible yet."""
    staged: list[Staged] = []
    try:
        for path, content in files.items():
            name = hidden.get(path)
            temporary = None if name is None else Path(name)
            staged.append(stage_bytes(content, path, force=force, private=private, temporary=temporary))
    except BaseException:
        discard(staged)
        raise
    return staged


def place(staged: Sequence[Staged]) -> None:
    """All parts take their names. On a fault, those before the last are as they were; the last undoes itself."""
    replaced = {
        part.target: Path(part.target).read_bytes() for part in staged[:-1] if Path(part.target).is_file()
    }
    visible: list[Staged] = []
    try:
        for part in staged:
            part.publish()
            visible.append(part)
    except BaseException:
        for part in visible:
            path = Path(part.target)
            if part.target in replaced:
                private = getattr(part, "private", False)
                stage_bytes(replaced[part.target], path, force=True, private=private).publish()
            else:
                remove_any(path)
        discard(staged)
        raise


def place_charged(ledger: Ledger, purpose: Purpose, prepare: Prepare) -> None:
    """Hold the ε, make the release, charge it, give it its names.

    The ledger is told the hidden names before anything stands under them: a killed process leaves nothing that nobody
    removes.
    """
    with ledger.charge(purpose) as charge:
        targets, stage_all = prepare()
        hidden = {target: _hidden_name(target) for target in targets}
        charge.staging(*hidden.values())
        charge.publish(stage_all(hidden))


def discard(staged: Sequence[Staged]) -> None:
    for part in staged:
        part.discard()


def _hidden_name(target: Target) -> Target:
    return temporary_for(target) if isinstance(target, Path) else temporary_address(target)
