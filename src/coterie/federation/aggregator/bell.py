"""Wakes owners who wait in a long poll: one of them when its own contribution moved, all when a study did."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import suppress


class Bell:
    """With hundreds of owners, waking all of them at every chunk of one would be most of the work."""

    def __init__(self) -> None:
        self._events: defaultdict[int, asyncio.Event] = defaultdict(asyncio.Event)

    def ring(self, owner: int) -> None:
        self._events.pop(owner, asyncio.Event()).set()

    def ring_all(self) -> None:
        for owner in list(self._events):
            self.ring(owner)

    async def heard(self, owner: int, seconds: float) -> None:
        """Return at the next ring for this owner, or after so many seconds."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._events[owner].wait(), seconds)
