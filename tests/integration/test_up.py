"""``deadwatch up`` against the lab where much is away, and its supervisor is killed."""

from pathlib import Path

import pytest

from lab import Lab
from tests.integration.up_process import EXPIRED, left_by_nobody, running
from tests.kafka_topics import Headers, producing
from tests.waiting import until


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "streams.log"
    file.write_text("")
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


def append(log: Path, text: str) -> None:
    with log.open("a") as file:
        file.write(text)


@pytest.mark.chaos
def test_what_is_away_is_said_comes_in_later_and_nothing_outlives_a_supervisor_that_was_killed(
    lab: Lab, away: Path, log: Path, tmp_path: Path
) -> None:
    def is_up(source: str) -> int:
        return up.figure("deadwatch_source_up", source=source)

    def expired() -> int:
        return up.figure("deadwatch_delivery_timeout_records_total")

    later = tmp_path / "later.log"
    missing = (f"log:{later}@away", f"log:{tmp_path / 'loop.log'}@away", "connect:http://127.0.0.1:1")
    with running(away, tmp_path) as up:
        until(lambda: is_up(f"log:{log}@away") == 1, "the readable log did not come up")
        assert [is_up(source) for source in missing] == [0, 0, 0]

        with lab.broker_stopped():
            append(log, EXPIRED.format(second=1))
            until(lambda: is_up("kafka") == 0, "nobody said that Kafka is away")
        until(lambda: expired() == 3 and is_up("kafka") == 1, "what was held back did not come in")

        append(later, EXPIRED.format(second=2))
        until(lambda: expired() == 6 and is_up(f"log:{later}@away") == 1, "the late log did not come in")

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
