"""A backfill of a real topic: the totals are the truth, before the stream goes on and after."""

from pathlib import Path

import pytest

from lab import Lab
from lab.broker import LoneBroker
from tests.integration.streaming_process import (
    WITHIN_S,
    Streaming,
    Traffic,
    dead_letters_of,
    eventually,
    settle,
    spoil,
)
from tests.kafka_topics import truncate


def begun(streaming: Streaming) -> bool:
    return eventually(lambda: " offsets (streaming.backfill)" in streaming.log())


@pytest.mark.chaos
def test_a_backfill_beside_a_stream_and_alone(
    lab: Lab, traffic: Traffic, postgres: str, tmp_path: Path
) -> None:
    streaming = Streaming(lab.bootstrap_servers, traffic, tmp_path, postgres)
    traffic.write_corrupt()
    traffic.write()
    wrong_counts_are_counted_anew_beside_a_stream_that_ends(streaming, traffic)
    what_kafka_has_no_more_is_forgotten_when_somebody_says_so(lab, streaming, traffic)
    traffic.write()
    assert streaming.backfill("--from", "2100-01-01T00:00:00Z") == 0, streaming.log()
    assert streaming.totals() == dict(traffic.truth), streaming.log()  # what was not read is added
    traffic.write(1)
    with streaming.running():  # goes on behind it
        settle(streaming, traffic)
    refused = dead_letters_of(lab.bootstrap_servers, traffic.quarantine_topic)
    assert refused == [(b"{corrupt", b"deadwatch")]  # once, however often it was read


def wrong_counts_are_counted_anew_beside_a_stream_that_ends(streaming: Streaming, traffic: Traffic) -> None:
    with streaming.running() as live:
        settle(streaming, traffic)
        spoil(streaming)
        wrong = streaming.totals()
        with streaming.running("streaming.backfill", "--from", "beginning"):  # killed midway
            assert begun(streaming), streaming.log()
        assert streaming.totals() == wrong
        assert live.poll() is None
        traffic.write()
        assert streaming.backfill("--from", "beginning") == 0, streaming.log()
        traffic.write(1)
        assert live.wait(WITHIN_S) == 75, streaming.log()


def what_kafka_has_no_more_is_forgotten_when_somebody_says_so(
    lab: Lab, streaming: Streaming, traffic: Traffic
) -> None:
    truncate(lab.bootstrap_servers, traffic.dlq_topic, -1, -1)
    before = streaming.totals()
    assert streaming.backfill("--from", "beginning") == 1
    assert "will be forgotten" in streaming.log()
    assert streaming.totals() == before
    assert streaming.backfill("--from", "beginning", "--yes") == 0, streaming.log()
    counted = ("task_timeouts", "quarantined")
    assert streaming.totals() == {name: traffic.truth[name] for name in counted}
    assert streaming.missed()["forgotten_by_backfill"] >= before["connect"]
    for dialect in ("connect", "share_group"):
        del traffic.truth[dialect]


@pytest.mark.chaos
def test_kafka_may_go_away_meanwhile(tmp_path: Path) -> None:
    with LoneBroker() as broker:
        traffic = Traffic(broker.bootstrap_servers, "away")
        streaming = Streaming(broker.bootstrap_servers, traffic, tmp_path)
        traffic.write(20)
        with streaming.running("streaming.backfill", "--from", "beginning") as process:
            assert begun(streaming), streaming.log()
            broker.kill()
            assert eventually(lambda: "the backfill waits for it" in streaming.log()), streaming.log()
            broker.start_again()
            assert process.wait(WITHIN_S) == 0, streaming.log()
        assert streaming.totals() == dict(traffic.truth), streaming.log()
