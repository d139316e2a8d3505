"""Plain words of the studio: terms, and methods put together from their parts."""

from __future__ import annotations

from dataclasses import dataclass

from coterie.methods.recipe import Method


@dataclass(frozen=True, slots=True)
class Audience:
    """Who gets the release, and up to which ε one is recommended to them."""

    words: str
    most: str


TYPES = {
    "integer": "Whole number",
    "continuous": "Number",
    "categorical": "Labels",
    "ordinal": "Ordered labels",
    "boolean": "Yes or no",
    "date": "Date",
    "timestamp": "Moment",
}
ROLES = {"protect": "Protect", "identifier": "Drop", "keep": "Keep untouched", "weight": "Weight"}
MISSING = {
    "error": "stop the release",
    "own category": "release “missing”",
    "impute": "put a public value in",
}
OUTSIDE = {"error": "stop the release", "clip": "cut to the bound"}
AUDIENCES = {
    "everybody": Audience("everybody", "1"),
    "researchers": Audience("researchers under contract", "2"),
    "colleagues": Audience("colleagues bound to secrecy", "2.5"),
}
# What readers will do with it, by the names of `coterie.recommend`.
GOALS = {
    "relations": "relations between columns",
    "distributions": "single columns",
    "models": "regressions and models",
    "rows": "counts of small groups",
}
# The error of each purpose's measure, as a sentence that a percentage begins.
ACCURACY = {
    "one-way": "of people give another answer, column by column",
    "three-way": "of people stand in another cell of a table of three columns",
    "associations": "of the strength of a relation between two columns is lost or made up",
    "models": "of what regressions and classifiers can learn is lost",
}

# Plain words beside each term of the pages. One or two sentences, no formula, no promise that is not proved.

GLOSSARY = {
    "epsilon": "The privacy budget ε. Smaller means more noise and a stronger promise; every further release about the "
    "same people adds its ε to what they have spent.",
    "delta": "Without a δ the limit always holds. With one it may fail with that probability over the noise, far below one"
    " in the number of people; there is less noise, above all with many columns. A ledger then needs a lifetime δ.",
    "k": "How many records are averaged into one group before noise is added. Larger groups need less noise, but blur "
    "the details inside a group.",
    "shuffle": "Releases the rows in random order, so that nobody finds a person by the place of the row.",
    "role": "What happens to the column: protect (goes through the method), keep (released untouched; it can single "
    "people out, and the certificate names it), identifier (dropped, always) or weight (for how many people a row stands: "
    "protected like a number, and estimates are weighted by it).",
    "bounds": "The smallest and largest value that is possible at all, from public knowledge such as a law or a form. "
    "Bounds read off the data give the extreme person away.",
    "private bounds": "Where only a wide range is public, narrower bounds are found with a part of the attribute's ε. They "
    "are noisy, and no longer public knowledge but part of the release.",
    "labels": "The categories that are possible at all, from public knowledge, not the ones that happen to occur.",
    "taxonomy": "A tree that says which categories are alike, so that noise moves a label to a similar one.",
    "missing": "What to do with empty cells: stop with an error, fill in a public value, or treat "
    "'missing' as an outcome that is measured and released like another.",
    "rules": "Public knowledge about single rows: age < 15 -> status = single; total = a + b; end >= start. Synthetic rows "
    "satisfy them, which costs nothing; other methods do not, and say so.",
    "outside": "What to do with a value beyond the bounds: stop with an error, or cut it to the bound.",
    "weight": "The attribute's share of ε compared with the others. 1 for all means equal shares.",
    "status": "How firm the promise is: proved (a proof and a test), bounded (a weaker value is proved), conditional, "
    "heuristic (no proof), refuted (a counterexample is known), none.",
    "grouping": "Equal: ranked groups of k. Optimal: groups of k to 2k−1 that fit the data best; their sizes then show "
    "something of the data.",
    "certificate": "A file that states what was promised, under which assumptions, and over exactly which bytes. "
    "Anybody can check that a release and its certificate belong together.",
    "ledger": "A file that adds up the ε spent on the same people and refuses the release that would be too much.",
    "population": "The people the table is about. All releases about them share one lifetime budget.",
    "lifetime": "The ε that all releases about these people together may never pass. It cannot be changed later.",
    "seeded": "Noise that can be repeated, for looking only. It protects nobody, so a preview must not be published.",
    "sample": "Previews work on a random part of the rows, so that they are quick. The release uses all rows.",
    "risk": "What an attacker gets from the release beyond what they would get without it, measured by attacking it.",
    "odds": "How sure an attacker can become of a fact about one person, at most, whatever else they know.",
    "clip": "Noise can push a number beyond what is possible, such as an age of −3. Cutting it to the public bound tells "
    "nobody anything; without it, released values may lie outside.",
    "tune": "Invented rows follow from the description alone, so whatever you choose by looking at them tells nothing about "
    "the people. They show how much noise there is, not what your own data look like.",
    "secure noise": "Noise from the operating system's randomness through an exact sampler. Drawn once for a release, "
    "and never again for the same one.",
    "known people": "Some attackers know already which released row belongs to a few people, such as themselves and their "
    "friends, and go on from there. This is how many they know.",
    "control": "A table of people of the same kind who are not in the release. What an attack finds out about them too is "
    "general knowledge, and not the fault of the release. For a preview, rows of your own table are held back for this. "
    "A release needs a file: without one, some attacks have no verdict.",
    "expected": "What you think the number will be: last year's release, a public sample, a guess. It decides how the "
    "budget is split and nothing else: a wrong guess costs accuracy, never privacy.",
    "equation": "What people will compute from the published numbers, such as a ratio or a t-test. It is taken into "
    "account when the budget is split, and its value is published with an interval.",
    "neighbours": "Which two tables must look alike. Replace one: the number of records is public. Add or remove one: "
    "even whether somebody is in the table at all is protected.",
    "budget of statistics": "ε is the usual promise. ρ, or ε with a δ, use Gaussian noise: better for many numbers at "
    "once, with a slightly weaker promise.",
    "pilot": "If nobody can say what to expect: a share such as 0.1 of the budget pays for rough values, and the rest is "
    "split according to them. Leave it empty if you give expected values.",
    "predicted error": "How far the released number will probably lie from the true one, because of the noise. Computed "
    "from the bounds, the budget and the expected values, without the data.",
    "tolerance": "The largest error that is still good enough for you. The page says whether it is kept, and can find "
    "the smallest budget that keeps all of them.",
    "weight of a statistic": "How much this number counts when the budget is split: 2 counts twice as much as 1.",
    "guard": "A noisy divisor near zero makes a ratio explode. It is kept at least so far from zero; the result is then a "
    "little off there, and the release says so.",
    "least budget": "No measured number gets less than this, so that nothing is published that is noise alone.",
}


# A method in plain words, put together from the parts of its recipe: a new recipe explains itself.


def in_plain_words(method: Method) -> str:
    return " ".join((_groups(method), _noise(method), _rows(method)))


def _groups(method: Method) -> str:
    if method.fixed_k == 1:
        return "Every value stays by itself."
    if method.grouping.multivariate:
        return "Puts k people who are alike in all attributes into a group and takes the group's means."
    return "Sorts each attribute by itself, puts k neighbours into a group and takes the group's mean."


def _noise(method: Method) -> str:
    if not method.adds_noise:
        return "Adds no noise."
    what = "value" if method.fixed_k == 1 else "mean"
    split = (
        ""
        if method.splits_budget
        else " Every attribute gets the whole ε, so the release costs ε times their number."
    )
    return f"Adds noise to each {what}.{split}"


def _rows(method: Method) -> str:
    if not method.synthetic:
        where = "on the row it came from" if method.fixed_k == 1 else "on the rows of its group"
        return f"The result goes back {where}: each row still stands for a person."
    if not method.lists:
        return (
            "Then draws invented rows that follow the noisy numbers, and how attributes move together: no row stands for "
            "a person."
        )
    return "Then releases each attribute in an order of its own: rows mean nothing, only distributions do."
