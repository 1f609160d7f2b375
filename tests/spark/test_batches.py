"""A batch changes the store in the same way, wherever it is summarised."""

import dataclasses
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from py4j.finalizer import ThreadSafeFinalizer  # type: ignore[import-untyped]  # ships no types
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from deadwatch.contract.events import KINDS, Position, TaskTimeout, encode
from deadwatch.contract.topics import EVENTS
from deadwatch.runtime.process import OBJECTS
from deadwatch.store.batch import Batch, combined
from deadwatch.store.store import Store
from streaming import kafka_source, warm_up
from streaming.batches import LET_GO_AFTER, MAX_COPIED_BYTES, Batches, refused_records
from streaming.job import UNTRACKED
from streaming.kernel import Context
from streaming.kernel.partial import Partial
from streaming.reader import MANY_PARTITIONS, PROJECTION, Reader, Way
from streaming.settings import StreamingSettings
from tests.spark.conftest import Kafka


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


@pytest.fixture(params=["here", "by executors"])
def batches(store: Store, request: pytest.FixtureRequest) -> Batches:
    small = -1 if request.param == "by executors" else 5_000
    return Batches(StreamingSettings(), store, lambda: 1_000, small=small)


def every_kind(first: int = 0) -> list[dict[str, Any]]:
    """An event of every kind, and dead letters of two causes."""
    examples = [
        dataclasses.replace(
            warm_up.example(cls), position=Position(1, first + number), source=f"s{number % 2}"
        )
        for number, cls in enumerate(KINDS.values())
    ]
    events = [{"key": key, "value": value} for key, value in map(encode, examples)]
    headers = [{"key": "__connect.errors.exception.message", "value": text} for text in (b"why", b"how")]
    dead_letters = [{"topic": "dlq.a", "value": b"v", "headers": [pair]} for pair in (*headers, headers[0])]
    return [*events, *dead_letters]


def counts(batch: Batch) -> dict[str, int]:
    found: dict[str, int] = {}
    for change in combined(batch.series):
        found[change.series.name] = found.get(change.series.name, 0) + change.value
    return found


def test_every_kind_and_dead_letters_are_counted(batches: Batches, kafka: Kafka) -> None:
    batch = batches.read(kafka(every_kind()).repartition(2, "topic"))
    assert batch.records == len(KINDS) + 3
    assert {group.message: group.records for group in batch.groups} == {"why": 2, "how": 1}
    assert counts(batch)["events"] == len(KINDS)
    assert counts(batch)["dead_letters"] == 3
    assert len(batch.samples) == 3
    assert batch.offsets == {("deadwatch.events", 0): len(KINDS), ("dlq.a", 0): len(KINDS) + 3}
    assert batch.first_offsets == {("deadwatch.events", 0): 0, ("dlq.a", 0): len(KINDS)}


def test_what_was_counted_before_is_not_counted_again(batches: Batches, store: Store, kafka: Kafka) -> None:
    assert store.apply(batches.read(kafka(every_kind())))
    again = [record for record in every_kind() if "topic" not in record]
    new = [record for record in every_kind(first=100) if "topic" not in record]
    assert batches.read(kafka(again)).records == 0
    assert batches.read(kafka([*again, *new, *new])).records == len(new)


def test_the_jvm_does_not_keep_the_plans_of_earlier_batches(store: Store, kafka: Kafka) -> None:
    """As in a service that rests, where Python has no reason to collect anything for a long time."""
    batches = Batches(StreamingSettings(), store, lambda: 1_000)
    records, threshold = kafka([]), gc.get_threshold()
    gc.set_threshold(OBJECTS)
    try:
        held = []
        for number in range(2 * LET_GO_AFTER):
            batches(records.select("*"), number)
            held.append(len(ThreadSafeFinalizer.finalizers))
    finally:
        gc.set_threshold(*threshold)
    assert held[-1] <= held[LET_GO_AFTER - 1] < max(held)


def test_nothing_is_an_empty_batch(batches: Batches, kafka: Kafka) -> None:
    batch = batches.read(kafka([]))
    assert (batch.records, batch.offsets, batch.series) == (0, {}, ())


LONG = b"x" * (kafka_source.SMALL_BYTES + 1)


@pytest.mark.parametrize(
    ("record", "is_fetched"),
    [
        ({"value": LONG[1:]}, True),
        ({"value": LONG}, False),
        ({"topic": "dlq.a", "value": LONG, "headers": [{"key": "k", "value": LONG[2:]}]}, True),
        (
            {"topic": "dlq.a", "headers": [{"key": "k", "value": None}, {"key": "k", "value": LONG[2:]}]},
            False,
        ),
        ({"topic": "dlq.a"}, True),
    ],
)
def test_a_record_that_is_too_large_for_the_driver_is_read_by_the_executors(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch, record: dict[str, Any], is_fetched: bool
) -> None:
    by_executors = list[DataFrame]()
    monkeypatch.setattr(Reader, "_by_executors", lambda _, records, __: by_executors.append(records))
    Reader(2).read(kafka([record, {"offset": 7}]))(Context(EVENTS, 1, 5))
    assert len(by_executors) == (not is_fetched)


def test_no_list_of_headers_is_null_which_would_cost_the_square_of_their_number(kafka: Kafka) -> None:
    headers = [{"key": "k", "value": b"v"}]
    records = kafka([{"value": b"{}"}, {"topic": "dlq.a"}, {"topic": "dlq.a", "headers": headers}])
    assert [len(row.headers) for row in records.collect()] == [0, 0, 1]


def scattered(count: int, partitions: int = MANY_PARTITIONS) -> list[dict[str, Any]]:
    """So many dead letters of each of these partitions."""
    headers = [{"key": "__connect.errors.exception.message", "value": b"why"}]
    places = [{"partition": number, "offset": at} for number in range(partitions) for at in range(count)]
    return [{"topic": "dlq.a", "value": b"v", "headers": headers, **place} for place in places]


def test_a_scattered_batch_is_expected_after_one_and_read_in_another_way_to_the_same_result(
    kafka: Kafka, spark: SparkSession
) -> None:
    reader, before = Reader(10 * MANY_PARTITIONS), spark.conf.get(PROJECTION)

    def read(records: list[dict[str, Any]]) -> tuple[int, str | None]:
        summary = reader.read(kafka(records).repartition(3))(Context(EVENTS, 1, 5))
        offsets = {row["partition"]: (row["first"], row["last"]) for row in summary.offsets.to_dicts()}
        assert offsets == {row["partition"]: (0, 1) for row in records}
        return len(offsets), spark.conf.get(PROJECTION)

    for _ in range(2):
        assert read(scattered(2)) == (MANY_PARTITIONS, "NO_CODEGEN")
        assert read(scattered(2)) == (MANY_PARTITIONS, "NO_CODEGEN")
        assert read(scattered(2, 3)) == (3, before)
    read(scattered(2))
    assert read(scattered(2, 6 * MANY_PARTITIONS)) == (6 * MANY_PARTITIONS, before)  # executors read it
    assert reader.way is Way.EXECUTORS


def test_of_a_scattered_batch_each_task_fetches_no_more_than_tells_that_there_are_too_many(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, fetched = Reader(MANY_PARTITIONS), list[int]()
    classic = type(kafka([]))
    to_arrow = classic.toArrow

    def counting(records: DataFrame) -> pa.Table:
        fetched.append(len(found := to_arrow(records)))
        return found

    monkeypatch.setattr(classic, "toArrow", counting)
    reader.read(kafka(scattered(1)))
    reader.read(kafka(scattered(30)).repartition(3))
    assert fetched == [MANY_PARTITIONS, 3 * (MANY_PARTITIONS + 1)]
    assert reader.way is Way.EXECUTORS


def test_a_checkpoint_is_written_once_and_an_error_ends_a_query(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.readStream.format("rate-micro-batch").options(rowsPerBatch="1").load()
    merged = list[int]()

    def merge(_records: DataFrame, batch_id: int) -> None:
        merged.append(batch_id)
        if batch_id == 4:
            raise ConnectionError("not merged")

    writer = rows.writeStream.foreachBatch(merge)
    query = writer.options(**UNTRACKED, checkpointLocation=str(tmp_path)).start()
    with pytest.raises(StreamingQueryException, match="not merged"):
        query.awaitTermination(60)
    assert merged == [0, 1, 2, 3, 4]
    written = {path.name for path in tmp_path.joinpath("offsets").iterdir() if not path.name.startswith(".")}
    assert written == {"0"}


def test_a_batch_of_more_records_is_read_by_the_executors_and_so_is_the_next(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_executors, read = list[DataFrame](), Reader._by_executors

    def reading(reader: Reader, records: DataFrame, context: Context) -> Partial:
        by_executors.append(records)
        return read(reader, records, context)

    monkeypatch.setattr(Reader, "_by_executors", reading)
    reader = Reader(2)
    for count, large in ((2, 0), (3, 1), (1, 2), (1, 2)):
        reader.read(kafka([{}] * count))(Context(EVENTS, 1, 5))
        assert len(by_executors) == large


def test_refused_records_are_written_with_the_reason(kafka: Kafka) -> None:
    records = kafka(
        [
            {"value": encode(warm_up.example(TaskTimeout))[1]},
            {"key": b"k", "value": b"nonsense", "offset": 42, "partition": 3},
            {"topic": "dlq.deadwatch", "value": b"nonsense"},
        ]
    )
    (context,) = refused_records(records, EVENTS, copies=False).collect()
    assert (context.key, context.value) == (None, None)
    (row,) = refused_records(records, EVENTS, copies=True).collect()
    assert context.headers == row.headers
    assert (bytes(row.key), bytes(row.value)) == (b"k", b"nonsense")
    assert [(header.key, bytes(header.value)) for header in row.headers] == [
        ("__dlq.errors.topic", EVENTS.encode()),
        ("__dlq.errors.partition", b"3"),
        ("__dlq.errors.offset", b"42"),
        ("__dlq.errors.group", b"deadwatch"),
        ("__dlq.errors.message", b"The event is not a JSON object."),
    ]


@pytest.mark.parametrize(
    ("value_bytes", "is_copied"), [(MAX_COPIED_BYTES - 1, True), (MAX_COPIED_BYTES, False)]
)
def test_a_refused_record_is_copied_where_a_producer_takes_it_with_its_headers(
    kafka: Kafka, value_bytes: int, is_copied: bool
) -> None:
    records = kafka([{"key": b"k", "value": b"x" * value_bytes}])
    (row,) = refused_records(records, EVENTS, copies=True).collect()
    copied = (b"k", b"x" * value_bytes) if is_copied else (None, None)
    assert (row.key and bytes(row.key), row.value and bytes(row.value)) == copied
    assert len(row.headers) == 5
