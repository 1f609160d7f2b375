"""The server of ``python -m api``: whom it believes, and what ends it."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi.testclient import TestClient
from sqlalchemy import Engine, select

from api.__main__ import end_on_signals, server_config
from api.settings import ApiSettings
from deadwatch.runtime.process import STOP_SIGNALS
from deadwatch.store.schema import audit

CANCEL = "/api/v1/redrives/a/cancel"


@pytest.fixture
def given_back() -> Iterator[None]:
    """Every signal that asks for the end does so inside, and afterwards what it did before."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in STOP_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("given_back")
@pytest.mark.parametrize(
    ("number", "before", "ends"),
    [*((number, signal.SIG_DFL, True) for number in STOP_SIGNALS), (signal.SIGHUP, signal.SIG_IGN, False)],
)
def test_what_asks_for_the_end_ends_the_server_but_for_a_closed_terminal_where_that_is_ignored(
    number: signal.Signals, before: signal.Handlers, *, ends: bool
) -> None:
    signal.signal(number, before)
    server = uvicorn.Server(uvicorn.Config(""))
    end_on_signals(server)
    signal.raise_signal(number)
    assert server.should_exit is ends


@pytest.mark.parametrize(("trusted", "address"), [(("127.0.0.1",), "203.0.113.9"), ((), "127.0.0.1")])
def test_only_a_trusted_proxy_is_believed(
    store: Engine, store_file: Path, trusted: tuple[str, ...], address: str
) -> None:
    config = server_config(ApiSettings(store_url=f"sqlite:///{store_file}", trusted_proxies=trusted))
    config.load()
    app: Any = config.loaded_app
    TestClient(app, "http://127.0.0.1", client=("127.0.0.1", 1)).post(
        CANCEL, headers={"X-Forwarded-For": "203.0.113.9"}
    )
    with store.begin() as connection:
        assert connection.scalars(select(audit.c.address)).one() == address
