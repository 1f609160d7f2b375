"""A service that counts the traffic, and where its counts differ from the truth."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import sqlalchemy as sa
import yaml

from deadwatch.store import schema
from tests.chaos.traffic import Traffic

COUNTED = {"task_timeouts", "delivery_timeout_batches", "delivery_timeout_records", "share_dead_letters_lost"}


def write_config(traffic: Traffic, store_url: str, **sections: Mapping[str, object]) -> Path:
    """The file of a service that counts the traffic; ``sections`` are those of its other processes."""
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
            "driver_memory": "1500m",
            "max_groups": 20_000,
        },
        **sections,
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
