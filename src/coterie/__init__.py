"""Coterie publishes personal data so that nobody in it can be singled out, and says what that promise is worth.

release = coterie.protect(table, schema, method="idp-cbls", epsilon="1.0", k=10)
release.data, release.certificate

Names are imported when they are first used: `coterie --version` should not wait for an array library.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from coterie._version import __version__

if TYPE_CHECKING:
    from coterie.engines.in_memory import Release, protect
    from coterie.errors import CoterieError
    from coterie.promise.certificate import Certificate
    from coterie.publication.ledger import Ledger
    from coterie.schema.attributes import Attribute, Domain, Role, Schema
    from coterie.table.demo_population import demo_population, demo_schema

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

_PLACES = {
    "Attribute": "schema.attributes",
    "Certificate": "promise.certificate",
    "CoterieError": "errors",
    "Domain": "schema.attributes",
    "Ledger": "publication.ledger",
    "Release": "engines.in_memory",
    "Role": "schema.attributes",
    "Schema": "schema.attributes",
    "demo_population": "table.demo_population",
    "demo_schema": "table.demo_population",
    "protect": "engines.in_memory",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'coterie' has no attribute '{name}'")
    value = getattr(import_module(f"coterie.{_PLACES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
