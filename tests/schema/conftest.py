from __future__ import annotations

from pathlib import Path

import pytest

from coterie.errors import SchemaError
from coterie.schema.taxonomy.loading import find_folder


@pytest.fixture(scope="session")
def wordnet_folder() -> Path:
    try:
        return find_folder()
    except SchemaError:
        pytest.skip("WordNet is not on this machine; apt-get install wordnet-base brings it")
