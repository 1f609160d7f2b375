"""An order about a topic's dead letters, and workers as processes: each believes that it is its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from deadwatch.orders.order import Order, OrderRequest
from lab.topics import Topics
from tests.kafka_topics import connect_headers, producing
from tests.paths import ROOT

WORKER = ROOT / "tests" / "integration" / "redrive_worker.py"


def fill(servers: str, topic: str, records: int, width: int, **request: object) -> Order:
    """Dead letters of every partition of the topic, which is made, and the order to move them back."""
    dlq = f"dlq.{topic}"
    Topics(servers).create(topic, dlq, partitions=width)
    with producing(servers, queue_buffering_max_messages=1_000_000) as producer:
        for number in range(records):
            at = number % width
            headers = connect_headers(topic, at, number // width)
            producer.produce(dlq, b"%d" % number, b"key-%d" % (number % 600), at, headers=headers)
            producer.poll(0)
    all_of_it = {"dlq_topic": dlq, "selection": {"all": True}, "dry_run": False, "reason": "chaos"}
    return Order(
        id=f"{Random(topic).getrandbits(64):x}",
        request=OrderRequest.model_validate({**all_of_it, "retry": {"retry_backoff_ms": 0}, **request}),
        requested_by="test",
        created_at_ms=0,
        begin=dict.fromkeys(range(width), 0),
        cut_off={at: len(range(at, records, width)) for at in range(width)},
    )


@dataclass
class Workers:
    """``settings`` are variables of the environment, as ``REDRIVE_REQUEST_TIMEOUT_MS``."""

    bootstrap_servers: str
    order: Order
    file: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    epoch: int = 0

    def __post_init__(self) -> None:
        self.file.write_text(self.order.model_dump_json(by_alias=True))

    def start(self) -> subprocess.Popen[str]:
        """The next one; Kafka fences those before it."""
        self.epoch += 1
        environment = {
            **os.environ,
            "REDRIVE_KAFKA__BOOTSTRAP_SERVERS": self.bootstrap_servers,
            "PYTHONPATH": str(ROOT),
            **self.settings,
        }
        command = [sys.executable, str(WORKER), str(self.file), str(self.epoch)]
        return subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )


def end(process: "subprocess.Popen[str]") -> None:
    """Kill it, frozen or not, and wait for its end."""
    process.send_signal(signal.SIGCONT)
    process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
