"""What a package of your own needs to add a method, a measure or an attack to Coterie: everything else is private.

A method
    `Method` names one part per stage: a `Grouping` (`INDIVIDUAL_RANKING`, `MDAV`, …), a `Mechanism` for numbers
    (`LaplaceOnCentroids` for a sensitivity such as `DOMAIN_OVER_K`, or `SortedCentroids`) and one for labels
    (`WHOLE_LIST`, `SortedLabels`, …). Its promise is a function from `Facts` to a `Guarantee` with a `Status`;
    `proved_dp`, `dp_list` and `on_rows` make the usual ones. A mechanism of your own draws from the `Sampler` that it is
    handed.
A measure
    `Measure` compares a `Pair` of tables, or one attribute at a time (`ByAttribute`).
An attack
    `Attack` runs on a `ReleaseEvidence` or a `MethodEvidence` and gives a `Finding` with an `Estimate`, or `NotRun`.
    `proportion`, `over_control` and `worst_of` make intervals that hold; `graded` makes a `Level` of them.
A way to split a budget
    `Allocator` takes a `Problem` and gives each measurement its share of ε, or raises `NotApplicable`.

A part is found by an entry point of your package, in the group `coterie.methods`, `coterie.measures`, `coterie.attacks`
or `coterie.allocators`. To try it before there is a package, hand it over: `protect(method=…)`,
`evaluate(measures=[…])`, `audit(attacks=[…])`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coterie.auditing.attacks import Attack, Subject
    from coterie.auditing.attacks.evidence import MethodEvidence, ReleaseEvidence, Seen
    from coterie.auditing.attacks.finding import (
        Estimate,
        Finding,
        Level,
        NotRun,
        Unit,
        graded,
        interval_words,
        over_control,
        percent,
        proportion,
        share_against,
        worst_of,
    )
    from coterie.chain.mechanism import Mechanism
    from coterie.chain.mechanism.categorical import (
        EVERY_CLUSTER,
        PER_CLUSTER,
        PER_RECORD,
        WHOLE_LIST,
        ExponentialMechanism,
        MarginalityCentroid,
        RankedCategories,
        SortedLabels,
    )
    from coterie.chain.mechanism.numeric import (
        MEAN,
        TRIMMED_MEAN,
        Centroid,
        LaplaceOnCentroids,
        SortedCentroids,
        in_domain,
    )
    from coterie.chain.noise.sampler import Sampler, laplace_scales
    from coterie.chain.partition.clustering import Clustering
    from coterie.chain.sensitivity import (
        CLUSTER_BASED,
        CLUSTER_BASED_JOINT,
        DOMAIN_OVER_K,
        DOMAIN_OVER_K_EACH,
        DOMAIN_OVER_SIZE,
        LOCAL,
        Bound,
    )
    from coterie.evaluation.measure import ByAttribute, Measure, MeasureResult, Settings
    from coterie.evaluation.pair import Pair
    from coterie.methods.grouping import (
        EACH_ALONE,
        INDIVIDUAL_RANKING,
        INSENSITIVE_MDAV,
        MDAV,
        NO_GROUPS,
        OPTIMAL_UNIVARIATE,
        Grouping,
    )
    from coterie.methods.guarantee import NOTHING, Facts, Guarantee, Status
    from coterie.methods.promises import (
        NOTHING_TO_LINK,
        TIE_LINKAGE,
        WHY,
        dp_list,
        on_rows,
        proved_dp,
        public_k,
        refuted,
    )
    from coterie.methods.recipe import Method
    from coterie.schema.arrays import Codes, Flags, Floats, Whole
    from coterie.schema.exact import as_text, float_up
    from coterie.statistics.allocators import Allocator, NotApplicable, Problem
    from coterie.table.columns.column import CategoryColumn, NumericColumn

__all__ = [
    "CLUSTER_BASED",
    "CLUSTER_BASED_JOINT",
    "DOMAIN_OVER_K",
    "DOMAIN_OVER_K_EACH",
    "DOMAIN_OVER_SIZE",
    "EACH_ALONE",
    "EVERY_CLUSTER",
    "INDIVIDUAL_RANKING",
    "INSENSITIVE_MDAV",
    "LOCAL",
    "MDAV",
    "MEAN",
    "NOTHING",
    "NOTHING_TO_LINK",
    "NO_GROUPS",
    "OPTIMAL_UNIVARIATE",
    "PER_CLUSTER",
    "PER_RECORD",
    "TIE_LINKAGE",
    "TRIMMED_MEAN",
    "WHOLE_LIST",
    "WHY",
    "Allocator",
    "Attack",
    "Bound",
    "ByAttribute",
    "CategoryColumn",
    "Centroid",
    "Clustering",
    "Codes",
    "Estimate",
    "ExponentialMechanism",
    "Facts",
    "Finding",
    "Flags",
    "Floats",
    "Grouping",
    "Guarantee",
    "LaplaceOnCentroids",
    "Level",
    "MarginalityCentroid",
    "Measure",
    "MeasureResult",
    "Mechanism",
    "Method",
    "MethodEvidence",
    "NotApplicable",
    "NotRun",
    "NumericColumn",
    "Pair",
    "Problem",
    "RankedCategories",
    "ReleaseEvidence",
    "Sampler",
    "Seen",
    "Settings",
    "SortedCentroids",
    "SortedLabels",
    "Status",
    "Subject",
    "Unit",
    "Whole",
    "as_text",
    "dp_list",
    "float_up",
    "graded",
    "in_domain",
    "interval_words",
    "laplace_scales",
    "on_rows",
    "over_control",
    "percent",
    "proportion",
    "proved_dp",
    "public_k",
    "refuted",
    "share_against",
    "worst_of",
]

# Imported when they are first used: a method should not wait for the attacks.
_PLACES = {
    "auditing.attacks": "Attack Subject",
    "auditing.attacks.evidence": "MethodEvidence ReleaseEvidence Seen",
    "auditing.attacks.finding": "Estimate Finding Level NotRun Unit graded interval_words over_control percent proportion "
    "share_against worst_of",
    "chain.mechanism": "Mechanism",
    "chain.mechanism.categorical": "EVERY_CLUSTER PER_CLUSTER PER_RECORD WHOLE_LIST ExponentialMechanism "
    "MarginalityCentroid RankedCategories SortedLabels",
    "chain.mechanism.numeric": "MEAN TRIMMED_MEAN Centroid LaplaceOnCentroids SortedCentroids in_domain",
    "chain.noise.sampler": "Sampler laplace_scales",
    "chain.partition.clustering": "Clustering",
    "chain.sensitivity": "CLUSTER_BASED CLUSTER_BASED_JOINT DOMAIN_OVER_K DOMAIN_OVER_K_EACH DOMAIN_OVER_SIZE LOCAL Bound",
    "evaluation.measure": "ByAttribute Measure MeasureResult Pair Settings",
    "methods.grouping": "EACH_ALONE INDIVIDUAL_RANKING INSENSITIVE_MDAV MDAV NO_GROUPS OPTIMAL_UNIVARIATE Grouping",
    "methods.guarantee": "NOTHING Facts Guarantee Status",
    "methods.promises": "NOTHING_TO_LINK TIE_LINKAGE WHY dp_list on_rows proved_dp public_k refuted",
    "methods.recipe": "Method",
    "schema.arrays": "Codes Flags Floats Whole",
    "schema.exact": "as_text float_up",
    "statistics.allocators": "Allocator NotApplicable Problem",
    "table.columns.column": "CategoryColumn NumericColumn",
}
_MODULES = {name: module for module, names in _PLACES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'coterie.extend' has no attribute '{name}'")
    value = getattr(import_module(f"coterie.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
