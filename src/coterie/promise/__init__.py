"""What a release promises: terms, certificate, posterior odds, privacy loss in the ledger's units, signature, verification.

A promise is stated about the object released, and never stronger than its proof.
"""
