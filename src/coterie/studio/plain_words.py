"""A method in plain words, put together from the parts of its recipe: a new recipe explains itself."""

from __future__ import annotations

from coterie.methods.recipe import Method


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
    if method.synthesis is None:
        where = "on the row it came from" if method.fixed_k == 1 else "on the rows of its group"
        return f"The result goes back {where}: each row still stands for a person."
    if method.synthesis.share(2) > 0:
        return (
            "Then draws invented rows that follow the noisy numbers, and how attributes move together: no row stands for "
            "a person."
        )
    return "Then releases each attribute in an order of its own: rows mean nothing, only distributions do."
