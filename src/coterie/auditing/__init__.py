"""What an attacker can still learn: `attacks/` holds one attack per file, and this room runs them and reports the findings.

A release is attacked with its original at hand (`auditing_release`), a method by running it many times
(`auditing_method`). `relation` first tests whether the tables belong together; `audit` holds findings and verdict.
"""

from coterie.auditing.audit import Audit
from coterie.auditing.auditing_method import audit_method
from coterie.auditing.auditing_release import audit_release

__all__ = ["Audit", "audit_method", "audit_release"]
