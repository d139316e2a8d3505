"""Coterie publishes personal data so that nobody in it can be singled out, and says what that promise is worth.

release = coterie.protect(table, schema, method="idp-cbls", epsilon="1.0", k=10)
release.data, release.certificate
"""

from coterie._version import __version__
from coterie.certificate import Certificate
from coterie.errors import CoterieError
from coterie.ledger import Ledger
from coterie.population import demo_population, demo_schema
from coterie.release import Release, protect
from coterie.schema import Attribute, Domain, Role, Schema

__all__ = [
    "Attribute",
    "Certificate",
    "CoterieError",
    "Domain",
    "Ledger",
    "Release",
    "Role",
    "Schema",
    "__version__",
    "demo_population",
    "demo_schema",
    "protect",
]
