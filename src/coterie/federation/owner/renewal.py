"""New keys for an owner: made here, told to the aggregator by the old ones, and put in their place."""

from __future__ import annotations

from collections.abc import Callable

from coterie.federation.documents.answers import NewKeys
from coterie.federation.documents.signed import Signed
from coterie.federation.errors import NotAccepted
from coterie.federation.owner.client import Client, ClockOff, Suspended
from coterie.federation.owner.home import OwnerHome
from coterie.federation.secrets.keys import Keys
from coterie.federation.secrets.rotation import next_keys, use_next_keys


def rotate_keys(home: OwnerHome, connect: Callable[[Keys], Client]) -> Keys:
    """Can be repeated after a kill at any point. `connect` speaks to the aggregator with these keys."""
    old, new = home.keys, next_keys(home.folder)
    said = NewKeys(old=old.public, new=new.public, sealing_key=new.sealing_public)
    try:
        with connect(old) as client:
            client.post("/v1/keys", Signed.of(said, "new keys", new).content())
    except (ClockOff, Suspended):
        raise
    except NotAccepted:
        # Perhaps the answer to an earlier attempt was lost: then the new ones are accepted already.
        with connect(new) as client:
            client.get("/v1/desired?after=&wait=0")
    keys = use_next_keys(home.folder, old)
    home.journal.note("new keys", key=keys.public)
    return keys
