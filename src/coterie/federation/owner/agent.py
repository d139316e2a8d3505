"""`coterie owner run`: asks what is wanted, does what is due, again and again. State is on disk, so it may be killed."""

from __future__ import annotations

import secrets
import time
from functools import partial
from typing import Any

from coterie.errors import CoterieError
from coterie.federation.documents import wire
from coterie.federation.documents.wire import STUDY, StudyState
from coterie.federation.errors import Conflict, NotAccepted, Unreachable, Untrusted
from coterie.federation.owner import answering
from coterie.federation.owner import client as delivering
from coterie.federation.owner.client import AnswerFault, Client
from coterie.federation.owner.home import Home
from coterie.federation.owner.refusal import Refusal
from coterie.federation.owner.steps import Say, Steps
from coterie.federation.secrets.keys import NO_ROOM

_S = StudyState
_SHORTEST, _LONGEST = 0.5, 30.0


class Agent:
    """`say` hears what happens: an event, the study, a sentence."""

    def __init__(self, home: Home, client: Client, say: Say, *, unattended: bool = False) -> None:
        self.home = home
        self.client = client
        self.say = say
        self._steps = Steps(home, client, say, unattended=unattended)
        self._refused: set[str] = set()

    def run(self, *, once: bool = False, until_done: bool = False) -> None:
        """Until stopped; or once; or until every study that we know of has come to its end."""
        version, failures = "", 0
        while True:
            try:
                # Somebody may decide at any time while a study waits, so the poll is short then.
                wait = 0 if once else 2 if self._steps.waiting else wire.LONGEST_POLL_SECONDS
                content = self.client.get(f"/v1/desired?after={version}&wait={wait}", patience=wait + 30.0)
                quiet = self.round(content)
                version = content["version"] if quiet else ""
                failures = 0
            except (Unreachable, OSError) as error:
                failures += 1
                pause = backoff(failures)
                event, problem = (
                    ("unreachable", error.problem) if isinstance(error, Unreachable) else _storage(error)
                )
                self.say(event, None, f"{problem} Next try in {pause:.1f} s.")
                time.sleep(pause)
                continue
            except Conflict as error:
                # Whose key is used twice should find it in its own diary too.
                self.home.journal.note("turned away", reason=error.problem)
                raise
            if once or (until_done and self._done(content["studies"])):
                return

    def round(self, content: dict[str, Any]) -> bool:
        """One look at all studies. True when there is nothing more to do until something changes."""
        quiet = True
        self._steps.waiting.clear()
        for wanted in content["studies"]:
            self.home.journal.see(wanted["id"], wanted)
            try:
                quiet = not self._steps.take(wanted) and quiet
            except Refusal as refused:
                quiet = not self._refuse(wanted, refused) and quiet
            except (Unreachable, Untrusted, NotAccepted, Conflict):
                raise
            except AnswerFault as fault:
                # The study moved on while we worked (ended, perhaps): look again at the next poll.
                self.say("declined", wanted["id"], fault.problem)
            except CoterieError as error:
                self.say("problem", wanted["id"], f"{error.problem} {error.advice}")
        return quiet

    def _refuse(self, wanted: dict[str, Any], refused: Refusal) -> bool:
        """True if the aggregator took it. Said once: one that does not hear must not make us speak without end."""
        study = wanted["id"]
        if study in self._refused:
            return False
        signed = answering.refuse(self.home, study, refused)
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

    def _done(self, told: list[dict[str, Any]]) -> bool:
        """All that we are told of has ended, and every copy is here. (What is closed we are not told again.)"""
        copied = partial(delivering.copied, self.home)
        return bool(self.home.journal.seen()) and all(
            not STUDY[_S(wanted["state"])] and (wanted["state"] != _S.RELEASED or copied(wanted["id"]))
            for wanted in told
        )


def _storage(error: OSError) -> tuple[str, str]:
    if error.errno in NO_ROOM:
        return "storage", "This owner's disk is full; nothing is lost, nothing is charged twice. Make room."
    return "storage", f"A file of this owner cannot be read or written ({error.strerror})."


def backoff(failures: int) -> float:
    """Exponential with full jitter: owners that were cut off together do not come back together."""
    longest = min(_LONGEST, _SHORTEST * 2.0 ** min(failures, 10))
    return _SHORTEST + (longest - _SHORTEST) * secrets.randbelow(2**30) / 2**30
