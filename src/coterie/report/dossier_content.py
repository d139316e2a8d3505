"""What stands on a dossier, section by section, before anybody decides how it looks."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from textwrap import shorten
from typing import Any

from coterie.auditing.attacks import all_attacks
from coterie.auditing.attacks.finding import Estimate, Level, Unit
from coterie.errors import counted, shortened
from coterie.evaluation.measure import DESTROYED
from coterie.methods.guarantee import Status
from coterie.promise.certificate import Certificate, CertifiedPromise
from coterie.promise.posterior import (
    DP,
    likely_loss,
    limits_attackers,
    most_sure,
    odds_in_words,
    share_in_words,
)
from coterie.publication.ledger import Balance, Entry
from coterie.report.audit_page import shown
from coterie.report.dossier_blocks import (
    BAD,
    OK,
    PLAIN,
    WARN,
    Belief,
    Command,
    Dossier,
    DossierCell,
    DossierSection,
    DossierTable,
    DossierText,
    Meter,
    Pairs,
    Signatures,
    day,
)
from coterie.report.dossier_uses import judged, synthetic_rows, uses
from coterie.schema.attributes import Role, Source
from coterie.schema.exact import as_text


@dataclass(frozen=True, slots=True)
class LedgerFacts:
    """One charge, and its account as it stands now. All of it follows from public parameters."""

    entry: Entry
    balance: Balance
    others: int  # charged releases of the same people


@dataclass(frozen=True, slots=True)
class DossierFacts:
    """Where everything on a dossier comes from; `audit` and `evaluation` as their JSON has them."""

    title: str
    audience: str
    file: str  # or, of a database, its address without a password
    table: str | None
    certificate_file: str
    certificate: Certificate
    audit: Mapping[str, Any] | None
    evaluation: Mapping[str, Any] | None
    ledger: LedgerFacts | None
    despite: str
    severe_before: str  # when another release by this method was found severe, and this one was not audited
    public: bool
    made: str


def dossier_of(facts: DossierFacts) -> Dossier:
    made = facts.certificate
    first = [
        _what(facts),
        _promise(made.guarantee, made),
        _rests_on(made),
        uses(made, facts.evaluation, public=facts.public),
    ]
    second = [_checked(facts), *_figures(facts), *_reason(facts), _ledger(facts), _who(facts), _verify(facts)]
    pages = (tuple(first), (*second, _signatures()))
    number = 0
    numbered = []
    for page in pages:
        kept = []
        for section in page:
            number += 1
            kept.append(DossierSection(f"{number}. {section.heading}", section.blocks, section.chip))
        numbered.append(tuple(kept))
    return Dossier(
        facts.title,
        f"{counted(made.release.rows, 'row')} for {facts.audience}, made on {day(made.issued)} with {made.method}",
        made.release.digest.value,
        facts.made,
        facts.public,
        tuple(numbered),
    )


_COLUMNS = 40  # named; the certificate has them all


def _what(facts: DossierFacts) -> DossierSection:
    made = facts.certificate
    synthetic = synthetic_rows(made)
    kind = "synthetic: no row is a real person" if synthetic else "one per record of the original"
    pairs = [
        ("Table" if facts.table else "File", f"{facts.table} in {facts.file}" if facts.table else facts.file),
        ("Rows", f"{made.release.rows:,}, {kind}{', in random order' if made.release.shuffled else ''}"),
        ("Columns", f"{len(made.release.columns)}: {shortened(made.release.columns, _COLUMNS)}"),
        ("For", facts.audience),
        ("Left out", ", ".join(made.dropped) or "nothing"),
    ]
    if made.kept:
        pairs.append(("Untouched", f"{', '.join(made.kept)}: the promise does not cover them"))
    return DossierSection("What is released, and for whom", (Pairs(tuple(pairs)),))


def _promise(promise: CertifiedPromise, made: Certificate) -> DossierSection:
    tone = (
        OK
        if promise.status == "proved" and promise.model == DP
        else BAD
        if promise.status == "refuted"
        else WARN
    )
    if made.reproducible:
        tone = BAD
    chip = (tone, promise.status.capitalize() if promise.status != "none" else "Nothing is promised")
    exactly = DossierText(_exactly(promise, made), small=True)
    if promise.model != DP or promise.status not in ("proved", "conditional"):
        return DossierSection("What is promised", (Belief(odds_in_words(promise), ()), exactly), chip)
    loss = likely_loss(promise)
    about = f"one {promise.unit}" if promise.unit is not None else "one person"
    after = most_sure(loss)
    bars = (
        ("Sure before", 0.5, "50 %"),
        (f"Sure after, about {about}", after, f"at most {share_in_words(after)}"),
    )
    also = "; ".join(
        f"who was {before} % sure before, at most {share_in_words(most_sure(loss, before / 100))}"
        for before in (10, 1)
    )
    holds = "It holds against everybody, whatever else they know, now and later."
    if not limits_attackers(promise):
        holds = "A bound so high protects hardly anybody."
    return DossierSection(
        "What is promised",
        (Belief(odds_in_words(promise), bars), DossierText(f"{holds} In the same way: {also}."), exactly),
        chip,
    )


def _exactly(promise: CertifiedPromise, made: Certificate) -> str:
    parts = [f"Exactly: {promise.label}. Method: {made.method} ({made.method_title})."]
    parts.append(f"Neighbouring tables: {promise.neighbours}.")
    if promise.policy == "truncate" and promise.unit is not None:
        parts.append(
            f"Of a {promise.unit} with more than {promise.rows_per_unit} rows, {promise.rows_per_unit} were kept "
            "by a keyed choice."
        )
    return " ".join(parts)


_SOURCES = {
    Source.DECLARED: "declared as public",
    Source.DATA: "taken from the data",
    Source.DP: "found with a part of ε",
}


def _rests_on(made: Certificate) -> DossierSection:
    found: dict[str, int] = {}
    for attribute in made.attributes:
        origin = attribute.domain or attribute.categories
        if attribute.role is Role.PROTECT and origin is not None:
            words = _SOURCES.get(origin.source, str(origin.source))
            if origin.source == Source.DATA and isinstance(origin.public_because, str):
                words = "public for a reason that the certificate gives"
            found[words] = found.get(words, 0) + 1
    bounds = ", ".join(f"{counted(number, 'column')} {words}" for words, number in found.items())
    noise = f"{made.sampler}, drawn once"
    if made.reproducible:
        noise = f"{made.sampler} with a seed: anybody who has the seed can take it off. NOT PRIVATE"
    assumptions = ";\n".join(made.guarantee.assumptions)
    pairs = [("Ranges, labels", bounds or "none needed"), ("Noise", noise)]
    if assumptions:
        pairs.append(("It holds if", assumptions))
    if made.rules:
        pairs.append(("Rules", f"every row keeps {counted(len(made.rules), 'public rule')}"))
    return DossierSection("What the promise rests on", (Pairs(tuple(pairs)),))


TONES = {Level.NOTHING: OK, Level.SOME: WARN, Level.SEVERE: BAD, Level.UNKNOWN: PLAIN}
SAID = {
    Level.NOTHING: "Nothing found",
    Level.SOME: "Some risk",
    Level.SEVERE: "Severe risk",
    Level.UNKNOWN: "No verdict without a control group",
}


def _checked(facts: DossierFacts) -> DossierSection:
    made, audit = facts.certificate, facts.audit
    signed = "Verified, signed" if made.signature is not None else "Verified, not signed"
    rows = [_check("Certificate against the released file", signed, OK, day(facts.made))]
    if audit is None:
        rows.append(_check("Attacks on this release", "Not made", WARN))
    else:
        level = Level(audit["level"])
        control = f"{audit['control']:,} people held back" if audit["control"] else "no control group"
        if facts.public:
            control = "with a control group" if audit["control"] else "no control group"
        tried = f"Audit: {counted(len(audit['findings']), 'attack')}, {control}"
        rows.append(_check(tried, SAID[level], TONES[level], day(str(audit.get("made", "")))))
    if made.rules:
        kept = f"{len(made.rules)} of {len(made.rules)} kept"
        rows.append(_check("Public rules that every row must keep", kept, OK, day(made.issued)))
    if facts.evaluation is not None:
        words = {name: judged(facts.evaluation, name)[0] for name in ("one-way", "associations")}
        told = f"Columns {words['one-way'] or 'not measured'}; relations {words['associations'] or 'none'}"
        tone = BAD if DESTROYED in words.values() else PLAIN
        if facts.public:
            told, tone = "Made: figures are internal", PLAIN
        rows.append(
            _check("Comparison with the original", told, tone, day(str(facts.evaluation.get("made", ""))))
        )
    return DossierSection(
        "What was checked", (DossierTable(("Check", "Result", "Date"), tuple(rows), (0.52, 0.3, 0.18)),)
    )


def _check(what: str, result: str, tone: str, when: str = "–") -> tuple[DossierCell, ...]:
    return DossierCell(what), DossierCell(result, tone), DossierCell(when)


def _figures(facts: DossierFacts) -> list[DossierSection]:
    """The audit in numbers: from the original data, so never in the public version."""
    if facts.audit is None or facts.public or not facts.audit["findings"]:
        return []
    rows = []
    for finding in facts.audit["findings"]:
        known = all_attacks().get(finding["attack"])
        level = Level(finding["level"])
        rows.append(
            (
                DossierCell(known.title if known else finding["attack"]),
                DossierCell(shown(_estimate(finding["estimate"]), Unit(finding["unit"]))),
                DossierCell(shown(Estimate.exact(finding["baseline"]["value"]), Unit(finding["unit"]))),
                DossierCell("No control group" if level is Level.UNKNOWN else SAID[level], TONES[level]),
            )
        )
    words = [str(facts.audit["verdict"]), str(facts.audit.get("correction") or "")]
    grid = DossierTable(
        ("Attack", "Measured (95 % interval)", "Baseline", "Found"), tuple(rows), (0.32, 0.32, 0.15, 0.21)
    )
    note = " ".join(filter(None, words)) + (
        " Baseline: what the same attacker gets without this release. An audit can find leaks; only a proof rules them out."
    )
    return [
        DossierSection(
            "The audit in figures (internal: from the original data)", (grid, DossierText(note, small=True))
        )
    ]


def _estimate(written: Mapping[str, Any]) -> Estimate:
    """Read an estimate from JSON, where an open end is null."""
    return Estimate(**{**written, "high": math.inf if written["high"] is None else written["high"]})


_REASON = 1500  # letters; all of it lies beside the release


def _reason(facts: DossierFacts) -> list[DossierSection]:
    """Why somebody goes on: despite a severe audit of these bytes or of an earlier release, or despite a broken promise."""
    severe = facts.audit is not None and facts.audit["level"] == Level.SEVERE
    if not facts.despite and not severe:
        return []
    if severe:
        words = "The audit found a severe risk."
    elif facts.severe_before:
        words = f"Not audited itself. Another release by the same method was ({day(facts.severe_before)}): severe risk."
    elif facts.certificate.guarantee.status in (Status.REFUTED, Status.NONE):
        words = "No proved promise limits what an attacker learns from this release."
    else:
        words = "An earlier audit found a severe risk."
    told = (
        "The reason is in the internal copy of this dossier."
        if facts.public
        else f"“{shorten(facts.despite, _REASON)}”"
    )
    said = f"{words} Whoever publishes this release wrote why it goes on:"
    mark = BAD, "Severe finding" if severe or facts.severe_before else "No proof"
    return [DossierSection("Why it is released all the same", (DossierText(said), DossierText(told)), mark)]


def _ledger(facts: DossierFacts) -> DossierSection:
    account, heading = facts.ledger, "What is left to spend on these people"
    if account is None:
        words = "No ledger was given. Promises about the same people add up: record this release before the next one."
        return DossierSection(heading, (DossierText(words),))
    balance, purpose, on = account.balance, account.entry.purpose, day(account.entry.changed_at)
    charged, lifetime = purpose.loss.amount(_short), _short(balance.lifetime)
    spent, left = (
        f"spent: ε = {_short(balance.spent)}",
        f"left: {_short(balance.remaining, up=False)} of {lifetime}",
    )
    meter = Meter(float(balance.spent / balance.lifetime) if balance.lifetime else 0.0, spent, left)
    others = f"{counted(account.others, 'other release') if account.others else 'no other release'} so far"
    words = (
        f"Charged to “{balance.population}” on {on}: {charged}; {others}. Promises add up, and the ledger refuses more "
        f"than {lifetime} in all."
    )
    if not purpose.proved:
        words = (
            f"Recorded for “{balance.population}” on {on} ({charged}), outside the account: without a proof no ε limits "
            f"what this release tells, so it is in no sum; {others}."
        )
    return DossierSection(heading, (meter, DossierText(words, small=True)))


def _short(value: Fraction, *, up: bool = True) -> str:
    """Three digits, rounded against whoever spends: what is spent up, what is left down. The ledger has it exactly."""
    if value <= 0:
        return "0"
    step = Fraction(10) ** (math.floor(math.log10(value)) - 2)
    return as_text((math.ceil if up else math.floor)(value / step) * step)


def _who(facts: DossierFacts) -> DossierSection:
    known = {"audit": facts.audit, "comparison with the original": facts.evaluation, "ledger": facts.ledger}
    seen = ", ".join(
        ["original data", *(name for name, one in known.items() if one), "both versions of this dossier"]
    )
    rows = (
        ("Data steward", seen),
        ("Data protection officer", "both versions of this dossier"),
        (
            facts.audience[:1].upper() + facts.audience[1:],
            "the release, its certificate, the public version of this dossier",
        ),
    )
    grid = DossierTable(
        ("Who", "What"), tuple((DossierCell(who), DossierCell(what)) for who, what in rows), (0.3, 0.7)
    )
    return DossierSection("Who saw what", (grid,))


def _verify(facts: DossierFacts) -> DossierSection:
    digest = facts.certificate.release.digest
    shown = " ".join(digest.value[place : place + 16] for place in range(0, 64, 16))
    signature = facts.certificate.signature
    by = f" Signed by the key {signature.fingerprint}." if signature is not None else ""
    words = ["coterie", "certificate", "verify", facts.file, facts.certificate_file]
    command = shlex.join([*words, *(["--table", facts.table] if facts.table else [])])
    return DossierSection(
        "How anybody can verify it",
        (
            Command(command),
            DossierText(f"SHA-256 over {digest.over} of the release: {shown}.{by}", small=True),
        ),
    )


def _signatures() -> DossierSection:
    who = ("Data steward", "Data protection officer", "Head of unit")
    return DossierSection(
        "Signatures",
        (DossierText("We have read this dossier. The release may go out as described."), Signatures(who)),
    )
