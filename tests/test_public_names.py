"""Whoever adds or removes a public name must say so here."""

import coterie


def test_the_public_names_are_frozen() -> None:
    assert coterie.__all__ == [
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
    assert sorted(coterie.__all__) == coterie.__all__
    assert all(hasattr(coterie, name) for name in coterie.__all__)
