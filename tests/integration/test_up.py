"""``deadwatch up`` against the lab: through its encrypted listener, one process killed, much of it away."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from deadwatch.runtime.process import OTHERS
from lab import Lab, share
from lab.connect import FILESINK_DLQ
from tests import families, http, metrics
from tests.kafka_topics import Headers, producing
from tests.store_guard.processes import guarded
from tests.waiting import until

pytestmark = pytest.mark.integration

WITHIN_S = 120
STOPS_WITHIN_S = 40
EXPIRED = (
    "[2026-11-21 10:00:0{second},000] ERROR stream-thread [words-StreamThread-1] Error encountered sending "
    "record to topic words for task 0_0 due to:\n"
    "org.apache.kafka.common.errors.TimeoutException: Expiring 3 record(s) for words-0:3001 ms has passed "
    "since batch creation. The request has not been sent, or no server response has been received yet.\n"
)


STREAMS = "words-7f99e2d8-5383-481a-8dd1-773528d54f71"


def stalled(at: datetime) -> str:
    """Three tasks that did not get their commit through; the state of one of them is lost by it."""
    thread = f"[{at:%Y-%m-%d %H:%M:%S},000] ERROR stream-thread [{STREAMS}-StreamThread-1]"
    return (
        f"{thread} Committing task(s) 0_0, 0_1, 0_2 failed. (o.T:214)\n"
        f"{thread} Detected the states of tasks [0_2] are corrupted. Will close the task as dirty and"
        " re-create and bootstrap from scratch. (o.S:1)\n"
    )


def died(at: datetime) -> str:
    """The decision of the exception handler."""
    return (
        f"[{at:%Y-%m-%d %H:%M:%S},000] ERROR stream-client [{STREAMS}] Encountered the following exception"
        " during processing and the registered exception handler opted to SHUTDOWN_CLIENT. The streams client"
        " is going to shut down now. (o.K:1)\n"
    )


@dataclass(frozen=True)
class Up:
    """A running service."""

    process: "subprocess.Popen[bytes]"
    url: str
    errors: Path

    def figure(self, name: str, **labels: str) -> int:
        return metrics.figure(self.url, name, **labels)

    def dead_letters(self, topic: str) -> int:
        return self.figure("deadwatch_dead_letter_queue_records_total", dlq_topic=topic)

    @property
    def token_file(self) -> Path:
        return self.errors.with_name("data") / "token"

    def child(self, name: str) -> psutil.Process:
        children = psutil.Process(self.process.pid).children()
        return next(child for child in children if name in child.cmdline())


def timers(up: Up) -> int:
    return up.figure("deadwatch_task_timers", kafka_cluster="sasl", application="words")


def corrupted(up: Up) -> int:
    return up.figure("deadwatch_tasks_corrupted_total", application="words", task="0_2")


def deaths(up: Up) -> int:
    return up.figure("deadwatch_stream_thread_deaths_total", decision="SHUTDOWN_CLIENT")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "streams.log"
    file.write_text("")
    return file


@pytest.fixture
def config(lab: Lab, log: Path, tmp_path: Path) -> Path:
    file = tmp_path / "deadwatch.yaml"
    file.write_text(f"""
kafka:
  bootstrap_servers: {lab.sasl_ssl.bootstrap_servers}
  security_protocol: SASL_SSL
  sasl_mechanism: {lab.sasl_ssl.mechanism}
  sasl_username: {lab.sasl_ssl.username}
  sasl_password: {lab.sasl_ssl.password}
  ssl_ca_location: {lab.sasl_ssl.ca_file}
kafka_cluster: sasl
events_topic: deadwatch.events.up
dlq_topics: ['{re.escape(share.DLQ)}', '{re.escape(FILESINK_DLQ)}']
collector:
  name: up
  logs:
    - path: {log}
""")
    return file


@pytest.fixture
def away(lab: Lab, log: Path, tmp_path: Path) -> Path:
    """Settings with a Connect that is not there, a log that does not exist and one nobody can read."""
    (tmp_path / "loop.log").symlink_to("loop.log")
    file = tmp_path / "away.yaml"
    file.write_text(f"""
kafka:
  bootstrap_servers: {lab.bootstrap_servers}
events_topic: deadwatch.events.away
collector:
  name: away
  heartbeat_interval_ms: 1000
  logs:
    - path: {log}
    - path: {tmp_path / "later.log"}
    - path: {tmp_path / "loop.log"}
  connect:
    - url: http://127.0.0.1:1
dlq_topics: ["dlq.away"]
""")
    return file


@contextmanager
def running(config: Path, directory: Path) -> Iterator[Up]:
    """Start the service and wait for its address; end it whatever happens."""
    output, errors = directory / "up.out", directory / "up.err"
    command = [sys.executable, "-m", "cli", "up", "--config", str(config)]
    with guarded(directory) as environment:
        with output.open("wb") as out, errors.open("wb") as err:
            process = subprocess.Popen(
                [*command, "--data", str(directory / "data"), "--port", "0"],
                stdout=out,
                stderr=err,
                env=environment,
            )
        try:
            until(lambda: process.poll() is not None or "is up" in output.read_text(), "it did not come up")
            found = re.search(r"Deadwatch is up: (\S+)/docs", output.read_text())
            assert found, errors.read_text()
            yield Up(process, found.group(1), errors)
        finally:
            families.kill(process)


def runs(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def append(log: Path, text: str) -> None:
    with log.open("a") as file:
        file.write(text)


@contextmanager
def left_by_nobody(up: Up) -> Iterator[None]:
    """Inside, the service ends; nothing that it has started runs on."""
    descendants = psutil.Process(up.process.pid).children(recursive=True)
    yield
    until(lambda: not any(map(runs, descendants)), "a process was left behind")


def test_figures_stay_exact_over_sasl_ssl_when_streaming_is_killed_and_a_stop_leaves_nothing(
    lab: Lab, config: Path, log: Path, tmp_path: Path
) -> None:
    with running(config, tmp_path) as up:

        def figures() -> tuple[int, int, int]:
            """Dead letters of the share group and of the connector, records that expired."""
            return (
                up.dead_letters(share.DLQ),
                up.dead_letters(FILESINK_DLQ),
                up.figure("deadwatch_delivery_timeout_records_total"),
            )

        def arrive(expired: int) -> None:
            expected = (lab.truth.share_dead_letters, lab.truth.connect_dead_letters, expired)
            until(
                lambda: figures() == expected,
                lambda: f"{figures()} are not {expected}:\n{up.errors.read_text()[-3000:]}",
            )

        lab.reject_share_records(5)
        lab.break_connect_records(5)
        append(log, EXPIRED.format(second=1) + "[2026-11-21 10:00:01,500] INFO next (a.b.C:1)\n")
        arrive(expired=3)
        append(log, stalled(datetime.now(UTC)))
        until(lambda: (timers(up), corrupted(up)) == (2, 1), "no timers ran")
        (told, _) = http.get(f"{up.url}/api/v1/tasks").json()["timers"]
        assert (told["application"], told["call"]) == ("words", "commit")

        killed = up.child("streaming")
        killed.send_signal(signal.SIGKILL)
        lab.reject_share_records(5)
        append(log, EXPIRED.format(second=2) + "[2026-11-21 10:00:02,500] INFO next (a.b.C:1)\n")
        arrive(expired=6)
        assert timers(up) == 2
        append(log, died(datetime.now(UTC)))
        until(lambda: (timers(up), deaths(up)) == (0, 1), "the timers of a dead client did not end")

        lab.break_connect_records(1)
        append(log, EXPIRED.format(second=3) + "[2026-11-21 10:00:03,500] INFO next (a.b.C:1)\n")
        arrive(expired=9)

        assert re.search(
            r"streaming ended with exit code -9 \(killed by signal 9\), restarting in \d+ ms \(failure 1\)",
            up.errors.read_text(),
        )
        data = tmp_path / "data"
        for one in (data, data / "deadwatch.db", *data.glob("deadwatch.db-*"), data / "lock"):
            assert one.stat().st_mode & OTHERS == 0, one
        with left_by_nobody(up):
            up.process.terminate()
            assert up.process.wait(STOPS_WITHIN_S) == 0
        assert "Graceful stop" not in up.errors.read_text()
        assert lab.sasl_ssl.password not in up.errors.read_text()


@pytest.mark.chaos
def test_what_is_away_is_said_comes_in_later_and_nothing_outlives_a_supervisor_that_was_killed(
    lab: Lab, away: Path, log: Path, tmp_path: Path
) -> None:
    def is_up(source: str) -> int:
        return up.figure("deadwatch_source_up", source=source)

    def expired() -> int:
        return up.figure("deadwatch_delivery_timeout_records_total")

    later = tmp_path / "later.log"
    missing = (f"log:{later}", f"log:{tmp_path / 'loop.log'}", "connect:http://127.0.0.1:1")
    with running(away, tmp_path) as up:
        until(lambda: is_up(f"log:{log}") == 1, "the readable log did not come up")
        assert [is_up(source) for source in missing] == [0, 0, 0]

        with lab.broker_stopped():
            append(log, EXPIRED.format(second=1))
            until(lambda: is_up("kafka") == 0, "nobody said that Kafka is away")
        until(lambda: expired() == 3 and is_up("kafka") == 1, "what was held back did not come in")

        append(later, EXPIRED.format(second=2))
        until(lambda: expired() == 6 and is_up(f"log:{later}") == 1, "the late log did not come in")

        produce(lab, "deadwatch.events.away", b"no JSON", [])
        produce(lab, "dlq.away", b"x", [("__connect.errors.partition", b"many")])
        until(lambda: up.dead_letters("dlq.away") == 1, "a dead letter was lost for its headers")
        until(lambda: up.figure("deadwatch_quarantined_total") == 2, "not everything odd was counted")

        down = [line for line in up.errors.read_text().splitlines() if "Down: " in line]
        assert [sum(source in line for line in down) for source in missing] == [1, 1, 1]
        assert expired() == 6
        with left_by_nobody(up):
            up.process.kill()


def produce(lab: Lab, topic: str, value: bytes, headers: Headers) -> None:
    with producing(lab.bootstrap_servers) as producer:
        producer.produce(topic, value, headers=headers)
