"""Live events: one look for all, resumed by id, bounded, silent while nothing changes."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from fastapi.sse import ServerSentEvent
from pydantic import BaseModel

from api.app import beside_requests
from api.errors import LiveBusyError, StoreUnavailableError
from api.routes.live import Live
from tests.unit.api.event_loop import bounded, turns


class Reading(BaseModel):
    at: int
    value: int


@dataclass
class World:
    """What is looked at: ``at`` changes with every look; ``broken`` is why there is none."""

    value: int = 0
    broken: str = ""
    looks: int = 0

    def look(self) -> Reading:
        self.looks += 1
        if self.broken:
            raise StoreUnavailableError(self.broken)
        return Reading(at=self.looks, value=self.value)


def live(world: World, clients: int = 10) -> Live:
    return Live({"overview": world.look, "other": lambda: Reading(at=0, value=7)}, 1, clients)


@asynccontextmanager
async def seated(watch: Live) -> AsyncIterator[None]:
    """Somebody watches what is read meanwhile."""
    async with beside_requests(watch.run):
        with watch.place():
            yield


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 -- of another thread's doing
        await asyncio.sleep(0)


async def kinds(events: AsyncIterator[ServerSentEvent], count: int) -> dict[str, Any]:
    """The bodies of the next events by their kinds."""
    found = [await anext(events) for _ in range(count)]
    return {str(one.event): json.loads(one.raw_data or "") for one in found}


@bounded
async def test_first_everything_then_only_what_changes() -> None:
    world = World()
    watch = live(world)
    async with seated(watch):
        events = watch.events(None)
        assert set(await kinds(events, 3)) == {"overview", "other", "problem"}
        following = asyncio.ensure_future(kinds(events, 1))
        seen = world.looks
        await until(lambda: world.looks > seen + 3)
        assert not following.done()  # the time alone is no change
        world.value = 1
        assert (await following)["overview"]["value"] == 1


@bounded
async def test_whoever_was_away_goes_on_behind_the_last_event_seen() -> None:
    world = World()
    watch = live(world)
    async with seated(watch):
        events = watch.events(None)
        last = [await anext(events) for _ in range(3)][-1]
        world.value = 1
        newer = await anext(events)
        assert (await anext(watch.events(last.id))).id == newer.id
        for unknown in (None, "", "other-3", f"{(last.id or '')[:8]}-x", "\u00b2"):
            assert len(await kinds(watch.events(unknown), 3)) == 3
        waiting = asyncio.ensure_future(kinds(watch.events(newer.id), 1))
        world.value = 2
        assert (await waiting)["overview"]["value"] == 2


@bounded
async def test_a_hundred_who_watch_cost_one_look_and_the_slow_ones_get_the_newest() -> None:
    world = World()
    watch = live(world, clients=200)
    async with beside_requests(watch.run), asyncio.TaskGroup() as group:

        async def one() -> int:
            with watch.place():
                async for event in watch.events(None):
                    if event.event == "overview" and json.loads(event.raw_data or "")["value"] == 5:
                        return world.looks
            return 0

        tasks = [group.create_task(one()) for _ in range(100)]
        for value in range(1, 6):
            seen = world.looks
            await until(lambda before=seen: world.looks > before)  # type: ignore[misc]  # bound at once
            world.value = value
    assert max(task.result() for task in tasks) <= world.looks < 100


@bounded
async def test_who_comes_beyond_the_bounds_is_sent_away_and_nobody_means_no_look() -> None:
    world = World()
    watch = live(world, clients=4)
    async with beside_requests(watch.run):
        await turns()
        assert world.looks == 0
        with watch.place(), watch.place():
            with pytest.raises(LiveBusyError, match="you watch 2 times already"):
                watch.place().__enter__()
            with (
                watch.place("ann"),
                watch.place("ben"),
                pytest.raises(LiveBusyError, match="4 watch already"),
            ):
                watch.place("cid").__enter__()
            await until(lambda: bool(watch._states))
        await until(lambda: not watch._states)
        seen = world.looks
        await turns()
        assert world.looks == seen
        with watch.place():
            await anext(watch.events(None))


@bounded
async def test_a_stream_ends_when_its_credentials_do_though_nothing_changes() -> None:
    asked: list[bool] = []

    async def admitted() -> bool:
        asked.append(len(asked) < 2)
        return asked[-1]

    watch = live(World())
    async with seated(watch):
        events = [event.event async for event in watch.events(None, admitted)]
    assert sorted(map(str, events)) == ["other", "overview", "problem"]
    assert asked == [True, True, False]


@bounded
async def test_a_stream_ends_between_two_changes_too() -> None:
    world, looks_up = World(), [True, False]
    watch = live(world)

    async def admitted() -> bool:
        world.value += 1
        return looks_up.pop(0)

    async with seated(watch):
        events = [event async for event in watch.events(None, admitted)]
    assert not looks_up
    assert [event.event for event in events].count("overview") <= 2


@bounded
async def test_a_store_that_is_away_is_told_once_and_its_return_too() -> None:
    world = World(broken="locked")
    watch = live(world)
    async with seated(watch):
        events = watch.events(None)
        assert await kinds(events, 1) == {"problem": {"detail": "locked"}}
        world.broken = ""
        assert (await kinds(events, 3))["problem"] == {"detail": ""}
