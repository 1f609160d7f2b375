"""Work beside the requests ends with its thread."""

import asyncio
import threading
from pathlib import Path

import pytest
from anyio import CancelScope, to_thread
from fastapi.testclient import TestClient

from api.app import beside_requests, create_app
from api.settings import ApiSettings
from tests.unit.api.event_loop import DEADLINE_S, bounded, turns


class Reading:
    """Work that waits for a thread, which reads until it is released; then it would go on without an end."""

    def __init__(self) -> None:
        self.begun, self.released, self.done = threading.Event(), threading.Event(), False

    def read(self) -> None:
        self.begun.set()
        assert self.released.wait(DEADLINE_S)
        self.done = True

    async def work(self) -> None:
        await to_thread.run_sync(self.read)
        await asyncio.Event().wait()


@pytest.mark.parametrize("cancelled", [False, True])
def test_the_end_waits_for_the_thread_of_what_is_cancelled(*, cancelled: bool) -> None:
    """Also where that is cancelled itself, as anyio cancels the app with the group that it runs in."""

    @bounded
    async def scene() -> None:
        reading = Reading()
        with CancelScope() as group:
            async with beside_requests(reading.work):
                await asyncio.to_thread(reading.begun.wait)
                asyncio.get_running_loop().call_later(0.01, reading.released.set)
                if cancelled:
                    group.cancel()
        assert reading.done

    scene()


@bounded
async def test_what_has_not_begun_is_ended_too() -> None:
    reading = Reading()
    async with beside_requests(reading.work):
        pass
    assert not reading.begun.is_set()


def test_an_app_that_has_ended_starts_again_on_another_event_loop(tmp_path: Path) -> None:
    app = create_app(ApiSettings(store_url=f"sqlite:///{tmp_path / 'deadwatch.db'}"))

    async def scene() -> None:
        async with app.router.lifespan_context(app):
            await turns()

    for _ in range(2):
        asyncio.run(scene())


def test_the_store_is_closed_though_other_work_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        await asyncio.sleep(0)
        raise OSError("the disk is gone")

    closed: list[str] = []
    monkeypatch.setattr("api.app.retain", fail)
    app = create_app(ApiSettings(store_url=f"sqlite:///{tmp_path / 'deadwatch.db'}"))
    monkeypatch.setattr(app.state.service.tokens, "close", lambda: closed.append("store"))
    with pytest.raises(OSError, match="the disk is gone"), TestClient(app):
        assert closed == []
    assert closed == ["store"]
