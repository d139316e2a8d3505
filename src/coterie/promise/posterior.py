"""ε in plain words: by how much a release can change an attacker's odds.

Under ε-DP with replace-one neighbours, for any two records that a person may have, the odds between them change by a
factor of at most e^ε whatever is released. Someone who is p sure before is at most p·e^ε / (p·e^ε + 1 - p) sure after.
Only a proved model may be put this way; for anything else there is nothing to compute, only what was measured.
"""

from __future__ import annotations

import math

from coterie.errors import ParameterError
from coterie.methods.guarantee import Statement
from coterie.schema.exact import parse_epsilon

DP = "differential privacy"


def most_sure(epsilon: float, before: float = 0.5) -> float:
    """The largest posterior that ε-DP allows to someone who was `before` sure."""
    if not 0 < before < 1:
        raise ParameterError("A prior belief lies between 0 and 1.", "Give for example 0.5.")
    if epsilon < 0 or math.isnan(epsilon):
        raise ParameterError("epsilon is negative or not a number.", "Give the ε of the release.")
    # The form that cannot overflow.
    return before / (before + (1 - before) * math.exp(-epsilon))


def odds_in_words(promise: Statement, before: float = 0.5) -> str:
    """One or two sentences for a data protection officer."""
    status = str(promise.status)
    if promise.model != DP or status not in ("proved", "conditional"):
        return _no_bound(promise)
    after = most_sure(likely_loss(promise), before)
    but = "" if promise.delta is None else f", except with probability {promise.delta}"
    words = (
        f"Someone who was {share_in_words(before)} sure before of a fact about one person is at most "
        f"{share_in_words(after)} sure after seeing {promise.scope}{but}."
    )
    if status == "conditional":
        words += " This holds only under the condition on the certificate."
    if after > 0.95:
        words += " At this ε the promise is formally true and practically empty."
    return words


def likely_loss(promise: Statement) -> float:
    """The log of the odds ratio: never exceeded under pure ε, and with probability δ at most where there is a δ.

    Then it is not ε: under (ε, δ)-DP odds change by more than e^ε with probability above δ (4.4 δ for Gaussian noise at
    ε = 1). Under ρ-zCDP the loss exceeds ρ + 2√(ρ ln(1/δ)) with probability at most δ (Bun & Steinke 2016, Lemma 3.5).
    """
    if promise.delta is None:
        return float(parse_epsilon(promise.value))
    if promise.rho is None:
        raise ParameterError("(ε, δ) alone does not limit an attacker's odds.", "Give the ρ of the release.")
    rho, delta = (float(parse_epsilon(text)) for text in (promise.rho, promise.delta))
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def _no_bound(promise: Statement) -> str:
    status = str(promise.status)
    if status == "refuted":
        return (
            f"No limit on what an attacker can become sure of: this release is not private. The published claim of "
            f"{promise.model} is refuted by a counterexample, so ε says nothing here. See what the attacks measured."
        )
    if promise.model == "none" or status == "none":
        return "No limit on what an attacker can become sure of is promised. See what the attacks measured."
    return (
        f"The promise ({promise.model}, {status}) does not limit an attacker's odds: it is not differential privacy. "
        "See what the attacks measured."
    )


def share_in_words(value: float) -> str:
    """Never rounded to certainty, nor a gain to none: 73 %, 99.97 %, 50.3 %."""
    for digits in range(6):
        shown = f"{100 * value:.{digits}f}"
        if shown == "50" and value != 0.5:
            continue
        if float(shown) < 99 or (digits and float(shown) < 100):
            return f"{shown} %"
    return "as good as 100 %"
