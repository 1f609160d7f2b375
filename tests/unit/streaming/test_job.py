"""After which failure the queries run again; and Spark's files are of one run of the query: the next one
finds none, nor what others keep there.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final, cast

import pytest
from kafka.errors import KafkaConnectionError
from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]  # ships no types
from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

from deadwatch.store.batch import Offsets
from deadwatch.store.heartbeat import Heartbeat
from deadwatch.store.store import Store
from streaming.batches import Batches, StoppedError
from streaming.job import EARLIER_CHECKPOINT, Job, Running, checkpoint_directory
from streaming.session import SessionError, WrongSettingError
from streaming.settings import StreamingSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from streaming.kafka_source import Stream


def session(stopped: bool | Exception) -> SparkSession:
    """A session of Spark that answers whether it is stopped, or whose JVM does not."""

    def is_stopped() -> bool:
        if isinstance(stopped, Exception):
            raise stopped
        return stopped

    java = SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=is_stopped))
    return cast("SparkSession", SimpleNamespace(sparkContext=SimpleNamespace(_jsc=java)))


ENDED: Final = {
    "its master has ended Spark": True,
    "the JVM was killed": ConnectionRefusedError(),
    "the JVM was killed while it was asked": Py4JNetworkError(),
}


@pytest.fixture
def stop() -> threading.Event:
    return threading.Event()


@pytest.fixture
def job(url: str, stop: threading.Event) -> Iterator[Job]:
    settings = StreamingSettings(retry_backoff_ms=1, retry_backoff_max_ms=1)
    with Store(url) as store, closing(Heartbeat(store, 10_000, int)) as heartbeat:
        yield Job(settings, store, heartbeat, stop, int)


@pytest.fixture
def attempts(stop: threading.Event, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """How often Kafka was asked in vain; the third time is the last one."""
    made: list[object] = []

    def fail(settings: object) -> None:
        made.append(settings)
        if len(made) == 3:
            stop.set()
        raise KafkaConnectionError

    monkeypatch.setattr("streaming.cluster.connect", fail)
    return made


def test_the_queries_run_again_while_spark_lives(job: Job, attempts: list[object]) -> None:
    job.run(session(stopped=False), Random(1))
    assert len(attempts) == 3


@pytest.mark.parametrize("stopped", ENDED.values(), ids=ENDED)
def test_where_spark_has_ended_the_process_ends(
    stopped: bool | Exception, job: Job, attempts: list[object]
) -> None:
    with pytest.raises(SessionError, match="Spark has ended"):
        job.run(session(stopped), Random(1))
    assert len(attempts) == 1


@pytest.mark.parametrize(
    ("lost", "raised"),
    [
        (ConnectionRefusedError("refused"), ConnectionRefusedError),
        (Py4JNetworkError("ClassCastException"), SessionError),
        (IllegalArgumentException("ClassCastException"), SessionError),
    ],
    ids=["no JVM", "it has gone", "it says why"],
)
def test_so_it_does_while_spark_warms_up(
    job: Job, monkeypatch: pytest.MonkeyPatch, lost: Exception, raised: type[Exception]
) -> None:
    def run(*_: object) -> None:
        raise lost

    monkeypatch.setattr("streaming.warm_up.run", run)
    with pytest.raises(SessionError, match="Spark has ended"):
        job.warm_up(session(ConnectionRefusedError()))
    with pytest.raises(raised, match=str(lost)):
        job.warm_up(session(stopped=False))


def test_what_spark_does_not_take_may_show_only_while_it_warms_up(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise IllegalArgumentException(
            "Error while instantiating 'SessionStateBuilder':\n\nJVM stacktrace:\n\tat x\n"
            "Caused by: org.apache.spark.SparkIllegalArgumentException: [INVALID_CONF_VALUE.TYPE_MISMATCH] x"
        )

    monkeypatch.setattr("streaming.warm_up.run", refused)
    with pytest.raises(WrongSettingError, match=r"'SessionStateBuilder': .*INVALID_CONF_VALUE\S+ x$"):
        job.warm_up(session(stopped=False))


def names(place: Path) -> list[str]:
    return sorted(file.name for file in place.iterdir())


def test_a_directory_is_there_while_the_query_runs(tmp_path: Path) -> None:
    place = tmp_path / "not" / "there yet"
    with checkpoint_directory(place) as directory:
        (directory / "offsets").mkdir()
        assert names(place) == [directory.name]
    assert names(place) == []


@pytest.mark.parametrize(("metadata", "is_sparks"), [("metadata", True), ("metadata.txt", False)])
def test_what_killed_queries_and_earlier_versions_have_left_is_removed_and_nothing_of_others(
    tmp_path: Path, metadata: str, is_sparks: bool
) -> None:
    (tmp_path / metadata).write_text('{"id":"q"}')
    (tmp_path / "deadwatch.db").write_bytes(b"")
    for name in ("offsets", "commits", "sources"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "7").write_text("v1")
    before = names(tmp_path)
    (tmp_path / "query-killed" / "commits" / "7").mkdir(parents=True)
    kept = [name for name in before if name not in EARLIER_CHECKPOINT] if is_sparks else before
    with checkpoint_directory(tmp_path) as directory:
        assert names(tmp_path) == sorted([*kept, directory.name])
    assert names(tmp_path) == kept


class FakeQuery:
    """A query of Spark that has completed a batch up to offset 7, and says when it is asked for that."""

    isActive = True  # noqa: N815 -- PySpark's name

    def __init__(self, said: list[str]) -> None:
        self._said = said
        self._jsq = self

    def exception(self) -> None:
        """It has met nothing."""

    def lastProgress(self) -> SimpleNamespace:  # noqa: N802 -- Java's name
        """What Spark reports of its last batch."""
        self._said.append("completed")
        source = SimpleNamespace(endOffset=lambda: '{"dlq.a": {"0": 7}}')
        return SimpleNamespace(sources=lambda: [source], json=lambda: '{"numInputRows": 0}')


def running(query: object, **batches: object) -> Running:
    """A query with what stands for its batches."""
    return Running(cast("StreamingQuery", query), cast("Batches", SimpleNamespace(**batches)))


@pytest.mark.parametrize(("topics_poll_interval_ms", "told"), [(10_000, "advanced"), (1_000, "checked")])
def test_topics_move_on_only_to_where_batches_are_merged(
    job: Job, monkeypatch: pytest.MonkeyPatch, topics_poll_interval_ms: int, told: str
) -> None:
    said = list[str]()

    def passed(name: str) -> Callable[[Offsets], dict[str, int]]:
        def moved(offsets: Offsets) -> dict[str, int]:
            said.append(f"{name} to {offsets['dlq.a', 0]}")
            return {}

        return moved

    monkeypatch.setattr(job, "_clock_ms", lambda: 5_000)
    settings = StreamingSettings(topics_poll_interval_ms=topics_poll_interval_ms)
    monkeypatch.setattr(job, "_settings", settings)
    monkeypatch.setattr(job._tracker, "advance", passed("advanced"))
    monkeypatch.setattr(job._tracker, "check", passed("checked"))
    job._track([running(FakeQuery(said), settle=lambda: said.append("merged"), error=None)])
    assert said == ["completed", "merged", f"{told} to 7"]


def test_a_merge_that_fails_ends_the_queries_although_spark_knows_nothing_of_it(job: Job) -> None:
    failed = running(FakeQuery([]), settle=lambda: None, error=KafkaConnectionError("gone"))
    with pytest.raises(KafkaConnectionError, match="gone"):
        job._watch([failed])


def test_queries_are_stopped_when_what_they_have_read_is_merged(
    job: Job, stop: threading.Event, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = list[str]()

    def begin(name: str, _stream: object, _directory: Path) -> Running:
        query = SimpleNamespace(isActive=True, stop=lambda: said.append(f"{name} stopped"))
        return running(query, stop=lambda: said.append(f"{name} merged"))

    monkeypatch.setattr(job, "_settings", StreamingSettings(checkpoint=tmp_path))
    monkeypatch.setattr(job, "_begin", begin)
    monkeypatch.setattr(job._tracker, "settle", frozenset)
    monkeypatch.setattr("streaming.cluster.starting_offsets", lambda *_: None)
    monkeypatch.setattr("streaming.kafka_source.streams", lambda *_: {"a": None, "b": None})
    stop.set()
    job._run_once(session(stopped=False), [], again=False)
    assert said == ["a merged", "b merged", "a stopped", "b stopped"]


def test_no_batch_is_begun_for_a_query_that_did_not_start(job: Job, tmp_path: Path) -> None:
    begun = list[Batches]()

    def start() -> None:
        raise KafkaConnectionError

    def write(batches: Batches) -> SimpleNamespace:
        begun.append(batches)
        return writer

    writer = SimpleNamespace(foreachBatch=write, start=start)
    writer.queryName = writer.options = writer.trigger = lambda *_, **__: writer
    stream = SimpleNamespace(records=SimpleNamespace(writeStream=writer), small=1)
    with pytest.raises(KafkaConnectionError):
        job._begin("a", cast("Stream", stream), tmp_path)
    with pytest.raises(StoppedError):
        begun[0](cast("DataFrame", None), 0)
