"""Coterie publishes personal data so that nobody in it can be singled out, and says what that promise is worth.

release = coterie.protect(table, schema, method="laplace", epsilon=1)
release.write("released.csv")

Names are imported when they are first used: `coterie --version` should not wait for an array library.
"""

from coterie._on_demand import names_of

__getattr__, __dir__, __all__ = names_of(__name__)
