"""The auditor: runs every attack on a release or on a method, and says what it found."""

from coterie.auditing.audit import Audit
from coterie.auditing.auditing_method import audit_method
from coterie.auditing.auditing_release import audit_release

__all__ = ["Audit", "audit_method", "audit_release"]
