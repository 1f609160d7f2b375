"""Work of the api that runs beside its requests and reads or writes the store in threads."""

import asyncio
from collections.abc import Awaitable, Callable

from anyio import CancelScope


class Background:
    """``work`` in a task of its own, from now on.

    It is cancelled by anyio, not by ``asyncio.Task.cancel``: that would leave the thread that the task waits
    for at work, with a connection that nobody closes any more.
    """

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self._work, self._scope = work, CancelScope()
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """End the work; returns when its thread, too, is through. Raises what the work raised.

        A caller that ``asyncio.Task.cancel`` ends does not wait: the work is left to whoever stops it next.
        """
        self._scope.cancel()
        with CancelScope(shield=True):
            await asyncio.wait([self._task])  # not the task itself: it would be cancelled with the caller
        self._task.result()

    async def _run(self) -> None:
        with self._scope:
            await self._work()
