"""The api with its console on a store as a day of trouble leaves it, on a port of its own; without Kafka."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import uvicorn
from fastapi import FastAPI
from sqlalchemy import NullPool, create_engine

from api.app import create_app
from api.auth.role import Role
from api.settings import ApiSettings
from deadwatch.runtime.kafka import KafkaConnection
from deadwatch.store.store import Store
from tests import console_store
from tests.unit.api.console_visit import token_for
from tests.waiting import until

GROUPS: Final = 2_000
"""That 100 000 are as quick, the benchmark of the console says."""


@dataclass(frozen=True)
class Served:
    """``base`` is the console's address; each role has a token."""

    base: str
    tokens: dict[Role, str]
    app: FastAPI


@contextmanager
def serving(directory: Path, **changes: Any) -> Iterator[Served]:  # noqa: ANN401 -- settings
    """With more causes than a page shows; ``changes`` are settings of the api."""
    url = f"sqlite:///{directory / 'store.db'}"
    Store(url).open().close()
    engine = create_engine(url, poolclass=NullPool)
    now_ms = time.time_ns() // 1_000_000
    console_store.fill(engine, now_ms)
    console_store.many_groups(engine, GROUPS, now_ms)
    settings = {
        "store_url": url,
        "kafka": KafkaConnection(bootstrap_servers="127.0.0.1:1"),
        "browse_max_readers": 30,  # of pages that were left, the reading goes on until Kafka is given up
        **changes,
    }
    with socket.create_server(("127.0.0.1", 0)) as listener:
        app = create_app(ApiSettings.model_validate(settings))
        made = Served(f"http://127.0.0.1:{listener.getsockname()[1]}/console", {}, app)
        made.tokens.update({role: token_for(app, role) for role in Role})
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        until(lambda: server.started, "the api does not start")
        yield made
        server.should_exit = True
        thread.join(30)
