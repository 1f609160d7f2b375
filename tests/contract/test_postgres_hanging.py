"""A server that is there and does not answer holds up no request for ever."""

from pathlib import Path

import psutil
import pytest

from api import store as reader
from api.settings import ApiSettings
from deadwatch.store.engine import POSTGRESQL
from deadwatch.store.store import Store
from tests.families import frozen
from tests.operators import operator
from tests.postgres import Postgres
from tests.waiting import until


def test_every_answer_comes_while_the_server_stands_still(
    postgres_server: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres_server.database()
    Store(url).open().close()
    monkeypatch.setattr(reader, "READING_S", 0.3)
    monkeypatch.setattr(reader, "POSTGRESQL", {**POSTGRESQL, "connect_timeout": 1})
    with operator(ApiSettings(store_url=url), tmp_path) as client:

        def up() -> tuple[int, bool]:
            metrics = client.get("/metrics").text.splitlines()
            return client.get("/api/v1/overview").status_code, "deadwatch_store_up 1.0" in metrics

        until(lambda: up() == (200, True), "an answer within the limit")
        with frozen(psutil.Process(postgres_server.pid)):
            assert up() == (503, False)
            assert up() == (503, False)
        until(lambda: up() == (200, True), "an answer within the limit")
