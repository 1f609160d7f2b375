"""PostgreSQL goes and comes back while batches are merged: each is merged once, the api says so."""

import logging
import signal
import threading
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from api.settings import ApiSettings
from deadwatch.store.batch import Batch, delta
from deadwatch.store.series import TASK_TIMEOUTS
from deadwatch.store.write.lease import this_process
from streaming.settings import StreamingSettings
from streaming.store import RetryingStore
from tests.operators import operator
from tests.postgres import Postgres
from tests.waiting import eventually

BATCHES = 300
EMPTY = Batch(query_id="q", batch_id=0, committed_at_ms=1_000, offsets={}, marks={})
LABELS = {"kafka_cluster": "c", "application": "app"}


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["stopped", "crashed"])
def test_batches_wait_for_the_server_and_are_merged_once(
    postgres_server: Postgres, how: signal.Signals, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.INFO)
    url = postgres_server.database()
    stop = threading.Event()
    settings = StreamingSettings(store_url=url, retry_backoff_ms=10, retry_backoff_max_ms=100)
    done: list[int] = []

    def merge(store: RetryingStore) -> None:
        for number in range(BATCHES):
            one = delta(TASK_TIMEOUTS, LABELS, 1, first_ms=1_000, last_ms=1_000)
            begins = {("t", 0): number} if number else {}
            store.apply(replace(EMPTY, series=(one,), begins=begins, offsets={("t", 0): number + 1}))
            done.append(number)

    with RetryingStore(settings, stop, Random(1)) as store:
        assert store.hold(this_process(), ttl_ms=60_000, stop=stop, now_ms=lambda: 1)
        merging = threading.Thread(target=merge, args=(store,))
        merging.start()
        try:
            assert eventually(lambda: len(done) > BATCHES // 10)
            with postgres_server.away(how):
                assert eventually(lambda: "the query waits for it" in caplog.text)
                before = len(done)
                assert before < BATCHES
                assert_not_ready(url, postgres_server.password)
        finally:
            merging.join(60)
        assert done == list(range(BATCHES))
        assert store.offsets() == {("t", 0): BATCHES}
    with operator(ApiSettings(store_url=url), tmp_path) as client:
        answer = client.get("/metrics").text
    assert f'deadwatch_task_timeouts_total{{application="app",kafka_cluster="c",task=""}} {BATCHES}' in answer
    assert postgres_server.password not in caplog.text


def assert_not_ready(url: str, password: str) -> None:
    with TestClient(create_app(ApiSettings(store_url=url))) as api:
        answer = api.get("/readyz")
    (missing,) = answer.json()["missing"]
    assert answer.status_code == 503
    assert missing.startswith("the store does not work: ")
    assert password not in answer.text


def test_an_address_without_a_password_reads_it_where_libpq_does(
    postgres_server: Postgres, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = postgres_server.database()
    secret = tmp_path / "pgpass"
    secret.write_text(f"127.0.0.1:*:*:*:{postgres_server.password}\n")
    secret.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(secret))
    settings = StreamingSettings(store_url=url.replace(f":{postgres_server.password}@", "@"))
    with RetryingStore(settings, threading.Event(), Random(1)) as store:
        assert store.apply(EMPTY)
