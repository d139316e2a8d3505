"""The release of statistics: planned, confirmed, drawn once.

What was planned is on the disk before any noise is drawn. The draw, the charge and the files are the library's one step,
which gives the stored release back to whoever asks again: after a double click, a reload or a restart, confirming
again finds it and spends nothing. A lock keeps two requests of this studio apart where no ledger does.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from pathlib import Path

from coterie.errors import BudgetExceeded, OutputError, ParameterError
from coterie.publication.ledger import Balance, Book, Ledger, Purpose, Terms
from coterie.publication.ledger.account import LedgerAccount
from coterie.schema.exact import as_text, parse_epsilon
from coterie.statistics import Published, allocators, release
from coterie.statistics.allocators import DEFAULT
from coterie.statistics.releasing.certificate import purpose_of
from coterie.statistics.releasing.released_files import certificate_path
from coterie.statistics.releasing.tidy_table import ENDINGS
from coterie.studio.desk.desk import Desk, ReleasedStatistics
from coterie.studio.forms import Sent
from coterie.studio.ledgers import account_of, last_account
from coterie.studio.project import StoredPart, store
from coterie.studio.release_plan import folder_beside, require_free, require_plain
from coterie.table.hidden_files import FileLock


class StatisticsOrder(StoredPart):
    """What was planned: confirmed is what is released, or nothing is."""

    id: str
    plan: str  # digest of specification and split
    table: str  # digest of the table
    release: str
    population: str
    target: str
    ledger: str | None
    # Of people whom the ledger does not know yet: promised when the release is confirmed.
    lifetime: str | None
    delta: str | None = None  # of such people, with the lifetime
    cost: str  # as the budget is written


def rule_of(desk: Desk) -> str | None:
    """The allocator that the release follows; None for a split made by hand."""
    if desk.specification().pilot:  # the split is made at the release, after the pilot
        return DEFAULT
    return desk.state.rule if desk.state.rule in allocators() else None


def asked_first(desk: Desk) -> dict[str, str]:
    """What the form proposes: beside the source, with the ledger of last time."""
    folder, (last, _) = folder_beside(desk.project), last_account(desk.project)
    place = {"folder": str(folder), "name": str(desk.document.get("release", "statistics")), "ending": ".csv"}
    ledger = last or str(folder / "ledger.sqlite")
    return {**place, "counted": "ledger", "ledger": ledger, "lifetime": "", "delta": ""}


def plan_release(desk: Desk, form: Sent) -> StatisticsOrder:
    """Everything that can be refused is refused here, before any noise."""
    chosen = desk.plan()
    specification = chosen.specification
    name, ending, folder = form.text("name"), form.text("ending"), form.text("folder")
    require_plain(name)
    if ending not in ENDINGS:
        raise ParameterError(f"The release is written as {', '.join(ENDINGS)}.", "Choose one of them.")
    place = Path(folder).expanduser().absolute()
    if not folder or not place.is_dir():
        raise OutputError(f"There is no folder {place}.", "Make it, or choose another place.")
    target = place / f"{name}{ending}"
    require_free(target, certificate_path(target))
    ledger, new = None, None
    if form.text("counted") == "ledger":
        ledger, new = _ledger(desk, form, purpose_of(specification))
    order = StatisticsOrder(
        id=secrets.token_hex(16),
        plan=chosen.digest,
        table=_table(desk),
        release=specification.release,
        population=specification.population,
        target=str(target),
        ledger=None if ledger is None else str(ledger),
        lifetime=None if new is None else as_text(new.lifetime),
        delta=None if new is None or new.delta is None else as_text(new.delta),
        cost=str(specification.budget),
    )
    store(_path(desk), order)
    return order


def _ledger(desk: Desk, form: Sent, asked: Purpose) -> tuple[Path, Terms | None]:
    """A ledger, and the terms of people who are new to it; with enough left for this release."""
    if not form.text("ledger"):
        raise ParameterError(
            "No ledger was named.", "Give the path of its file, or choose to record it in no ledger."
        )
    path = Path(form.text("ledger")).expanduser().absolute()
    book = Ledger.inspect(path) if path.exists() else Book()
    if asked.population in book.lifetimes:
        book.afford(asked)
        return path, None
    if not form.text("lifetime"):
        before = last_account(desk.project)[1]
        raise ParameterError(
            f"The ledger {path.name} does not know the population '{asked.population}' yet.",
            "Give the lifetime budget of these people below: it can never be changed later."
            + f" Are they '{before}', whom this project charged before? Then write that name in the settings."
            * (before in book.lifetimes),
        )
    terms = _terms(desk, asked.population, form.text("lifetime"), form.text("delta") or None)
    LedgerAccount(terms).afford(asked.loss)
    return path, terms


def _terms(desk: Desk, population: str, lifetime: str, delta: str | None) -> Terms:
    with_delta = None if delta is None else parse_epsilon(delta, "the lifetime δ")
    counted = account_of(desk.project.schema())
    return Terms(population, parse_epsilon(lifetime, "the lifetime"), with_delta, **counted)


def planned(desk: Desk) -> StatisticsOrder | None:
    try:
        return StatisticsOrder.model_validate_json(_path(desk).read_bytes())
    except FileNotFoundError:
        return None


def balances_of(desk: Desk, order: StatisticsOrder) -> tuple[Balance, Balance | None] | None:
    """The account now, and with this release in it; None where it is too much by now."""
    if order.ledger is None:
        return None
    asked = purpose_of(desk.specification())
    if not _known(order):
        account = LedgerAccount(_terms(desk, order.population, order.lifetime or "", order.delta))
        return account.balance(), account.afford(asked.loss)
    book = Ledger.inspect(order.ledger)
    now = book.balance(order.population)
    try:
        return now, book.afford(asked)
    except BudgetExceeded:
        return now, None


def _known(order: StatisticsOrder) -> bool:
    if order.lifetime is None or order.ledger is None:
        return True
    path = Path(order.ledger)
    return path.exists() and order.population in Ledger.inspect(path).lifetimes


def draw_once(desk: Desk, identity: str, command: str) -> int:
    """The release, once. Returns its place in the desk's list; asked again, the same place."""
    with FileLock.waited(desk.project.folder / "statistics-releasing"):
        desk = Desk(desk.project)
        for place, entry in enumerate(desk.state.released):
            if entry.id == identity:
                return place
        order = planned(desk)
        if order is None or order.id != identity:
            raise ParameterError("This release was planned anew in another tab.", "Look at the newer plan.")
        if desk.plan().digest != order.plan or _table(desk) != order.table:
            raise ParameterError(
                "The statistics, the split or the table have changed since this page was opened; nothing was released.",
                "Plan the release again.",
            )
        if not _known(order):
            assert order.ledger is not None
            terms = account_of(desk.project.schema())
            lifetime = order.lifetime or ""
            Ledger.add_population(order.ledger, order.population, lifetime, delta=order.delta, **terms)
        rule = rule_of(desk)
        published = release(
            desk.specification(),
            desk.data_path(),
            order.target,
            allocator=rule or DEFAULT,
            split=desk.split if rule is None else None,
            ledger=order.ledger,
        )
        desk.change(None, released=(*desk.state.released, _entry(order, published, command)))
        return len(desk.state.released) - 1


def _entry(order: StatisticsOrder, published: Published, command: str) -> ReleasedStatistics:
    guarantee = published.certificate.guarantee
    return ReleasedStatistics(
        id=order.id,
        release=order.release,
        data=str(published.path),
        certificate=str(published.certificate_path),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        cost=order.cost,
        status=str(guarantee.status),
        label=guarantee.label,
        plan=published.certificate.plan,
        command=command,
        again=published.again,
        ledger=order.ledger,
        population=order.population if order.ledger else None,
    )


def _table(desk: Desk) -> str:
    loaded = desk.project.state.loaded
    return loaded.digest if loaded else ""


def _path(desk: Desk) -> Path:
    return desk.project.folder / "statistics-release.json"
