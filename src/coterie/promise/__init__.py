"""What a release promises: terms, certificate, posterior odds, privacy loss in the ledger's units, signature.

A promise is stated about the object released, and never stronger than its proof. `signing` checks one signature and one
digest. `coterie.verify` checks a release against a certificate of any kind, so it stands above all kinds: in
`federation/documents`, because the certificate of a joined release holds the study and the answers that owners signed.
"""
