"""Methods of earlier versions. Documents that name them still open and verify; nobody can ask for them any more."""

# dp-synthetic took their place.
WITHDRAWN = frozenset({"dp-copula", "dp-tree"})
