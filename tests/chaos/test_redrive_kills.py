"""Workers of a redrive are killed at any moment: every record arrives once, in its partition's order.

``DEADWATCH_CHAOS`` is how often; from 30 on it is the full size. The broker is killed and started again, too.
"""

import os
import subprocess
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from lab.broker import LoneBroker
from tests.chaos.account import Account
from tests.chaos.checker import Kind, anomalies, table
from tests.chaos.histories import end_of, history
from tests.chaos.redrive_workers import Workers, fill

pytestmark = pytest.mark.chaos

KILLS = int(os.environ.get("DEADWATCH_CHAOS", "3"))
FULL = KILLS >= 30
RECORDS = int(os.environ.get("DEADWATCH_CHAOS_RECORDS", "200000" if FULL else "4800"))
RESTARTS = 2 if FULL else 1
SLOWLY = 1_500 if FULL else 400
WIDTH = 12
WITHIN_S = 1_800 if FULL else 120
LIMITS = {"max_in_flight": 1_000 if FULL else 40}
DELIVERY_MS = 31_000
"""Little more than the least: so long may a client wait in vain for a killed broker."""
PAUSE = threading.Event()


def written(broker: LoneBroker, topic: str) -> int:
    """How far the target reaches, committed or not."""
    return end_of(broker.bootstrap_servers, topic, "read_uncommitted")


def run_until_killed(broker: LoneBroker, workers: Workers, account: Account, *, overlap: bool) -> None:
    """Kill one worker after the other by chance; with ``overlap`` the next one comes before the kill."""
    topic, rng, process = "orders", Random(7), workers.start()
    restarts = set(rng.sample(range(1, KILLS), RESTARTS))
    while account.kills < KILLS and written(broker, topic) < RECORDS:
        goal = written(broker, topic) + rng.randint(1, RECORDS // KILLS // 3)
        while process.poll() is None and written(broker, topic) < goal:
            PAUSE.wait(rng.random() / 20)
        successor = workers.start() if overlap else None
        if successor is not None:
            PAUSE.wait(rng.random() * 2)
        process.kill()
        process.communicate()
        account.kills += 1
        if account.kills in restarts:
            broker.kill()
            account.broker_kills += 1
            broker.start_again()
        process = successor or workers.start()
    process.communicate(timeout=WITHIN_S)


def work_to_the_end(workers: Workers) -> None:
    """Undisturbed."""
    deadline_s = time.monotonic() + WITHIN_S
    answers = [""]
    while not answers[-1].startswith("COMPLETED"):
        assert time.monotonic() < deadline_s, answers
        with suppress(subprocess.TimeoutExpired):
            answers.append(workers.start().communicate(timeout=WITHIN_S)[0])


@pytest.mark.parametrize("overlap", [False, True], ids=["one after the other", "two compete"])
def test_every_record_arrives_exactly_once_whenever_workers_are_killed(
    broker: LoneBroker, tmp_path: Path, account: Account, overlap: bool
) -> None:
    limits = {"records_per_second": SLOWLY if overlap else None}  # so that two are there at every kill
    servers = broker.bootstrap_servers
    order = fill(servers, "orders", RECORDS, WIDTH, limits=LIMITS | limits, delivery_timeout_ms=DELIVERY_MS)
    workers = Workers(servers, order, tmp_path / "order.json")
    run_until_killed(broker, workers, account, overlap=overlap)
    assert (account.kills, account.broker_kills) == (KILLS, RESTARTS)
    work_to_the_end(workers)
    found = table(anomalies(history(servers, order.id, "dlq.orders", "orders", [])))
    account.written, account.lost, account.twice = RECORDS, found[Kind.LOST], found[Kind.DUPLICATED]
    assert found == Counter()
