"""The guides of `coterie aggregator` and `coterie owner`."""

from __future__ import annotations

AGGREGATOR = """Several owners, one release: the aggregator asks, collects and joins. It never sees a raw row.

  1. coterie aggregator init ./aggregator --url https://aggregator.example:8443

  2. coterie aggregator serve ./aggregator                       leave it running

  3. coterie aggregator invite ./aggregator hospital-a --output hospital-a.invitation    one for each owner

  4. coterie aggregator study new ./aggregator study.yaml        the owners are asked

  5. coterie aggregator study release ./aggregator STUDY --output release.parquet

Exit codes: 0 done · 2 command line · 5 parameter · 6 output · 10 optional part missing · 11 a document, folder or setting ·
16 conflict · 18 the study ended without a release.
"""

OWNER = """Take part in a study without showing anybody a raw row. This process only connects outward; no port is opened.

  1. coterie owner join hospital-a.invitation --home ./owner          once

  2. coterie ledger init ./owner/ledger.sqlite --population patients --lifetime 10

  3. coterie owner run --home ./owner                                 leave it running

  4. coterie owner inspect --home ./owner                             what is asked of you

  5. coterie owner approve STUDY --home ./owner --data patients.parquet --population patients

Instead of step 5, a policy.yaml in the folder can decide (docs/how-to/federate.md).

Exit codes: 0 done · 2 command line · 8 ledger · 9 budget exceeded · 10 optional part missing · 11 a document, folder or
setting · 12 TLS failed or another aggregator's key · 13 the aggregator does not accept this key, or a clock is off ·
14 no common protocol version · 15 invitation used or expired · 16 another process uses this key, or it is too
late to decide · 17 your table or budget does not fit · 19 not reachable.
"""
