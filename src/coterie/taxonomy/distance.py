"""Semantic distance between categories (001 eq. 3), computed once for the whole domain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.taxonomy.tree import Taxonomy

# Distances are multiples of this. Sums of up to 2^23 of them are then exact doubles, whatever the order of
# addition, so scores of neighbouring tables differ by what the proofs say and not by rounding as well.
GRID = 2.0**-30


def distance_matrix(taxonomy: Taxonomy) -> NDArray[np.float64]:
    """δ(a, b) = log2(1 + (|φ(a) ∪ φ(b)| - |φ(a) ∩ φ(b)|) / |φ(a) ∪ φ(b)|) for all pairs of categories.

    Notes: each value is rounded to the nearest multiple of 2^-30 (an error below 5e-10; the paper does not
    round). The metric laws still hold exactly. With the Jaccard distances x = J(a,b), y = J(b,c) and
    z = J(a,c) ≤ x + y, the slack of the triangle inequality is log2((1+x)(1+y)/(1+z)) ≥ log2(1 + xy/2)
    since 1 + z ≤ 2. Where a, b, c are distinct, x and y are at least 1/(2·DEEPEST) = 1/400, so the slack is
    above 4e-6, far more than the three roundings can take; where two of them are equal the law is trivial.
    Distinct categories stay apart: δ ≥ log2(1 + 1/400) > 0.
    """
    member = taxonomy.ancestry().astype(np.float64)  # counts up to 200 are exact, and BLAS multiplies them
    common = member @ member.T
    sizes = np.diagonal(common)
    union = sizes[:, None] + sizes[None, :] - common
    distance: NDArray[np.float64] = np.rint(np.log2(1.0 + (union - common) / union) / GRID) * GRID
    distance.setflags(write=False)
    return distance
