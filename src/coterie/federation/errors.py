"""What can go wrong between owners and aggregator. Continues the tree of coterie.errors.

CoterieError
└── FederationError          a document, folder or setting of the federation is wrong     exit 11
    ├── Untrusted            TLS failed, or the aggregator's key is not the pinned one    exit 12
    ├── NotAccepted          the aggregator does not accept this key or its signature     exit 13
    ├── ProtocolMismatch     no common protocol version                                   exit 14
    ├── InvitationSpent      the invitation was used or has expired                       exit 15
    ├── Conflict             another process uses this key, or the state has moved on     exit 16
    ├── Refused              the owner refuses a study: the reason goes to the aggregator exit 17
    ├── StudyEnded           the study ended without a release                            exit 18
    └── Unreachable          the aggregator does not answer                               exit 19
"""

from __future__ import annotations

from coterie.errors import CoterieError


class FederationError(CoterieError):
    exit_code = 11


class Untrusted(FederationError):
    exit_code = 12


class NotAccepted(FederationError):
    exit_code = 13


class ProtocolMismatch(FederationError):
    exit_code = 14


class InvitationSpent(FederationError):
    exit_code = 15


class Conflict(FederationError):
    exit_code = 16


class Refused(FederationError):
    exit_code = 17


class StudyEnded(FederationError):
    exit_code = 18


class Unreachable(FederationError):
    exit_code = 19
