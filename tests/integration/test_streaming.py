"""The query on a real Kafka: whatever is killed, damaged or wrong in between, the totals are the truth."""

import json
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

from deadwatch.store.store import Store
from deadwatch.store.trouble import REMEDY
from lab import Lab
from streaming.kafka_source import SMALL_DEAD_LETTERS
from tests.integration.streaming_process import (
    WITHIN_S,
    Streaming,
    Traffic,
    dead_letters_of,
    eventually,
    settle,
    spoil,
)
from tests.kafka_topics import ends
from tests.unit.deadwatch.store.test_restore import overwrite

CHECKPOINT = {
    "metadata": '{"id":"6e2ab5a4-93f9-4f7e-8b57-f7d6f0c5a0de"}',
    "sources/1/0": 'v1\n{"TOPIC":{"0":0,"1":0}}',
    "offsets/7": 'v1\n{"batchWatermarkMs":0}\n-\n{"TOPIC":{"0":3,"1":2}}',
    "commits/7": 'v1\n{"nextBatchWatermarkMs":0}',
    "offsets/8": 'v1\n{"batchWatermarkMs":0}\n-\n{"TOPIC":{"0":9,"1":7}}',
}
"""Of Spark, whose eighth batch was planned and not finished."""
AUDITED = """
WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1999)
INSERT INTO audit (at_ms, who, role, token, action, subject, why, outcome, request_id, address)
SELECT 1, 'ann', '', '', 'a', '', printf('entry %08d', n), 'done', '', '' FROM numbers
"""


def test_no_total_changes_whatever_lies_between_two_runs(
    lab: Lab, streaming: Streaming, traffic: Traffic, tmp_path: Path
) -> None:
    file = tmp_path / "deadwatch.db"
    with Store(f"sqlite:///{file}"):
        streaming.execute(AUDITED)
    denying = Streaming(
        lab.bootstrap_servers, traffic, tmp_path, dlq_topics_deny=json.dumps([traffic.dlq_topic])
    )
    denied_for_a_while_and_killed_in_the_midst(denying, traffic)
    as_the_version_before_left_it(streaming, traffic)
    overwrite(file, b"entry 00001500")
    damaged_and_stopped(streaming, traffic, tmp_path)
    assert dead_letters_of(lab.bootstrap_servers, traffic.quarantine_topic) == [(b"{corrupt", b"deadwatch")]
    restored(streaming, file)
    most = str(SMALL_DEAD_LETTERS + 1)
    large = Streaming(lab.bootstrap_servers, traffic, tmp_path, max_dead_letters_per_trigger=most)
    killed_between_large_batches(large, traffic)
    with large.running():
        settle(large, traffic)
    counted_anew(lab, streaming, traffic)
    assert streaming.missed() == {}


def denied_for_a_while_and_killed_in_the_midst(denying: Streaming, traffic: Traffic) -> None:
    """Events are counted all the while; dead letters are when they are allowed again, once."""
    traffic.write()
    with denying.running():
        events = {"task_timeouts": traffic.truth["task_timeouts"]}
        assert eventually(lambda: denying.totals() == events), (denying.totals(), events, denying.log())
        before = denying.batches()
        traffic.write()  # several batches
        assert eventually(lambda: denying.batches() > before), denying.log()


def as_the_version_before_left_it(streaming: Streaming, traffic: Traffic) -> None:
    """Store and checkpoint, when it was killed between the commit of the store and that of Spark."""
    streaming.execute("DELETE FROM batches WHERE query_id = 'deadwatch-dead-letters'")
    streaming.execute("UPDATE batches SET query_id = '6e2ab5a4-93f9-4f7e-8b57-f7d6f0c5a0de', batch_id = 8")
    for name, content in CHECKPOINT.items():
        file = streaming.checkpoint / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content.replace("TOPIC", traffic.dlq_topic))
    traffic.write()


def damaged_and_stopped(streaming: Streaming, traffic: Traffic, directory: Path) -> None:
    """What is whole goes on, and what is not is said; a stop is a success that leaves nothing behind."""
    traffic.write_corrupt()
    before = len(streaming.log())
    with streaming.running() as process:
        assert eventually(lambda: f"): {REMEDY}" in streaming.log()), streaming.log()
        settle(streaming, traffic)
        assert [file.name.partition("-")[0] for file in streaming.checkpoint.iterdir()] == ["query"]
        assert streaming.command("streaming.store", "restore") == 2
        assert "is in use: stop what works with it" in streaming.log()
        assert eventually(lambda: streaming.behind() == 0)  # markers of transactions are not waited for
        process.send_signal(signal.SIGTERM)
        assert process.wait(WITHIN_S) == 0
    assert "Traceback" not in streaming.log()[before:]
    assert not (directory / "metastore_db").exists()
    assert not (directory / "artifacts").exists()
    assert [*streaming.checkpoint.iterdir()] == []


def restored(streaming: Streaming, file: Path) -> None:
    """By one command: what Kafka does not have, and the file neither, is in the backup of the first run."""
    assert streaming.command("streaming.store", "check") == 1
    assert streaming.command("streaming.store", "restore") == 0, streaming.log()
    assert "(not all of it can be read)" in streaming.log()
    assert f"{file} is restored; what was there is {file.name}.aside-1 now" in streaming.log()
    assert streaming.command("streaming.store", "check") == 0, streaming.log()
    with closing(sqlite3.connect(file)) as connection:
        (kept,) = connection.execute("SELECT count(*) FROM audit WHERE why LIKE 'entry %'").fetchone()
    assert kept == 2_000


def killed_between_large_batches(large: Streaming, traffic: Traffic) -> None:
    """Executors read each of them while the one before is merged; what was not merged is read once more."""
    before = large.totals().get("connect", 0)
    traffic.write(1)
    traffic.write_dead_letters(5 * SMALL_DEAD_LETTERS)
    with large.running():
        assert eventually(lambda: large.totals().get("connect", 0) > before + SMALL_DEAD_LETTERS), large.log()


def counted_anew(lab: Lab, streaming: Streaming, traffic: Traffic) -> None:
    """By a backfill, where every count was wrong; a stream would go on behind it."""
    spoil(streaming)
    assert streaming.backfill("--from", "beginning") == 0, streaming.log()
    assert streaming.totals() == dict(traffic.truth), streaming.log()
    topics = (traffic.events_topic, traffic.dlq_topic)
    assert {place: at for place, at in streaming.offsets().items() if place[0] in topics} == {
        (topic, partition): end
        for topic in topics
        for partition, end in ends(lab.bootstrap_servers, topic).items()
    }
