"""Categories as ranks: encode by an order, work with numbers, decode by rounding (003 §5.1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.errors import DataError, ParameterError


def frequency_order(codes: NDArray[np.integer], categories: int) -> NDArray[np.int32]:
    """The order of 003 §5.1: most frequent category first, ties by code.

    It is a function of the data: the table that decodes rank 1 tells which label is the most frequent, at
    every ε. A release that uses it is not differentially private. The honest twin gives `encode` and
    `decode` a public order (`marginality_order` without `present`, `short_order`, or one from the schema).
    """
    counts = np.bincount(codes, minlength=categories)
    return np.argsort(-counts, kind="stable").astype(np.int32)


def encode(codes: NDArray[np.integer], order: NDArray[np.integer]) -> NDArray[np.float64]:
    """The rank of each code, 0 … len(order)-1. (003 counts from 1; a shift changes nothing.)"""
    if len(set(order.tolist())) < len(order):
        raise ParameterError("The order names a category twice.", "List each code once.")
    size = 1 + max(int(codes.max(initial=-1)), int(order.max(initial=-1)))
    ranks = np.full(size, -1.0)
    ranks[order] = np.arange(len(order))
    encoded: NDArray[np.float64] = ranks[codes]
    if (encoded < 0).any():
        raise DataError(
            "Some records hold a category that the order does not name.", "Use an order of the whole domain."
        )
    return encoded


def decode(ranks: NDArray[np.float64], order: NDArray[np.integer]) -> NDArray[np.int32]:
    """The code at the nearest rank, halves upwards; ranks outside go to the first or last category."""
    nearest = np.clip(np.floor(ranks + 0.5), 0, len(order) - 1).astype(np.intp)
    return order[nearest].astype(np.int32)
