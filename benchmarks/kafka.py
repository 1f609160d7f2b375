"""Topics of a broker, and how fast stock Java reads one."""

import subprocess
from typing import NamedTuple

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

import jars
from lab.jvm import launcher

READ_WITHIN_S = 300


class Read(NamedTuple):
    """Records per second: of the whole run, joining the group included, and of its fetches alone."""

    whole: float
    fetches: float


def create_topic(servers: str, topic: str, partitions: int) -> None:
    """Make the topic and wait until it is there."""
    admin = AdminClient({"bootstrap.servers": servers})
    for created in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
        created.result()


def consumer_performance(servers: str, topic: str, records: int) -> Read:
    """What ``ConsumerPerformance`` says (``nMsg.sec``, ``fetch.nMsg.sec``): bytes, nobody looks at them."""
    command = [
        *launcher(jars.find_java().path, "apps", 512),
        "org.apache.kafka.tools.ConsumerPerformance",
        *("--bootstrap-server", servers, "--topic", topic, "--num-records", str(records)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=READ_WITHIN_S, check=True)
    names, values = (line.split(",") for line in done.stdout.strip().splitlines()[-2:])
    told = {name.strip(): value for name, value in zip(names, values, strict=True)}
    return Read(float(told["nMsg.sec"]), float(told["fetch.nMsg.sec"]))
