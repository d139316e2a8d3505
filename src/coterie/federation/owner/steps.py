"""The next step for one study: answer, compute, deliver, fetch the copy, close. Each can be repeated after a kill."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from coterie.federation.documents.answers import opened_group_key
from coterie.federation.documents.canonical import Signed, validated
from coterie.federation.documents.study import Study
from coterie.federation.documents.wire import STUDY, ContributionState, StudyState
from coterie.federation.errors import FederationError, Unreachable
from coterie.federation.owner import answering, computing
from coterie.federation.owner import client as delivering
from coterie.federation.owner.client import Client
from coterie.federation.owner.exchanging import Exchange
from coterie.federation.owner.home import Home
from coterie.federation.owner.policy import Source
from coterie.federation.owner.refusal import refusal
from coterie.federation.owner.table import prepare_table
from coterie.federation.secrets.blinding import Pseudonyms, pseudonyms
from coterie.federation.secrets.keys import unseal

_C, _S = ContributionState, StudyState
Say = Callable[[str, str | None, str], None]  # event, study, text


class Steps:
    """`waiting` names the studies that a person has to decide about."""

    def __init__(self, home: Home, client: Client, say: Say, *, unattended: bool) -> None:
        self.home = home
        self.client = client
        self.say = say
        self.unattended = unattended
        self.waiting: set[str] = set()
        self._asked: set[str] = set()
        self._closed: set[str] = set()
        self._settled = False

    def take(self, wanted: dict[str, Any]) -> bool:
        """One step for one study; True if something was done, so that the next step may be due."""
        study, state, mine = wanted["id"], _S(wanted["state"]), _C(wanted["contribution"])
        if state is _S.RELEASED and not delivering.copied(self.home, study):
            certificate = delivering.fetch_release(self.home, self.client, study)
            self.say("released", study, f"{certificate.rows} rows; {certificate.guarantee.label}.")
            return True
        if not STUDY[state]:
            return self._close(study)
        if state not in (_S.PUBLISHED, _S.COLLECTING):
            return False
        if mine is _C.INVITED:
            return self._answer(wanted)
        if mine in (_C.APPROVED, _C.RESERVED, _C.COMPUTED, _C.UPLOADING):
            return self._contribute(wanted, state, mine)
        return False

    def _close(self, study: str) -> bool:
        """It has ended, and the copy is here if there is one. Once: an older aggregator goes on telling us."""
        if study in self._closed:
            return False
        self._closed.add(study)
        return delivering.close(self.client, study)

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
        answer, _ = answering.approve(self.home, study, source)
        if not self.home.journal.decision(study.id):
            # A policy said yes: remember with which table, so that a later change of the policy changes nothing.
            self.home.journal.decide(study.id, {"decision": "approve", "source": source.content()})
        self.client.post(f"/v1/studies/{study.id}/answer", answer.content())
        self.home.journal.note("approved", study=study.id)
        self.say("approved", study.id, f"'{study.title}'")
        return True

    def _contribute(self, wanted: dict[str, Any], state: StudyState, mine: ContributionState) -> bool:
        study = answering.opened_study(self.home, wanted["id"], wanted["study"])
        said = self.home.journal.decision(study.id)
        if said is not None and said["decision"] == "refuse":
            return self._take_back(study.id, str(said["reason"]), mine)
        source = self._source(study)
        if not self._settled:
            computing.settle_ledger(self.home, source)
            self._settled = True
        acted = False
        if study.lead == self.home.owner and wanted["group_key"] is None:
            signed = answering.sealed_group_key(self.home, study)
            self.client.put(f"/v1/studies/{study.id}/group-key", signed.canonical())
            acted = True
        if state is not _S.COLLECTING:
            return acted
        manifest = computing.finished(self.home, study.id)
        if manifest is None:
            if study.lead is not None and wanted["group_key"] is None:
                return acted
            answering.require_budget(self.home, study, source)
            prepared = prepare_table(study, self.home.owner, source)
            names: Pseudonyms | None = None
            if study.blinded:
                exchange = Exchange(self.home, self.client, study, wanted["parcels"] or {})
                if exchange.advance(prepared):
                    return True
                if not exchange.finished():
                    return False
                prepared, names = exchange.common(prepared)
            elif study.vertical:
                assert prepared.ids is not None
                names = pseudonyms(prepared.ids, self._group_key(study, wanted["group_key"]), study.id)
            computing.contribute(
                self.home, study, source, prepared, names, lambda: self._report_reserved(study.id, mine)
            )
            manifest = computing.finished(self.home, study.id)
            assert manifest is not None
            self.say(
                "computed", study.id, "protected and charged once; from now on only these bytes are sent."
            )
        self._deliver(study.id, manifest, mine)
        return True

    def _take_back(self, study: str, reason: str, mine: ContributionState) -> bool:
        """A person changed its mind: refuse while nothing is drawn, withdraw what is."""
        if mine in (_C.APPROVED, _C.RESERVED) and computing.finished(self.home, study) is None:
            raise refusal(reason)
        delivering.report(self.client, study, _C.WITHDRAWN)
        self.home.journal.note("withdrawn", study=study, reason=reason)
        self.say("withdrawn", study, f"{reason}. What was charged stays charged.")
        return True

    def _deliver(self, study: str, manifest: Signed, mine: ContributionState) -> None:
        # The reports may have been lost with the process that owed them: catch up in order.
        if mine is _C.APPROVED:
            delivering.report(self.client, study, _C.RESERVED)
        if mine in (_C.APPROVED, _C.RESERVED):
            delivering.report(self.client, study, _C.COMPUTED)
        delivering.deliver(self.home, self.client, study, manifest)
        self.say("delivered", study, "the aggregator signed a receipt.")

    def _report_reserved(self, study: str, mine: ContributionState) -> None:
        """While ε is held. If it does not get through, it is made up for after the computation.

        A "no" ends it here, where ε can still be given back: the study was cancelled, or ended, while we read the table.
        """
        if mine is _C.APPROVED:
            try:
                delivering.report(self.client, study, _C.RESERVED)
            except Unreachable:
                return

    def _source(self, study: Study) -> Source:
        said = self.home.journal.decision(study.id)
        if said is None or said["decision"] != "approve":
            raise FederationError(
                "The approval of this study is not in the journal.", "Approve or withdraw it."
            )
        return validated(Source, said["source"], "decision")

    def _group_key(self, study: Study, envelope: Any) -> bytes:
        own = self.home.study(study.id) / "group.key"
        if study.lead == self.home.owner:
            return own.read_bytes()
        key = opened_group_key(json.dumps(envelope), study)
        sealed = next((entry.sealed for entry in key.sealed if entry.owner == self.home.owner), "")
        return unseal(sealed, self.home.keys.sealing, study.id)
