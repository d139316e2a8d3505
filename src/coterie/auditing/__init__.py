"""What an attacker still gets: `attacks/` holds one attack per file; this room runs them and says what they found.

A release is attacked beside its original (`auditing_release`), a method by what many runs of it give away
(`auditing_method`). `relation` asks first whether the tables belong together; `audit` has findings and verdict.
"""

from coterie.auditing.audit import Audit
from coterie.auditing.auditing_method import audit_method
from coterie.auditing.auditing_release import audit_release

__all__ = ["Audit", "audit_method", "audit_release"]
