"""A batch is merged while the next one is read, in their order, and no failure is passed over."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import cast

import pyarrow as pa
import pytest
from polars.exceptions import PanicException
from pyspark.sql import DataFrame

from deadwatch.contract.events import Position, TaskTimeout, encode
from deadwatch.contract.topics import EVENTS
from deadwatch.store.batch import Batch
from deadwatch.store.store import Store
from streaming import warm_up
from streaming.batches import Batches, StoppedError
from streaming.kernel import Context
from streaming.kernel.partial import RECORDS, Partial, summarise
from streaming.settings import StreamingSettings
from tests.unit.deadwatch.store import suite
from tests.waiting import WITHIN_S

TOPIC = ("deadwatch.events", 0)
store = suite.store


class Records(SimpleNamespace):
    """A batch of Spark with one record at ``offset``: an event of its source, or a dead letter.

    ``is_read`` is set when it is summarised; without an offset that fails.
    """

    def __init__(self, offset: int | None, position: int, topic: str) -> None:
        context = SimpleNamespace(getLocalProperty=lambda _: "q")
        super().__init__(sparkSession=SimpleNamespace(sparkContext=context), is_read=threading.Event())
        self.offset, self.position, self.topic = offset, position, topic


class FakeReader:
    """Summarises the batches of ``Records``."""

    def __init__(self, _small: int) -> None:
        """As ``Reader`` is made."""

    def read(self, records: Records) -> Callable[[Context], Partial]:
        """A function that summarises the batch."""
        return partial(_summarised, records)


def _summarised(records: Records, context: Context) -> Partial:
    assert records.offset is not None, "it cannot be read"
    position = Position(1, records.position)
    key, value = encode(replace(warm_up.example(TaskTimeout), position=position, source="s"))
    row = {"topic": records.topic, "partition": 0, "offset": records.offset, "timestamp_ms": 1, "key": key}
    sizes = {"key_bytes": 1, "value_bytes": 1, "headers": []}
    found = summarise(pa.Table.from_pylist([{**row, **sizes, "value": value}], schema=RECORDS), context)
    records.is_read.set()
    return found


def batch(offset: int | None, position: int | None = None, topic: str = EVENTS) -> DataFrame:
    """``Records``, as Spark hands them over; the event is the one of its offset where none is named."""
    return cast("DataFrame", Records(offset, (offset or 0) if position is None else position, topic))


def is_read(records: DataFrame) -> bool:
    """Whether the batch is summarised, within the time of a test."""
    return bool(cast("Records", records).is_read.wait(WITHIN_S))


class Merging:
    """Stands where the tracker completes a batch: says that one has come, and lets it go on when it may."""

    def __init__(self) -> None:
        self.come, self.go_on = threading.Semaphore(0), threading.Semaphore(0)
        self.error: Exception | None = None
        self.merged = list[tuple[str, int, int]]()
        """Query, batch and offset."""

    def __call__(self, batch: Batch) -> Batch:
        self.come.release()
        assert self.go_on.acquire(timeout=WITHIN_S)
        if self.error:
            raise self.error
        self.merged.append((batch.query_id, batch.batch_id, batch.first_offsets[TOPIC]))
        return replace(batch, begins=batch.first_offsets if len(self.merged) > 1 else {})


@pytest.fixture
def merging() -> Merging:
    return Merging()


Made = Callable[[], Batches]


@pytest.fixture
def made(store: Store, merging: Merging, monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    monkeypatch.setattr("streaming.batches.Reader", FakeReader)
    all_made = list[Batches]()

    def make() -> Batches:
        all_made.append(Batches(StreamingSettings(), store, lambda: 1, complete=merging))
        return all_made[-1]

    yield make
    merging.go_on.release(10)
    for batches in all_made:
        batches.stop()


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as two:
        yield two


def test_a_batch_is_merged_while_the_next_is_read_which_waits_for_it(
    made: Made, merging: Merging, store: Store, threads: ThreadPoolExecutor
) -> None:
    batches = made()
    batches(batch(0), 0)
    assert merging.come.acquire(timeout=WITHIN_S)
    next_one = batch(1)
    second = threads.submit(batches, next_one, 1)
    assert is_read(next_one)
    assert (store.offsets(), batches.applied) == ({}, 0)
    merging.go_on.release(2)
    second.result(WITHIN_S)
    batches.settle()
    assert merging.merged == [("q", 0, 0), ("q", 1, 1)]
    assert (store.offsets(), batches.applied) == ({TOPIC: 2}, 2)


@pytest.mark.parametrize("topic", [EVENTS, "dlq.a"])
def test_a_batch_takes_as_long_as_it_is_read_however_long_it_waits_for_the_one_before(
    made: Made, monkeypatch: pytest.MonkeyPatch, topic: str
) -> None:
    passed_ms, took_ms = list[int](), list[int]()
    batches, records = made(), batch(0, topic=topic)

    def complete(batch: Batch) -> Batch:
        took_ms.append(batch.duration_ms)
        return batch

    monkeypatch.setattr(batches, "_complete", complete)
    monkeypatch.setattr(batches, "_clock_ms", lambda: sum(passed_ms))
    monkeypatch.setattr(records, "is_read", SimpleNamespace(set=lambda: passed_ms.append(7)))
    monkeypatch.setattr(batches, "_merging", SimpleNamespace(result=lambda: passed_ms.append(5_000)))
    batches(records, 0)
    batches.stop()
    assert took_ms == [7]


def test_what_a_batch_has_counted_is_known_when_the_next_is_read(
    made: Made, merging: Merging, store: Store, threads: ThreadPoolExecutor
) -> None:
    batches = made()
    batches(batch(0), 0)
    again = batch(1, position=0)
    second = threads.submit(batches.read, again)
    assert is_read(again)
    merging.go_on.release()
    assert second.result(WITHIN_S).records == 0
    assert store.offsets() == {TOPIC: 1}


@pytest.mark.parametrize("topic", [EVENTS, "dlq.a"])
def test_after_a_merge_that_failed_no_other_batch_is_merged(
    made: Made, merging: Merging, store: Store, topic: str
) -> None:
    batches, merging.error = made(), OSError("the store is full")
    merging.go_on.release(2)
    batches(batch(0, topic=topic), 0)
    with pytest.raises(OSError, match="the store is full"):
        batches(batch(1, topic=topic), 1)
    assert (batches.error, batches.applied, store.offsets()) == (merging.error, 0, {})
    assert merging.come.acquire(timeout=WITHIN_S)
    assert not merging.come.acquire(blocking=False)


def test_a_failure_of_reading_is_kept_and_hides_none_of_merging(made: Made, merging: Merging) -> None:
    batches = made()
    with pytest.raises(AssertionError):
        batches(batch(None), 0)
    assert isinstance(batches.error, AssertionError)
    batches, merging.error = made(), OSError("the store is full")
    batches(batch(0), 0)
    merging.go_on.release()
    with pytest.raises(OSError, match="full"):
        batches.settle()
    with pytest.raises(AssertionError):
        batches(batch(None), 1)
    assert batches.error is merging.error


@pytest.mark.parametrize("panics", ["Reader.read", "deltas.counted"])
def test_a_panic_of_polars_is_a_failure_that_spark_and_we_are_told_of(
    made: Made, monkeypatch: pytest.MonkeyPatch, panics: str
) -> None:
    def panic(*_: object) -> None:
        raise PanicException("index out of bounds")

    batches = made()

    def merged() -> None:
        batches(batch(0), 0)
        batches.settle()

    monkeypatch.setattr(f"streaming.batches.{panics}", panic)
    with pytest.raises(RuntimeError, match="polars has panicked: index out of bounds") as raised:
        merged()
    assert batches.error is raised.value


def test_the_end_waits_for_what_is_being_read_and_merged_and_lets_no_other_begin(
    made: Made, merging: Merging, store: Store, threads: ThreadPoolExecutor
) -> None:
    batches = made()
    batches(batch(0), 0)
    next_one = batch(1)
    second = threads.submit(batches, next_one, 1)
    assert is_read(next_one)
    ending = threads.submit(batches.stop)
    assert not ending.done()
    merging.go_on.release(2)
    ending.result(WITHIN_S)
    second.result(WITHIN_S)
    assert store.offsets() == {TOPIC: 2}
    with pytest.raises(StoppedError):
        batches(batch(2), 2)
