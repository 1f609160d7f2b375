"""A backfill of a real topic: the totals are the truth, before the stream goes on and after."""

import re
import uuid
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from lab import Lab
from lab.lone_broker import LoneBroker
from tests.integration.test_streaming import (
    WITHIN_S,
    Streaming,
    Traffic,
    dead_letters_of,
    eventually,
    settled,
)

pytestmark = pytest.mark.integration

COMMAND = re.compile(r"`deadwatch backfill --from (\S+)`")


@pytest.fixture
def traffic(lab: Lab) -> Traffic:
    return Traffic(lab.bootstrap_servers, f"backfill-{uuid.uuid4().hex[:8]}")


@pytest.fixture
def streaming(request: pytest.FixtureRequest, lab: Lab, traffic: Traffic, tmp_path: Path) -> Streaming:
    """On SQLite unless asked otherwise: that both stores are replaced alike, ``tests/contract`` sees."""
    url = request.getfixturevalue("postgres") if getattr(request, "param", "") == "postgresql" else ""
    return Streaming(lab.bootstrap_servers, traffic, tmp_path, url)


def told(streaming: Streaming, traffic: Traffic) -> object:
    return streaming.totals(), dict(traffic.truth), streaming.log()[-4_000:]


def count(streaming: Streaming, traffic: Traffic) -> None:
    """Let the stream come to the truth, and end it."""
    with streaming.running():
        assert settled(streaming, traffic), told(streaming, traffic)


def spoil(streaming: Streaming) -> None:
    """Make every count wrong."""
    streaming.execute("UPDATE series SET value = value + 7")
    streaming.execute("DELETE FROM dead_letter_groups")
    streaming.execute("DELETE FROM marks")


def damage(checkpoint: Path) -> None:
    """As a disk that lost its last blocks."""
    newest = max(
        (file for file in (checkpoint / "commits").iterdir() if file.name.isdecimal()), key=by_number
    )
    newest.write_bytes(b"")


def by_number(file: Path) -> int:
    return int(file.name)


@pytest.mark.parametrize("streaming", ["sqlite", "postgresql"], indirect=True)
def test_a_damaged_checkpoint_is_refused_and_the_way_out_is_exact(
    streaming: Streaming, traffic: Traffic
) -> None:
    traffic.write()
    count(streaming, traffic)
    traffic.write()
    damage(streaming.checkpoint)
    with streaming.running() as refused:
        assert refused.wait(WITHIN_S) == 2
    found = COMMAND.search(streaming.log())
    assert found, streaming.log()
    assert streaming.backfill("--from", found[1]) == 0, streaming.log()
    assert streaming.totals() == dict(traffic.truth), told(streaming, traffic)
    traffic.write()
    count(streaming, traffic)
    assert "Traceback" not in streaming.log()


def test_wrong_counts_are_counted_anew_and_nothing_is_refused_twice(
    lab: Lab, streaming: Streaming, traffic: Traffic
) -> None:
    traffic.write_corrupt()
    traffic.write()
    count(streaming, traffic)
    spoil(streaming)
    wrong = streaming.totals()
    with streaming.running("streaming.backfill", "--from", "beginning"):  # killed midway
        assert eventually(lambda: " offsets (streaming.backfill)" in streaming.log()), streaming.log()
    assert streaming.totals() == wrong
    assert streaming.backfill("--from", "beginning") == 0, streaming.log()
    assert streaming.totals() == dict(traffic.truth), told(streaming, traffic)
    traffic.write()
    count(streaming, traffic)
    assert dead_letters_of(lab, traffic.quarantine_topic) == [(b"{corrupt", b"deadwatch")]


def test_the_stream_may_run_meanwhile_and_begins_anew(streaming: Streaming, traffic: Traffic) -> None:
    traffic.write()
    with streaming.running() as live:
        assert settled(streaming, traffic), told(streaming, traffic)
        spoil(streaming)
        traffic.write()
        assert streaming.backfill("--from", "beginning") == 0, streaming.log()
        traffic.write()
        assert live.wait(WITHIN_S) == 75, streaming.log()
    count(streaming, traffic)


def test_a_checkpoint_from_before_is_not_trusted_with_what_was_counted_on_top(
    streaming: Streaming, traffic: Traffic
) -> None:
    traffic.write()
    count(streaming, traffic)
    traffic.write()
    assert streaming.backfill("--from", "2100-01-01T00:00:00Z") == 0, streaming.log()
    assert streaming.totals() == dict(traffic.truth), told(streaming, traffic)
    traffic.write(1)
    count(streaming, traffic)


def test_what_kafka_has_no_more_is_only_forgotten_when_somebody_says_so(
    lab: Lab, streaming: Streaming, traffic: Traffic
) -> None:
    traffic.write()
    count(streaming, traffic)
    admin = AdminClient({"bootstrap.servers": lab.bootstrap_servers})
    gone = [TopicPartition(traffic.dlq_topic, partition, -1) for partition in range(2)]  # all of it
    for deleted in admin.delete_records(gone).values():
        deleted.result()
    assert streaming.backfill("--from", "beginning") == 1
    assert "will be forgotten" in streaming.log()
    assert streaming.totals() == dict(traffic.truth), told(streaming, traffic)
    assert streaming.backfill("--from", "beginning", "--yes") == 0, streaming.log()
    assert streaming.totals() == {"task_timeouts": traffic.truth["task_timeouts"]}
    assert streaming.missed()["forgotten_by_backfill"] >= traffic.truth["connect"]
    for dialect in ("connect", "share_group"):
        del traffic.truth[dialect]
    traffic.write()
    count(streaming, traffic)


def test_kafka_may_go_away_meanwhile(tmp_path: Path) -> None:
    with LoneBroker() as broker:
        traffic = Traffic(broker.bootstrap_servers, "away")
        streaming = Streaming(broker.bootstrap_servers, traffic, tmp_path)
        traffic.write(20)
        with streaming.running("streaming.backfill", "--from", "beginning") as process:
            assert eventually(lambda: " offsets (streaming.backfill)" in streaming.log()), streaming.log()
            broker.kill()
            assert eventually(lambda: "the backfill waits for it" in streaming.log()), streaming.log()
            broker.start_again()
            assert process.wait(WITHIN_S) == 0, streaming.log()
        assert streaming.totals() == dict(traffic.truth), told(streaming, traffic)
