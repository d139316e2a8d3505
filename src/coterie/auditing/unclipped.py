"""A method as 001 publishes it: noisy values that leave the domain are released as they are.

Coterie cuts them at the domain's ends (000 §4.1 does too), which is post-processing and costs no ε. At a very small ε most
group values then fall on one of the two ends, and groups that were different look alike: cutting hides ties.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from coterie.columns.column import Floats, NumericColumn
from coterie.errors import ParameterError
from coterie.mechanism.numeric import Centroids, LaplaceOnCentroids
from coterie.methods.recipe import Method
from coterie.noise.sampler import Sampler, laplace_scales


@dataclass(frozen=True, slots=True)
class Unclipped(LaplaceOnCentroids):
    def noise(
        self,
        column: NumericColumn,
        centroids: Centroids,
        sensitivity: Floats,
        epsilon: Fraction,
        sampler: Sampler,
    ) -> Floats:
        scales = laplace_scales(sensitivity, epsilon)
        return sampler.laplace(centroids.values, scales, column.attribute.name)


def unclipped(method: Method) -> Method:
    mechanism = method.numeric
    if not isinstance(mechanism, LaplaceOnCentroids):
        raise ParameterError(
            f"Method '{method.name}' does not put Laplace noise on group values.",
            "Leave out --unclipped.",
        )
    return replace(method, numeric=Unclipped(mechanism.centroid, mechanism.bound, mechanism.caution))
