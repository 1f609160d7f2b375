"""An api on a port with a terminal beside it, and an order in its store."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from sqlalchemy import Engine
from starlette.types import ASGIApp, Receive, Scope, Send

from api.app import create_app
from api.settings import ApiSettings
from cli import local_token
from deadwatch.store.write.orders import OrderBook
from redrive.plan.plan import Plan
from tests.caller import Caller
from tests.operators import caller
from tests.unit.cli.terminal import Served
from tests.unit.deadwatch.store import suite


@pytest.fixture
def order(store: Engine) -> str:
    return OrderBook(store).create(suite.order("a"), Plan(to_move=9).model_dump_json()).order.id


@pytest.fixture
def client(store_file: Path, tmp_path: Path, now_ms: int) -> Iterator[Caller]:
    """An operator on the service's own machine, at ``now_ms``."""
    with caller(ApiSettings(store_url=f"sqlite:///{store_file}"), tmp_path, lambda: now_ms) as opened:
        yield opened


class Port:
    """One server for the apis of all tests: to end one takes 0.2 s."""

    app: ASGIApp
    """The api that answers now."""

    def __init__(self, listener: socket.socket) -> None:
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the api answer."""
        await self.app(scope, receive, send)


@pytest.fixture(scope="session")
def port() -> Iterator[Port]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        made = Port(listener)
        server = uvicorn.Server(uvicorn.Config(made, log_config=None, log_level="critical", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield made
        server.should_exit = True
        thread.join()


@pytest.fixture
def served(store: Engine, store_file: Path, port: Port) -> Served:
    del store
    data = store_file.parent
    local_token.make(data / "token")
    settings = ApiSettings(store_url=f"sqlite:///{store_file}", local_token_file=data / "token")
    port.app = create_app(settings)
    return Served(port.url, data)
