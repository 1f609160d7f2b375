"""Deletes entries of the audit when they are older than its retention: a few at a time, once an hour."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

from anyio import to_thread

from api.errors import ApiError
from api.store import Writer
from streaming.store import audit

EVERY_S: Final = 3_600
AGAIN_S: Final = 60
"""After the store could not be written, as before streaming has made it."""
AT_ONCE: Final = 1_000
"""Entries of one transaction: streaming writes to the same store."""
DAY_MS: Final = 86_400_000

log = logging.getLogger(__name__)


class Retention:
    """Of the audit, in days."""

    def __init__(self, writer: Writer, now_ms: Callable[[], int], days: int) -> None:
        self._writer, self._now_ms, self._days = writer, now_ms, days

    def forget(self) -> int:
        """Delete what is too old; how many entries it were. Raises ``ApiError``."""
        before_ms, total, forgotten = self._now_ms() - self._days * DAY_MS, 0, AT_ONCE
        while forgotten == AT_ONCE:
            with self._writer.writing() as connection:
                forgotten = audit.forget(connection, before_ms, AT_ONCE)
            total += forgotten
        return total

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """While inside, it is done every hour."""
        task = asyncio.create_task(self._keep())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _keep(self) -> None:
        while True:
            try:
                forgotten = await to_thread.run_sync(self.forget)
            except ApiError as error:
                log.debug("the audit's retention waits: %s", error)
                await asyncio.sleep(AGAIN_S)
                continue
            if forgotten:
                log.info("%d entries of the audit were older than %d days", forgotten, self._days)
            await asyncio.sleep(EVERY_S)
