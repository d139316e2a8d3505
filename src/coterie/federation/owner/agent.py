"""`coterie owner run`: asks what is wanted, does what is due, again and again. State is on disk, so it may be killed."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

from coterie.errors import CoterieError
from coterie.federation.documents import wire
from coterie.federation.documents.messages import opened_group_key
from coterie.federation.documents.signed import Signed, sha256, validated
from coterie.federation.documents.states import STUDY, ContributionState, StudyState
from coterie.federation.documents.study import Study
from coterie.federation.documents.wire import moment, now
from coterie.federation.errors import (
    Conflict,
    FederationError,
    NotAccepted,
    Unreachable,
    Untrusted,
)
from coterie.federation.owner import answering, contribution, rollback
from coterie.federation.owner.answering import prepare_table
from coterie.federation.owner.client import AnswerFault, Client, ClockOff, Suspended
from coterie.federation.owner.contribution import give_back, held_studies, hold_in_ledger
from coterie.federation.owner.exchange import Exchange
from coterie.federation.owner.home import OwnerHome
from coterie.federation.owner.peers import require_peers
from coterie.federation.owner.policy import OwnerSource, Refusal
from coterie.federation.owner.rollback import RolledBack
from coterie.federation.secrets.blinding import Pseudonyms, pseudonyms
from coterie.federation.secrets.keys import NO_ROOM, unseal

_C, _S = ContributionState, StudyState
Say = Callable[[str, str | None, str], None]  # event, study, text
_SHORTEST, _LONGEST = 0.5, 30.0
_FORGOTTEN_AFTER = timedelta(days=7)  # after the deadline of a study that the aggregator does not know
_ATTEMPTS = 5  # to be accepted, before this owner takes it for an answer


class Agent:
    """`say` is called with an event, the study and a sentence. `waiting` names the studies that a person has to decide."""

    def __init__(self, home: OwnerHome, client: Client, say: Say, *, unattended: bool = False) -> None:
        self.home = home
        self.client = client
        self.say = say
        self.unattended = unattended
        self.waiting: set[str] = set()
        self._asked: set[str] = set()
        self._closed: set[str] = set()
        self._refused: set[str] = set()
        self._settled = False

    def run(self, *, once: bool = False, until_done: bool = False) -> None:
        """Act until stopped; or once; or until every study that we know of has come to its end."""
        version, failures = "", 0
        hold_in_ledger(self.home)
        while True:
            try:
                # Somebody may decide at any time while a study waits, so the poll is short then.
                wait = 0 if once else 2 if self.waiting else wire.LONGEST_POLL_SECONDS
                content = self.client.get(
                    f"/v1/desired?after={version}&wait={wait}",
                    patience=wait + 30.0,
                    diary=self.home.witness(),
                    seen=rollback.remembered(self.home).partition(":")[0],
                )
                self._compare(content)
                self.home.acknowledged(self.client.session)
                with self.home.still():
                    quiet = self.round(content)
                version = content["version"] if quiet else ""
                failures = 0
            except (Unreachable, OSError, Conflict, NotAccepted) as error:
                failures += 1
                self._wait(error, failures, once=once)
                continue
            if once or (until_done and self._done(content["studies"])):
                return

    def _wait(
        self, error: Unreachable | OSError | Conflict | NotAccepted, failures: int, *, once: bool
    ) -> None:
        """Say what is in the way, and wait for longer each time; or give up on what will not pass by itself."""
        if isinstance(error, OSError):
            event, problem = "storage", _disk_problem(error)
        elif isinstance(error, Unreachable):
            event, problem = "unreachable", error.problem
        else:
            # A wrong clock, a killed process that still counts as active and a repeated request pass by themselves.
            event, problem = "waiting", f"{error.problem} {error.advice}"
            if failures == 1:  # an owner whose key is used elsewhere should find it in its own diary
                self.home.journal.note("turned away", reason=error.problem)
            lasting = isinstance(error, ClockOff | Suspended | Conflict)
            if once or (failures >= _ATTEMPTS and not lasting):
                raise error
        pause = backoff(failures)
        self.say(event, None, f"{problem} Next try in {pause:.1f} s.")
        time.sleep(pause)

    def _compare(self, content: dict[str, Any]) -> None:
        """Was one of us restored from a backup? And is there a new TLS certificate to trust?"""
        rollback.require_own(self.home, rollback.told_by(content, "witness"))
        if rollback.rolled_back_aggregator(self.home, content):
            self.say("rolled back", None, "The aggregator was restored from a backup. Ask its administrator.")
        coming = content.get("tls_next")
        if isinstance(coming, str) and len(coming) <= 5000 and self.home.learn_tls(coming):
            self.client.trust(self.home.trusted_tls())
            self.home.journal.note("new TLS certificate", sha256=sha256(coming.encode()))

    def round(self, content: dict[str, Any]) -> bool:
        """One look at all studies. True when there is nothing more to do until something changes."""
        quiet = True
        self.waiting.clear()
        for wanted in content["studies"]:
            self.home.journal.see(wanted["id"], wanted)
            try:
                quiet = not self.take(wanted) and quiet
            except Refusal as refused:
                quiet = not self._refuse(wanted, refused) and quiet
            except (Unreachable, Untrusted, NotAccepted, Conflict, RolledBack):
                raise
            except AnswerFault as fault:
                # The study moved on while we worked (ended, perhaps): look again at the next poll.
                self.say("declined", wanted["id"], fault.problem)
            except CoterieError as error:
                self.say("problem", wanted["id"], f"{error.problem} {error.advice}")
            except OSError:
                raise
            except Exception as error:
                # Whatever a peer or the aggregator has put into it: one study must not stop the others.
                self.say("problem", wanted["id"], f"This study cannot be worked on ({type(error).__name__}).")
        self._forgotten({wanted["id"] for wanted in content["studies"]})
        return quiet

    def _forgotten(self, told: set[str]) -> None:
        """ε that is held for studies of which the aggregator says nothing any more: it was restored, perhaps."""
        for study in held_studies(self.home):
            known = self.home.journal.seen().get(study)
            if study in told or known is None:
                continue
            due = moment(known["study"]["document"]["deadline"])
            if self._refusal(study) is not None or now() > due + _FORGOTTEN_AFTER:
                self._give_back(study)

    def _refuse(self, wanted: dict[str, Any], refused: Refusal) -> bool:
        """True if the aggregator accepted it. Sent once: one that it rejects must not be sent without end."""
        study = wanted["id"]
        if study in self._refused:
            return False
        signed = answering.refuse(self._acting(wanted), study, refused)
        detail = refused.told_here
        self.say("refused", study, f"Refused: {detail}" if detail else refused.problem)
        here = {"detail": detail} if detail else {}
        self.home.journal.note("refused", study=study, reason=refused.reason, **refused.figures, **here)
        try:
            self.client.post(f"/v1/studies/{study}/answer", signed.content())
        except AnswerFault as fault:
            self._refused.add(study)
            self.say("declined", study, fault.problem)
            return False
        self._refused.add(study)
        return True

    def _acting(self, wanted: dict[str, Any]) -> OwnerHome:
        """This owner with the keys that the roster names. What is not a valid study has no roster."""
        try:
            return self.home.acting_in(Study.model_validate(wanted["study"]["document"]))
        except (ValueError, KeyError, TypeError):
            return self.home

    def _done(self, told: list[dict[str, Any]]) -> bool:
        """All studies in the answer have ended, and every copy is here. (Closed studies are not in it.)"""
        copied = partial(contribution.copied, self.home)
        return bool(self.home.journal.seen()) and all(
            not STUDY[_S(wanted["state"])] and (wanted["state"] != _S.RELEASED or copied(wanted["id"]))
            for wanted in told
        )

    # The next step for one study: answer, compute, deliver, fetch the copy, close. Each can be repeated after a kill.

    def take(self, wanted: dict[str, Any]) -> bool:
        """One step for one study; True if something was done, so that the next step may be due."""
        study, state, mine = wanted["id"], _S(wanted["state"]), _C(wanted["contribution"])
        if mine is _C.ACCEPTED or wanted.get("part_key"):  # an older aggregator does not say
            rollback.require_key(self.home, wanted)
        if state is _S.RELEASED and not contribution.copied(self.home, study):
            certificate = contribution.fetch_release(self.home, self.client, study)
            self.say("released", study, f"{certificate.rows} rows; {certificate.guarantee.label}.")
            return True
        if not STUDY[state]:
            self._give_back(study)
            # The copy is here if there is one. Said once: an older aggregator goes on telling us.
            known = study in self._closed
            self._closed.add(study)
            return not known and contribution.close(self.client, study)
        if state not in (_S.PUBLISHED, _S.COLLECTING):
            return False
        if contribution.copied(self.home, study):
            # Restored from a backup, the aggregator has forgotten. A second release would have other bytes.
            if study not in self._asked:
                self._asked.add(study)
                self.say("rolled back", study, "this study was released before: it is not served again.")
                contribution.show_release(self.home, self.client, study)
            return False
        if mine is _C.INVITED:
            return self._answer(wanted)
        if mine in (_C.APPROVED, _C.RESERVED, _C.COMPUTED, _C.UPLOADING):
            return self._contribute(wanted, state, mine)
        if mine is _C.DELIVERED and not wanted.get("opening"):
            # Nobody can read our part yet, so it can still be taken back.
            reason = self._refusal(study)
            return reason is not None and self._take_back(study, reason, mine)
        if mine is _C.DELIVERED and wanted.get("opening") and not wanted.get("part_key"):
            return self._open(wanted)
        return False

    def _open(self, wanted: dict[str, Any]) -> bool:
        """All have delivered, by their own signed words: charge our part, and give its key."""
        study = answering.opened_study(self.home, wanted["id"], wanted["study"])
        source = self._source(study)
        answering.require_deliveries(self.home, study, wanted["opening"])
        self._settle(source)
        key = contribution.charged_key(self.home.acting_in(study), study, source)
        # With the line that says so: if this folder is restored from a backup, the aggregator knows.
        self.client.put(f"/v1/studies/{study.id}/part-key", key, diary=self.home.witness())
        self.say(
            "opened", study.id, "all owners have delivered: charged once, and the key of this part is given."
        )
        return True

    def _settle(self, source: OwnerSource) -> None:
        """Once: a process before this one may have been killed while it charged."""
        if not self._settled:
            contribution.settle_ledger(self.home, source)
            self._settled = True

    def _give_back(self, study: str) -> None:
        if give_back(self.home, study):
            self.say("given back", study, "the part was never readable by others; nothing was charged.")

    def _answer(self, wanted: dict[str, Any]) -> bool:
        study = answering.opened_study(self.home, wanted["id"], wanted["study"])
        source = answering.decision(self.home, study, unattended=self.unattended)
        if source is None:
            self.waiting.add(study.id)
            if study.id not in self._asked:  # a study may wait for days: one line is enough
                self._asked.add(study.id)
                self.say(
                    "waiting",
                    study.id,
                    f"'{study.title}' waits for your decision: coterie owner inspect {study.id[:12]}",
                )
            return False
        answer, _ = answering.approve(self.home.acting_in(study), study, source)
        if not self.home.journal.decision(study.id):
            # A policy said yes: remember with which table, so that a later change of the policy changes nothing.
            self.home.journal.decide(study.id, {"decision": "approve", "source": source.content()})
        self.client.post(f"/v1/studies/{study.id}/answer", answer.content())
        self.home.journal.note("approved", study=study.id)
        self.say("approved", study.id, f"'{study.title}'")
        return True

    def _contribute(self, wanted: dict[str, Any], state: StudyState, mine: ContributionState) -> bool:
        study = answering.opened_study(self.home, wanted["id"], wanted["study"])
        reason = self._refusal(study.id)
        if reason is not None:
            return self._take_back(study.id, reason, mine)
        source, home = self._source(study), self.home.acting_in(study)
        self._settle(source)
        require_peers(home, study, approved=True)
        acted = False
        if study.lead == self.home.owner and wanted["group_key"] is None:
            signed = answering.sealed_group_key(home, study)
            self.client.put(f"/v1/studies/{study.id}/group-key", signed.canonical())
            acted = True
        if state is not _S.COLLECTING:
            return acted
        manifest = contribution.finished(self.home, study.id)
        if manifest is None:
            if study.lead is not None and wanted["group_key"] is None:
                return acted
            answering.require_budget(self.home, study, source)
            prepared = prepare_table(study, self.home.owner, source)
            names: Pseudonyms | None = None
            if study.blinded:
                exchange = Exchange(home, self.client, study, source, wanted["parcels"] or {})
                if exchange.advance(prepared):
                    return True
                if not exchange.finished():
                    return False
                prepared, names = exchange.common(prepared)
            elif study.matched:
                assert prepared.ids is not None
                names = pseudonyms(prepared.ids, self._group_key(home, study, wanted["group_key"]), study.id)
            contribution.contribute(
                home, study, source, prepared, names, lambda: self._report_reserved(study.id, mine)
            )
            manifest = contribution.finished(self.home, study.id)
            assert manifest is not None
            self.say("computed", study.id, "protected once; from now on only these bytes are sent.")
        self._deliver(home, study.id, manifest, mine)
        return True

    def _refusal(self, study: str) -> str | None:
        """Why a person does not want this study, or does not any more."""
        said = self.home.journal.decision(study)
        return str(said["reason"]) if said and said["decision"] == "refuse" else None

    def _take_back(self, study: str, reason: str, mine: ContributionState) -> bool:
        """A person changed its mind: refuse while nothing is drawn, withdraw what is."""
        if mine in (_C.APPROVED, _C.RESERVED) and contribution.finished(self.home, study) is None:
            raise Refusal(reason)
        contribution.report(self.client, study, _C.WITHDRAWN)
        self.home.journal.note("withdrawn", study=study, reason=reason)
        self.say("withdrawn", study, f"{reason}. What was charged stays charged.")
        self._give_back(study)
        return True

    def _deliver(self, home: OwnerHome, study: str, manifest: Signed, mine: ContributionState) -> None:
        # The reports may have been lost with the process that owed them: catch up in order.
        if mine is _C.APPROVED:
            contribution.report(self.client, study, _C.RESERVED)
        if mine in (_C.APPROVED, _C.RESERVED):
            contribution.report(self.client, study, _C.COMPUTED)
        contribution.deliver(home, self.client, study, manifest)
        self.say("delivered", study, "the aggregator signed a receipt.")

    def _report_reserved(self, study: str, mine: ContributionState) -> None:
        """While ε is held. If it does not get through, it is made up for after the computation.

        A "no" ends it here, where ε can still be given back: the study was cancelled, or ended, while we read the table.
        """
        if mine is _C.APPROVED:
            try:
                contribution.report(self.client, study, _C.RESERVED)
            except Unreachable:
                return

    def _source(self, study: Study) -> OwnerSource:
        said = self.home.journal.decision(study.id)
        if said is None or said["decision"] != "approve":
            raise FederationError(
                "The approval of this study is not in the journal.", "Approve or withdraw it."
            )
        return validated(OwnerSource, said["source"])

    def _group_key(self, home: OwnerHome, study: Study, envelope: Any) -> bytes:
        own = home.study(study.id) / "group.key"
        if study.lead == home.owner:
            return own.read_bytes()
        key = opened_group_key(validated(Signed, envelope), study)
        sealed = next((entry.sealed for entry in key.sealed if entry.owner == home.owner), "")
        return unseal(sealed, home.keys.sealing, study.id)


def _disk_problem(error: OSError) -> str:
    if error.errno in NO_ROOM:
        return "This owner's disk is full; nothing is lost, nothing is charged twice. Make room."
    return f"A file of this owner cannot be read or written ({error.strerror})."


def backoff(failures: int) -> float:
    """Exponential with full jitter: owners that were cut off together do not come back together."""
    longest = min(_LONGEST, _SHORTEST * 2.0 ** min(failures, 10))
    return _SHORTEST + (longest - _SHORTEST) * secrets.randbelow(2**30) / 2**30
