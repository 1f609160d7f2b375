"""A broker of the lab alone, without Connect and Streams, and how fast stock Java reads a topic of it."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

import jars
from lab.broker import Broker
from lab.jvm import launcher
from lab.ports import Ports
from lab.processes import Processes

READ_WITHIN_S = 300


@contextmanager
def broker() -> Iterator[str]:
    """The bootstrap server of a fresh broker that ends with the context."""
    directory = Path(tempfile.mkdtemp(prefix="deadwatch-bench-"))
    processes = Processes(remove=directory)
    try:
        java = jars.find_java().path
        started = Broker(
            java, directory / "broker", directory / "broker.log", Ports.choose(), with_sasl=False
        )
        started.launch(processes)
        started.wait()
        yield started.bootstrap_servers
    finally:
        processes.close()


def create_topic(servers: str, topic: str, partitions: int) -> None:
    """Make the topic and wait until it is there."""
    admin = AdminClient({"bootstrap.servers": servers})
    for created in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
        created.result()


def consumer_performance(servers: str, topic: str, records: int) -> float:
    """Records per second that ``ConsumerPerformance`` says it fetched: bytes, nobody looks at them."""
    command = [
        *launcher(jars.find_java().path, "apps", 512),
        "org.apache.kafka.tools.ConsumerPerformance",
        *("--bootstrap-server", servers, "--topic", topic, "--num-records", str(records)),
        "--hide-header",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=READ_WITHIN_S, check=True)
    return float(done.stdout.strip().splitlines()[-1].split(",")[-1])
