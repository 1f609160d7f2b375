"""Scenes on an event loop of their own."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

DEADLINE_S = 60


def bounded(scene: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """A test that runs this on an event loop, and not for ever."""

    @wraps(scene)
    def test() -> None:
        asyncio.run(asyncio.wait_for(scene(), DEADLINE_S))

    return test


async def turns() -> None:
    """The event loop does all that can be done without waiting."""
    for _ in range(100):
        await asyncio.sleep(0)
