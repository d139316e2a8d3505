"""What a choice promises for this very table, before any noise is drawn: the words that the certificate will have."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from coterie.methods import get_method
from coterie.methods.guarantee import Guarantee, Status
from coterie.methods.recipe import Method
from coterie.promise.loss import LossModel
from coterie.promise.posterior import DP, odds_in_words
from coterie.promise.terms import Budget, forecast, forecast_warnings, loss_of
from coterie.schema.attributes import Schema
from coterie.studio.project import Choice


@dataclass(frozen=True, slots=True)
class ChoicePromise:
    recipe: Method
    guarantee: Guarantee
    k: int
    budget: Budget
    cost: Fraction | None  # what the noise is calibrated for; None: no ε describes the release
    odds: str
    warnings: tuple[str, ...]  # of an ε that is useless or dangerous here

    @property
    def counted(self) -> str:
        """What an ordinary ledger makes of it."""
        loss = loss_of(self.guarantee, self.cost)
        if loss.model is LossModel.NONE:
            return "A ledger notes it outside the account: there is no proof, so nothing is counted."
        where = " in its total of individual differential privacy" if loss.model is LossModel.IDP else ""
        return f"A ledger counts {loss}{where}."


def promised(choice: Choice, schema: Schema, records: int) -> ChoicePromise:
    """The promise that `protect` would make with secure noise. Raises the error that `protect` would."""
    recipe = get_method(choice.method).grouped(choice.grouping)
    budget = Budget.of(choice.epsilon or None, schema, recipe, choice.delta or None)
    k = recipe.check_k(choice.k, records, budget.mean)
    budget.check_records(records)
    given = {"shuffled": choice.shuffle, "clipped": choice.clip}
    guarantee = forecast(
        schema, recipe, budget.total, k, records=records, delta=choice.delta or None, **given
    )
    cost = recipe.cost(budget.total, len(budget.shares)) if recipe.adds_noise else None
    warnings = forecast_warnings(schema, recipe, budget, records, k, guarantee)
    return ChoicePromise(recipe, guarantee, k, budget, cost, odds_in_words(guarantee), warnings)


# Which promises belong together, the firmest first: a title, and what it means for the person who publishes.
FIRMNESS = (
    (
        "Proved differential privacy",
        "A theorem limits what anybody can learn about one person, whatever else they know. To publish for everybody, "
        "begin here.",
    ),
    (
        "Differential privacy under a condition",
        "The theorem holds only if the condition in the label holds. Whether it does is for you to say.",
    ),
    (
        "Proved, but a weaker promise",
        "A theorem about something less than differential privacy. It does not limit an attacker's odds.",
    ),
    (
        "Weaker promises, bounded or under a condition",
        "Something is proved, but less than the papers say, or only as long as a condition holds.",
    ),
    ("Heuristic", "No proof. The data stay close to the original, and so may a person."),
    (
        "Refuted",
        "What is claimed does not hold here: a counterexample is known, or the description was taken from the data. Do not "
        "publish as if it held.",
    ),
    ("No promise", "Useful to compare with."),
)


FIRM = 3  # the last place of FIRMNESS at which something is proved


def firmness(guarantee: Guarantee) -> int:
    """A place in FIRMNESS."""
    if guarantee.status is Status.PROVED:
        return 0 if guarantee.model == DP else 2
    if guarantee.status is Status.CONDITIONAL:
        return 1 if guarantee.model == DP else 3
    return {Status.BOUNDED: 3, Status.HEURISTIC: 4, Status.REFUTED: 5, Status.NONE: 6}[guarantee.status]
