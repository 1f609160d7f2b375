"""Collector, driver and store killed at random moments: in the end every total is the truth."""

import json
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

import pytest
import sqlalchemy as sa
import yaml

from lab.lone_broker import LoneBroker
from streaming.store import migrate, schema
from streaming.store.engine import connect
from tests.chaos.account import Account
from tests.chaos.processes import Service, running
from tests.chaos.traffic import Traffic
from tests.postgres import Postgres

pytestmark = pytest.mark.chaos

Victims = Mapping[str, Callable[[], None]]
"""What may be killed, and the act that kills it and starts it again."""

WITHIN_S = 240
LIVES_AT_MOST_S = 12
COUNTED = {
    "task_timeouts",
    "delivery_timeout_batches",
    "delivery_timeout_records",
    "share_dead_letters_lost",
}


def write_config(traffic: Traffic, store_url: str) -> Path:
    directory = traffic.log.parent
    config = directory / "deadwatch.yaml"
    settings = {
        "kafka": {"bootstrap_servers": traffic.bootstrap_servers},
        "store_url": store_url,
        "collector": {
            "data": str(directory / "data"),
            "logs": [{"path": str(traffic.log)}],
            "poll_interval_ms": 20,
            "dlq_topics_poll_interval_ms": 0,
        },
        "streaming": {
            "checkpoint": str(directory / "checkpoint"),
            "driver_memory": "768m",
            "max_groups": 20_000,
        },
    }
    config.write_text(yaml.safe_dump(settings))
    return config


def totals(engine: sa.Engine) -> Counter[str]:
    """What the store says, by the names of the truth; nothing while it is away or empty."""
    found: Counter[str] = Counter()
    try:
        with engine.connect() as connection:
            for name, labels, value in connection.execute(
                sa.select(schema.series.c.name, schema.series.c.labels, schema.series.c.value)
            ):
                if name in COUNTED:
                    found[name] += value
                elif name == "dead_letters":
                    found[f"dead_letters {json.loads(labels)['dialect']}"] += value
            for task, logged in connection.execute(
                sa.select(schema.abandoned.c.task, schema.abandoned.c.logged_total)
            ):
                found["abandoned_tasks" if task else "abandoned_connectors"] += logged
    except sa.exc.OperationalError:
        return Counter()
    return found


def differences(engine: sa.Engine, truth: Counter[str]) -> dict[str, tuple[int, int]]:
    """Where the store and the truth differ: (stored, true)."""
    found = totals(engine)
    return {
        name: (found[name], truth[name]) for name in sorted({*found, *truth}) if found[name] != truth[name]
    }


def causes(engine: sa.Engine) -> tuple[int, int]:
    """How many groups of the dialects that name an error, and how many records are in all groups."""
    groups = schema.groups.c
    with engine.connect() as connection:
        named = sa.select(sa.func.count()).where(groups.dialect.in_(("connect", "streams", "spring")))
        records = sa.select(sa.func.sum(groups.records))
        return connection.execute(named).scalar_one(), int(connection.execute(records).scalar_one())


@pytest.fixture
def traffic(broker: LoneBroker, tmp_path: Path, kills: int) -> Traffic:
    return Traffic(broker.bootstrap_servers, tmp_path / "app.log", kills)


@pytest.fixture
def sqlite(tmp_path: Path) -> tuple[str, Victims]:
    """Its process is the driver's: killing that kills it."""
    return f"sqlite:///{tmp_path / 'deadwatch.db'}", {}


@pytest.fixture
def postgresql(postgres_server: Postgres, postgres: str) -> tuple[str, Victims]:
    def crash() -> None:
        postgres_server.stop(signal.SIGQUIT)
        postgres_server.start()

    engine = connect(postgres)
    migrate.upgrade(engine)
    engine.dispose()
    return postgres, {"store": crash}


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
