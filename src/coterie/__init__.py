"""Coterie publishes personal data so that nobody in it can be singled out, and says what that promise is worth.

release = coterie.protect(table, schema, method="laplace", epsilon=1)
release.write("released.csv")

Names are imported when they are first used: `coterie --version` should not wait for an array library.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from coterie._version import __version__

if TYPE_CHECKING:
    from coterie import extend, statistics
    from coterie.auditing.auditing_method import audit_method
    from coterie.auditing.auditing_release import audit
    from coterie.auditing.disclosure_risk import risk
    from coterie.comparison.compare import compare
    from coterie.errors import CoterieError
    from coterie.evaluation.evaluation import evaluate
    from coterie.federation.documents.verification import verify
    from coterie.methods import list_methods
    from coterie.papers.reproduction import list_experiments, reproduce
    from coterie.promise.certificate import Certificate
    from coterie.promise.signing import make_key
    from coterie.publication.ledger import Ledger
    from coterie.publication.protect import protect, publish
    from coterie.publication.release import Release, Written
    from coterie.report.dossier import write_dossier
    from coterie.report.writing import write_report
    from coterie.schema.attributes import Attribute, Domain, Role
    from coterie.studio.opening import open_studio
    from coterie.table.demo_population import demo_population, demo_schema
    from coterie.table.reading import Schema, read_table

__all__ = [
    "Attribute",
    "Certificate",
    "CoterieError",
    "Domain",
    "Ledger",
    "Release",
    "Role",
    "Schema",
    "Written",
    "__version__",
    "audit",
    "audit_method",
    "compare",
    "demo_population",
    "demo_schema",
    "evaluate",
    "extend",
    "list_experiments",
    "list_methods",
    "make_key",
    "open_studio",
    "protect",
    "publish",
    "read_table",
    "reproduce",
    "risk",
    "statistics",
    "verify",
    "write_dossier",
    "write_report",
]

_PLACES = {
    "Attribute": "schema.attributes",
    "Certificate": "promise.certificate",
    "CoterieError": "errors",
    "Domain": "schema.attributes",
    "Ledger": "publication.ledger",
    "Release": "publication.release",
    "Role": "schema.attributes",
    "Schema": "table.reading",
    "Written": "publication.release",
    "audit": "auditing.auditing_release",
    "audit_method": "auditing.auditing_method",
    "compare": "comparison.compare",
    "demo_population": "table.demo_population",
    "demo_schema": "table.demo_population",
    "evaluate": "evaluation.evaluation",
    "list_experiments": "papers.reproduction",
    "list_methods": "methods",
    "make_key": "promise.signing",
    "open_studio": "studio.opening",
    "protect": "publication.protect",
    "publish": "publication.protect",
    "read_table": "table.reading",
    "reproduce": "papers.reproduction",
    "risk": "auditing.disclosure_risk",
    "verify": "federation.documents.verification",
    "write_dossier": "report.dossier",
    "write_report": "report.writing",
}


def __getattr__(name: str) -> Any:
    if name in ("extend", "statistics"):
        return import_module(f"coterie.{name}")
    if name not in _PLACES:
        raise AttributeError(f"module 'coterie' has no attribute '{name}'")
    value = getattr(import_module(f"coterie.{_PLACES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
