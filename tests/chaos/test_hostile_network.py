"""An order on a hostile network and under SIGKILL and SIGSTOP: no anomaly, whatever happens, from any seed.

``DEADWATCH_CHAOS_SEEDS`` is how many seeds are played of each fault and of all faults together;
``DEADWATCH_CHAOS_FIRST_SEED`` is the first one, so that a seed is played again by its number.
"""

import os
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

import pytest

from lab.broker import LoneBroker
from lab.proxy import Proxy
from tests.chaos.account import Account
from tests.chaos.checker import Kind, anomalies, table
from tests.chaos.histories import end_of, history, watched
from tests.chaos.hostile import FAULTS, REQUEST_TIMEOUT_MS, Act, Scene
from tests.chaos.redrive_workers import Workers, fill
from tests.waiting import until

pytestmark = pytest.mark.chaos

FIRST_SEED = int(os.environ.get("DEADWATCH_CHAOS_FIRST_SEED", "4"))
SEEDS = range(FIRST_SEED, FIRST_SEED + int(os.environ.get("DEADWATCH_CHAOS_SEEDS", "1")))
ALL_TOGETHER = "all together"
RECORDS, WIDTH = 600, 3
SLOWLY = {"records_per_second": 300, "max_in_flight": 30}
DELIVERY_MS = 20_000
ENDS_WITHIN_S = 180
SETTINGS = {"REDRIVE_REQUEST_TIMEOUT_MS": str(REQUEST_TIMEOUT_MS)}


@pytest.fixture(scope="module")
def kafka() -> Iterator[tuple[LoneBroker, Proxy]]:
    with LoneBroker() as broker, broker.proxy as proxy:
        yield broker, proxy


def drawn(fault: str, rng: Random) -> list[Act]:
    """What happens, one after the other."""
    if fault != ALL_TOGETHER:
        return [FAULTS[fault](rng)]
    return [FAULTS[name](rng) for name in rng.choices(sorted(FAULTS), k=rng.randint(2, 4))]


def play(scene: Scene, acts: list[Act], servers: str, topic: str, rng: Random) -> list[float]:
    """Let the acts happen while records move; how many seconds after each the next ones were committed."""

    def moved(goal: float) -> bool:
        return end_of(servers, topic) >= goal or not scene.works()

    recovered_s = []
    for number, act in enumerate(acts, 1):
        goal = rng.uniform(number - 0.8, number) * RECORDS / (len(acts) + 1)
        until(partial(moved, goal), "records to move")
        if scene.works() and act(scene):
            until(partial(moved, 1), "an answer of the broker")
            over_s, end = time.monotonic(), end_of(servers, topic)
            until(partial(moved, end + 1), "records to move again")
            recovered_s.append(time.monotonic() - over_s)
    return recovered_s


def complete(scene: Scene) -> None:
    """Work until a worker says that the order is complete."""

    def is_complete() -> bool:
        if scene.works():
            return False
        said = scene.worker.communicate()[0]
        if said.startswith("COMPLETED"):
            return True
        scene.replace_worker()
        return False

    until(is_complete, "the end of the order", ENDS_WITHIN_S)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fault", [*FAULTS, ALL_TOGETHER])
def test_an_order_has_no_anomaly(
    kafka: tuple[LoneBroker, Proxy], tmp_path: Path, account: Account, fault: str, seed: int
) -> None:
    broker, proxy = kafka
    servers, topic, rng = (
        broker.bootstrap_servers,
        f"{fault.replace(' ', '-')}.{seed}",
        Random(f"{fault} {seed}"),
    )
    order = fill(servers, topic, RECORDS, WIDTH, limits=SLOWLY, delivery_timeout_ms=DELIVERY_MS)
    workers = Workers(proxy.address, order, tmp_path / "order.json", SETTINGS)
    scene = Scene(broker, proxy, workers, workers.start())
    try:
        with watched(servers, topic) as seen:
            recovered_s = play(scene, drawn(fault, rng), servers, topic, rng)
            complete(scene)
    finally:
        scene.close()
    found = table(anomalies(history(servers, order.id, f"dlq.{topic}", topic, seen)))
    account.written, account.lost, account.twice = RECORDS, found[Kind.LOST], found[Kind.DUPLICATED]
    account.done.update({f"moved again after {took_s:.1f} s": 1 for took_s in recovered_s})
    assert found == Counter()
