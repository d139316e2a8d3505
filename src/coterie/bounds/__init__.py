"""Bounds for attributes that have no public ones: found by a differentially private quantile, paid from ε."""
