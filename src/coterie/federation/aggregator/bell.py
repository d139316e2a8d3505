"""Wakes the owners who wait in a long poll, and the one task that tends the studies."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class Bell:
    """Rung whenever something changed; also by other processes, whose changes the tending task sees by the clock."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ring(self) -> None:
        event, self._event = self._event, asyncio.Event()
        event.set()

    async def heard(self, seconds: float) -> None:
        """Return at the next ring, or after so many seconds."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), seconds)
