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

from coterie._on_demand import names_of

__getattr__, __dir__, __all__ = names_of(__name__)
