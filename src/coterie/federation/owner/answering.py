"""Yes or no: is the study what its hash says, do policy or person agree, does the table fit, is there budget?"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

import pyarrow as pa

from coterie.errors import BudgetExceeded, CoterieError, DataError, LedgerError
from coterie.federation.documents.certificate import part_guarantee, part_promise
from coterie.federation.documents.messages import Answer, Delivery, GroupKey, SealedKey
from coterie.federation.documents.signed import Signed, signed_from, validated
from coterie.federation.documents.study import Study
from coterie.federation.documents.wire import now, stamp
from coterie.federation.errors import FederationError
from coterie.federation.owner.home import KEY, OwnerHome
from coterie.federation.owner.peers import note_opened, require_peers, require_rate
from coterie.federation.owner.policy import UNFIT, OwnerSource, Policy, Refusal, read_policy
from coterie.federation.secrets.blinding import checked_ids
from coterie.federation.secrets.keys import keep_private, new_key, seal, write_private
from coterie.methods import get_method
from coterie.promise.loss import LossModel
from coterie.promise.terms import loss_of
from coterie.publication.ledger import Ledger, Purpose
from coterie.schema.attributes import Schema
from coterie.schema.exact import as_text
from coterie.table.checked import check
from coterie.table.reading import read_table

# The owner's own table, read and checked before anything is reserved. Its faults are reported on this machine only.


@dataclass(frozen=True)
class Prepared:
    """Only the attributes that the study asks for, under its names; and the ids, which never leave the owner."""

    table: pa.Table
    schema: Schema
    ids: tuple[str, ...] | None


def prepare_table(study: Study, owner: str, source: OwnerSource) -> Prepared:
    try:
        return _prepared(study, owner, source)
    except CoterieError as error:
        raise Refusal(UNFIT) from error
    except (pa.ArrowException, ValueError, OverflowError) as error:
        # Its own text may hold values.
        kind = DataError(
            f"The table cannot be used ({type(error).__name__}).", "Check its columns and types."
        )
        raise Refusal(UNFIT) from kind


def _prepared(study: Study, owner: str, source: OwnerSource) -> Prepared:
    schema = study.schema_for(owner)
    # The owner's own column names, and no column that the study does not ask for, decide how cells are read.
    named = schema.model_copy(
        update={
            "attributes": tuple(
                a.model_copy(update={"name": source.columns.get(a.name, a.name)}) for a in schema.attributes
            ),
            "dialect": source.dialect,
        }
    )
    table = read_table(source.data, table=source.table, query=source.query, schema=named)
    columns = {}
    for attribute in schema.attributes:
        columns[attribute.name] = _column(table, source.columns.get(attribute.name, attribute.name))
    identifier = source.identifier or study.identifier or ""
    id_column = _column(table, identifier) if study.matched else None
    chosen = pa.table(columns)
    if chosen.num_rows < 2 * study.k:
        raise DataError("The table has fewer than 2k rows.", "The study needs more records, or a smaller k.")
    check(chosen, schema)
    get_method(study.method).check_k(study.part_k, chosen.num_rows)
    return Prepared(chosen, schema, None if id_column is None else checked_ids(id_column, identifier))


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    found = table.column_names.count(name)
    if found != 1:
        raise DataError(
            f"The table has {'no' if not found else 'more than one'} column '{name}'.",
            "Name your own column with `columns` (policy) or --column.",
        )
    return table.column(name)


def opened_study(home: OwnerHome, study: str, envelope: Any) -> Study:
    """The study as the aggregator signed it. Anything wrong with it is a reason to refuse, not to fail."""
    try:
        signed = validated(Signed, envelope)
        opened = signed.opened(Study, key=home.aggregator_of(signed))
    except FederationError as error:
        raise Refusal(f"the study cannot be accepted: {error.problem.rstrip('.')}") from None
    if opened.id != study:
        raise Refusal("the study was tampered with: its content does not have the hash that is its name")
    if opened.aggregator != signed.key:
        raise Refusal("the study names another aggregator than the one that this owner pinned")
    entry = opened.entry(home.owner)
    keys = home.acting_in(opened).keys
    if entry is None or entry.key != keys.public or entry.sealing_key != keys.sealing_public:
        raise Refusal("the roster does not hold this owner with its own keys")
    return opened


def decision(home: OwnerHome, study: Study, *, unattended: bool) -> OwnerSource | None:
    """Where the data are if the answer is yes, a Refusal if it is no, None while nobody has decided."""
    said = home.journal.decision(study.id)
    if said is not None:
        if said["decision"] == "refuse":
            raise Refusal(str(said["reason"]))
        return validated(OwnerSource, said["source"])
    policy = read_policy(home.policy_file)
    if policy is None:
        if unattended:
            raise Refusal("this owner runs unattended and has no policy")
        return None
    policy.require(study, home.owner, home.predecessors(study.aggregator))
    require_rate(home, study, policy.studies)
    _require_lifetime(home, policy)
    return OwnerSource(**{name: getattr(policy, name) for name in OwnerSource.model_fields})


def approve(home: OwnerHome, study: Study, source: OwnerSource) -> tuple[Signed, Prepared]:
    """Step 2 of Del Vasto-Terrientes et al.: look at the table and the budget, then say which attributes are shared."""
    # Budget first: an owner that cannot pay tells nothing about its table.
    require_peers(home, study)
    require_budget(home, study, source)
    note_opened(home, study)
    prepared = prepare_table(study, home.owner, source)
    answer = Answer(
        study=study.id,
        owner=home.owner,
        decision="approve",
        attributes=tuple(attribute.name for attribute in study.asked_of(home.owner)),
        disjoint=source.disjoint and not study.vertical,
        promise=part_promise(study, home.owner, prepared.table.num_rows) if study.protocol > 1 else None,
        rows_public=source.rows_public and study.protocol > 1,
        at=stamp(now()),
    )
    return Signed.of(answer, home.keys), prepared


def refuse(home: OwnerHome, study: str, reason: Refusal) -> Signed:
    answer = Answer(
        study=study,
        owner=home.owner,
        decision="refuse",
        reason=reason.reason[:2000],
        figures=reason.figures,
        at=stamp(now()),
    )
    return Signed.of(answer, home.keys)


def sealed_group_key(home: OwnerHome, study: Study) -> Signed:
    """The lead owner's part: one key per study, made once, kept here, sealed to every other owner."""
    path = home.study(study.id) / "group-key.json"
    key_path = home.study(study.id) / "group.key"
    if path.exists():
        return signed_from(path.read_bytes())
    key_path.unlink(missing_ok=True)  # a key whose envelope was never finished was never used
    secret = new_key()
    write_private(key_path, secret)
    sealed = tuple(
        SealedKey(owner=entry.owner, sealed=seal(secret, entry.sealing_key, study.id))
        for entry in study.roster
        if entry.owner != home.owner
    )
    signed = Signed.of(GroupKey(study=study.id, lead=home.owner, sealed=sealed), home.keys)
    keep_private(path, signed.canonical())
    return signed


def require_deliveries(home: OwnerHome, study: Study, envelopes: Any) -> None:
    """At least the study's minimum of owners, we among them, have signed that their parts are delivered.

    The aggregator cannot make that up: it has not the owners' keys.
    """
    delivered = set()
    for envelope in envelopes:
        signed = validated(Signed, envelope)
        owner = validated(Delivery, signed.document).owner
        if owner in study.keys:
            delivered.add(Delivery.opened(signed, study, owner).owner)
    if home.owner not in delivered or len(delivered) < study.minimum:
        raise FederationError(
            "The aggregator asks for the key of this owner's part before enough owners have delivered.",
            "It gets none; nothing is charged. Ask its administrator.",
        )


def require_budget(home: OwnerHome, study: Study, source: OwnerSource) -> None:
    if study.seed is not None:
        return
    # Neither ε nor the status depends on the number of records, which is not known before the table is opened.
    purpose = study_purpose(home, study, source, 2 * study.k)
    try:
        path = home.ledger(source.ledger)
        book = Ledger.inspect(path)
        if book.held(study.id) or any(e.state.charged for e in book.releases(fingerprint=study.id)):
            return  # what was computed then is sent
        book.afford(purpose)
    except BudgetExceeded:
        balance = book.balance(source.population)
        left, limit = balance.remaining, balance.lifetime
        individual = balance.individual_remaining
        if individual is not None and (purpose.loss.model is LossModel.IDP or individual < left):
            left, limit = individual, balance.terms.individual_lifetime or Fraction(0)
        raise Refusal(
            "the population's lifetime budget would be exceeded",
            requested=str(purpose.loss).removeprefix("ε "),
            remaining=as_text(left),
            limit=as_text(limit),
        ) from None
    except LedgerError as error:
        _refuse_for(error)


def _refuse_for(error: CoterieError) -> NoReturn:
    """What the ledger says is a reason to refuse; a full disk or a lock is not, for it will pass."""
    if isinstance(error.__cause__, sqlite3.OperationalError):
        raise error
    raise Refusal("the owner's ledger does not allow this study") from error


def study_purpose(home: OwnerHome, study: Study, source: OwnerSource, records: int) -> Purpose:
    """What the ledger will charge, and the guarantee's status, which follows from public facts before any noise."""
    guarantee = part_guarantee(study, home.owner, records)
    return Purpose(
        population=source.population,
        loss=loss_of(guarantee, study.charge(home.owner)),
        method=study.method,
        status=guarantee.status,
        target=str((home.study(study.id) / (KEY if study.sealed else "manifest.json")).absolute()),
        fingerprint=study.id,
    )


def _require_lifetime(home: OwnerHome, policy: Policy) -> None:
    """The first study of a population makes its account, with the lifetime that the policy promises."""
    if policy.lifetime is None:
        return
    path = home.ledger(policy.ledger)
    try:
        known = Ledger.inspect(path).lifetimes
    except LedgerError:
        known = {}
    if policy.population not in known:
        try:
            Ledger.add_population(path, policy.population, policy.lifetime)
        except CoterieError as error:
            _refuse_for(error)
