"""A package outside Coterie: a method with a mechanism of its own, a measure and an attack."""
