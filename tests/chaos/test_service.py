"""Collector, driver and store killed at random moments: in the end every total is the truth."""

import time
from random import Random

import pytest

from streaming.store.engine import connect
from tests.chaos.account import Account
from tests.chaos.counted import causes, differences, write_config
from tests.chaos.processes import Service, running
from tests.chaos.traffic import Traffic

pytestmark = pytest.mark.chaos

WITHIN_S = 240
LIVES_AT_MOST_S = 12


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_kills_change_no_total(
    request: pytest.FixtureRequest, store: str, traffic: Traffic, kills: int, account: Account
) -> None:
    rng = Random(kills)
    store_url, stores = request.getfixturevalue(store)
    engine = connect(store_url)
    config = write_config(traffic, store_url)
    services = [
        Service(name, config, traffic.log.with_name(f"{name}.log")) for name in ("collector", "streaming")
    ]
    traffic.start()
    with running(*services) as processes:
        victims = {**processes, **stores}
        for number in range(kills):
            time.sleep(rng.uniform(0.5, LIVES_AT_MOST_S))  # the random moment at which one dies
            victims[sorted(victims)[number % len(victims)]]()
            account.kills += 1
        traffic.stop()
        deadline = time.monotonic() + WITHIN_S
        while differences(engine, traffic.truth) and time.monotonic() < deadline:
            time.sleep(0.5)
        found = differences(engine, traffic.truth)
        assert not found, (found, [service.tail() for service in services])
    account.written = sum(traffic.truth.values())
    letters = sum(count for name, count in traffic.truth.items() if name.startswith("dead_letters"))
    assert causes(engine) == (len(traffic.causes), letters)
    engine.dispose()
