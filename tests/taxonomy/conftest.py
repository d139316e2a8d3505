from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from coterie.errors import SchemaError
from coterie.taxonomy.wordnet_database import find_folder

# Examples are quick, but the machine may be busy: time is the business of pytest-timeout.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture(scope="session")
def wordnet_folder() -> Path:
    try:
        return find_folder()
    except SchemaError:
        pytest.skip("WordNet is not on this machine; apt-get install wordnet-base brings it")
