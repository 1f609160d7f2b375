"""What a signal does to a backfill: while it waits for an answer, and when it ends the JVM as well."""

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from kafka.errors import KafkaConnectionError, UnknownTopicOrPartitionError
from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]  # ships no types

from deadwatch.runtime.clock import clock_ms
from deadwatch.store.store import Store
from streaming import backfill, session
from streaming.rebuild import MOST_UNKNOWN, BackfillError, Rebuild
from streaming.rebuild_plan import Plan, Work
from streaming.settings import StreamingSettings
from streaming.store import RetryingStore
from tests.unit.deadwatch.store.test_restore import held

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """The handlers of this process are as they were, after the test."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_the_wait_for_an_answer_and_nothing_is_changed(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked = list[str]()

    def ask(text: str) -> bool:
        asked.append(text)
        signal.raise_signal(number)
        asked.append("still waiting")
        return True

    work = Work(Plan({}, {}), on_top=False, ids={}, forgotten={"dlq.t": 3}, unread={})
    monkeypatch.setattr(Rebuild, "plan", lambda *_: work)
    settings = StreamingSettings(store_url=f"sqlite:///{tmp_path / 'deadwatch.db'}")
    caplog.set_level(logging.INFO)
    assert backfill.run(settings, 0, ask=ask, progress=lambda *_: None) == backfill.NOT_DONE
    assert asked == [backfill.question(work, 0)]
    assert "stopped: nothing was changed" in caplog.text


GONE = [Py4JNetworkError("Answer from Java side is empty"), ConnectionRefusedError(111, "Connection refused")]


@pytest.mark.parametrize("error", GONE, ids=lambda error: type(error).__name__)
def test_a_signal_that_ends_the_jvm_too_ends_the_backfill_without_an_error(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def interrupted(*_: object) -> bool:
        signal.raise_signal(signal.SIGHUP)
        return False

    def stop() -> None:
        raise error

    work = Work(Plan({}, {}), on_top=False, ids={}, forgotten={}, unread={})
    monkeypatch.setattr(Rebuild, "plan", lambda *_: work)
    monkeypatch.setattr(Rebuild, "run", interrupted)
    monkeypatch.setattr(session, "start", lambda _: SimpleNamespace(stop=stop))
    settings = StreamingSettings(store_url=f"sqlite:///{tmp_path / 'deadwatch.db'}")
    caplog.set_level(logging.INFO)
    code = backfill.run(settings, 0, ask=lambda _: True, progress=lambda *_: None)
    assert code == backfill.NOT_DONE
    assert "stopped: nothing was changed" in caplog.text


@pytest.mark.parametrize("error", GONE, ids=lambda error: type(error).__name__)
def test_a_jvm_that_is_gone_is_one_line_and_nothing_when_a_stop_was_asked_for(
    error: Exception, rebuild: Rebuild, stop: threading.Event
) -> None:
    stopped_by_call = [False, True]

    def count() -> None:
        if stopped_by_call.pop(0):
            stop.set()
        raise error

    with pytest.raises(BackfillError, match=r"Java side is empty|Connection refused"):
        rebuild._retry(count)
    rebuild._retry(count)


def test_a_topic_that_stays_unknown_was_deleted_and_is_waited_for_no_longer(rebuild: Rebuild) -> None:
    nearly = [UnknownTopicOrPartitionError] * (MOST_UNKNOWN - 1)
    answers = [*nearly, KafkaConnectionError, *nearly, None, *nearly, UnknownTopicOrPartitionError]

    def count() -> bool:
        if error := answers.pop(0):
            raise error
        return True

    assert rebuild._retry(count)
    with pytest.raises(BackfillError, match=r"was deleted, start again: .*UnknownTopicOrPartition"):
        rebuild._retry(count)
    assert answers == []


@pytest.fixture
def stop() -> threading.Event:
    return threading.Event()


@pytest.fixture
def rebuild(url: str, tmp_path: Path, stop: threading.Event) -> Iterator[Rebuild]:
    settings = StreamingSettings(store_url=url, checkpoint=tmp_path / "c", retry_backoff_ms=0)
    with RetryingStore(settings, stop, Random()) as store:
        yield Rebuild(settings, store, stop, clock_ms, Random())


Goes = Callable[[], object]
Run = Callable[[str, Goes], bool]


@pytest.fixture
def run(rebuild: Rebuild, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a backfill of a topic that has another id in the end, perhaps; Kafka goes when all is counted."""

    def run_it(topic_id: str, goes: Goes) -> bool:
        answers: list[Goes | None] = [None, goes, None]

        def connect(_: object) -> object:
            if gone := answers.pop(0):
                gone()
                raise KafkaConnectionError
            return SimpleNamespace(close=lambda: None)

        found = [{"name": "dlq.t", "topic_id": topic_id, "error_code": 0}]
        monkeypatch.setattr("streaming.cluster.connect", connect)
        monkeypatch.setattr("streaming.cluster.read_topics", lambda *_: found)
        work = Work(Plan({}, {}), on_top=False, ids={"dlq.t": "a"}, forgotten={}, unread={})
        return rebuild.run(cast("SparkSession", None), work, lambda *_: None)

    return run_it


def test_it_waits_for_kafka_when_all_is_counted_too(rebuild: Rebuild, run: Run) -> None:
    assert run("a", lambda: None)
    assert rebuild._store.topic_ids() == {"dlq.t": "a"}


def test_it_removes_what_killed_ones_have_left_and_nothing_else(tmp_path: Path, run: Run) -> None:
    for name in ("backfill-killed", "backfill-runs"):
        Store(f"sqlite:///{tmp_path}/{name}/store.db").open().close()
    (tmp_path / "backfill-begins").mkdir()
    (tmp_path / "backfill-unreadable" / "store.db").mkdir(parents=True)
    with held(tmp_path / "backfill-runs" / "store.db"):
        assert run("a", lambda: None)
    left = sorted(one.name for one in tmp_path.glob("backfill-*"))
    assert left == ["backfill-begins", "backfill-runs", "backfill-unreadable"]


def test_so_it_does_before_it_refuses_a_topic_that_was_made_anew(rebuild: Rebuild, run: Run) -> None:
    with pytest.raises(BackfillError, match=r"dlq\.t: made anew meanwhile"):
        run("b", lambda: None)
    assert rebuild._store.topic_ids() == {}


def test_a_stop_while_it_waits_for_that_changes_nothing(
    rebuild: Rebuild, run: Run, stop: threading.Event
) -> None:
    assert not run("a", stop.set)
    assert rebuild._store.topic_ids() == {}
