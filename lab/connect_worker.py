"""How a Connect worker of the lab is set up."""

from typing import Final

from lab.jvm import Properties
from lab.ports import Ports

FLUSH_INTERVAL_MS: Final = 1_000
"""How often sinks commit."""


def worker_properties(ports: Ports, group: str) -> Properties:
    """The settings of a worker of the cluster ``group``, which names its topics too."""
    return {
        "bootstrap.servers": f"127.0.0.1:{ports.broker}",
        "group.id": group,
        "listeners": f"http://127.0.0.1:{ports.connect}",
        "plugin.discovery": "service_load",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        **{f"{topic}.storage.topic": f"{group}-{topic}" for topic in ("config", "offset", "status")},
        **{f"{topic}.storage.replication.factor": 1 for topic in ("config", "offset", "status")},
        "offset.flush.interval.ms": FLUSH_INTERVAL_MS,
        "offset.storage.partitions": 1,
        "status.storage.partitions": 1,
        "session.timeout.ms": 60_000,
        "rebalance.timeout.ms": 90_000,
    }
