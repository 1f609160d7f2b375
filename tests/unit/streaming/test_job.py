"""After which failure the queries run again; and Spark's files are of one run of the query: the next one
finds none, nor what others keep there.
"""

import threading
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import cast

import pytest
from kafka.errors import KafkaConnectionError
from pyspark.sql import SparkSession

from deadwatch.store.heartbeat import Heartbeat
from deadwatch.store.store import Store
from streaming.job import EARLIER_CHECKPOINT, Job, checkpoint_directory
from streaming.session import SessionError
from streaming.settings import StreamingSettings


def session(stopped: bool | None) -> SparkSession:
    """A session of Spark that answers whether it is stopped; None: its JVM is gone."""

    def is_stopped() -> bool:
        if stopped is None:
            raise ConnectionRefusedError
        return stopped

    java = SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=is_stopped))
    return cast("SparkSession", SimpleNamespace(sparkContext=SimpleNamespace(_jsc=java)))


@pytest.mark.parametrize(
    ("stopped", "ends"),
    [(False, False), (True, True), (None, True)],
    ids=["Kafka is away", "its master has ended Spark", "the JVM was killed"],
)
def test_the_queries_run_again_where_spark_has_not_ended(
    stopped: bool | None, ends: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, attempts = threading.Event(), list[object]()

    def fail(settings: object) -> None:
        attempts.append(settings)
        if len(attempts) == 3:
            stop.set()
        raise KafkaConnectionError

    monkeypatch.setattr("streaming.cluster.connect", fail)
    settings = StreamingSettings(retry_backoff_ms=1, retry_backoff_max_ms=1)
    refused: AbstractContextManager[object] = (
        pytest.raises(SessionError, match="Spark has ended") if ends else nullcontext()
    )
    with (
        Store(f"sqlite:///{tmp_path}/store.db") as store,
        closing(Heartbeat(store, 10_000, int)) as heartbeat,
    ):
        job = Job(settings, store, heartbeat, stop, int)
        with refused:
            job.run(session(stopped), Random(1))
    assert len(attempts) == (1 if ends else 3)


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
