"""The query on a real Kafka and PostgreSQL: whatever is killed or wrong meanwhile, the totals are true."""

import json
import signal
from pathlib import Path

import pytest

from lab import Lab
from tests.integration.streaming_process import (
    WITHIN_S,
    Streaming,
    Traffic,
    dead_letters_of,
    eventually,
    settle,
    spoil,
)

pytestmark = pytest.mark.integration

CHECKPOINT = {
    "metadata": '{"id":"6e2ab5a4-93f9-4f7e-8b57-f7d6f0c5a0de"}',
    "sources/1/0": 'v1\n{"TOPIC":{"0":0,"1":0}}',
    "offsets/7": 'v1\n{"batchWatermarkMs":0}\n-\n{"TOPIC":{"0":3,"1":2}}',
    "commits/7": 'v1\n{"nextBatchWatermarkMs":0}',
    "offsets/8": 'v1\n{"batchWatermarkMs":0}\n-\n{"TOPIC":{"0":9,"1":7}}',
}
"""Of Spark, whose eighth batch was planned and not finished."""


def test_no_total_changes_whatever_lies_between_two_runs(
    lab: Lab, postgres: str, traffic: Traffic, tmp_path: Path
) -> None:
    own = (lab.bootstrap_servers, traffic, tmp_path, postgres)
    streaming = Streaming(*own)
    denied_for_a_while_and_killed_in_the_midst(
        Streaming(*own, dlq_topics_deny=json.dumps([traffic.dlq_topic])), traffic
    )
    stopped(streaming, traffic, tmp_path)
    counted_anew(streaming, traffic)
    as_the_version_before_left_it(streaming, traffic)
    with streaming.running():
        settle(streaming, traffic)
        assert [file.name.partition("-")[0] for file in streaming.checkpoint.iterdir()] == ["query"]
    assert streaming.missed() == {}
    refused = dead_letters_of(lab.bootstrap_servers, traffic.quarantine_topic)
    assert refused == [(b"{corrupt", b"deadwatch")]  # once, however often it was read


def denied_for_a_while_and_killed_in_the_midst(denying: Streaming, traffic: Traffic) -> None:
    """Events are counted all the while; dead letters are when they are allowed again, once."""
    traffic.write()
    with denying.running():
        events = {"task_timeouts": traffic.truth["task_timeouts"]}
        assert eventually(lambda: denying.totals() == events), (denying.totals(), events, denying.log())
        before = denying.batches()
        traffic.write()  # several batches
        assert eventually(lambda: denying.batches() > before), denying.log()


def stopped(streaming: Streaming, traffic: Traffic, directory: Path) -> None:
    """A stop is a success that leaves nothing behind."""
    traffic.write_corrupt()
    before = len(streaming.log())
    with streaming.running() as process:
        settle(streaming, traffic)
        assert eventually(lambda: streaming.behind() == 0)  # markers of transactions are not waited for
        process.send_signal(signal.SIGTERM)
        assert process.wait(WITHIN_S) == 0
    assert "Traceback" not in streaming.log()[before:]
    assert not (directory / "metastore_db").exists()
    assert not (directory / "artifacts").exists()
    assert [*streaming.checkpoint.iterdir()] == []


def counted_anew(streaming: Streaming, traffic: Traffic) -> None:
    """By a backfill, where every count was wrong; the next run goes on behind it."""
    spoil(streaming)
    assert streaming.backfill("--from", "beginning") == 0, streaming.log()
    assert streaming.totals() == dict(traffic.truth), streaming.log()


def as_the_version_before_left_it(streaming: Streaming, traffic: Traffic) -> None:
    """Store and checkpoint, when it was killed between the commit of the store and that of Spark."""
    streaming.execute("UPDATE batches SET query_id = '6e2ab5a4-93f9-4f7e-8b57-f7d6f0c5a0de', batch_id = 8")
    for name, content in CHECKPOINT.items():
        file = streaming.checkpoint / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content.replace("TOPIC", traffic.dlq_topic))
    traffic.write()
