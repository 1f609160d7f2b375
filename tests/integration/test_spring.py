"""Dead letters of a real Spring Kafka application: understood, counted, and put back."""

from collections import Counter

import polars as pl
import pytest

from deadwatch.deadletter.dialects import Reading
from deadwatch.deadletter.record import parse_record
from deadwatch.orders.order import Status
from lab import Lab, Truth, spring
from streaming.kernel.headers import parse
from tests.integration.redrive_place import Place, Seen
from tests.kafka_records import counted, table

COUNT = 6


@pytest.fixture(scope="module")
def failed(lab: Lab) -> dict[str, Place]:
    """The topics of the listeners, each of which has failed ``COUNT`` records."""
    before = lab.truth
    lab.fail_spring_listeners(COUNT)
    assert lab.truth - before == Truth(spring_dead_letters=len(spring.DLQ_OF) * COUNT)
    return {topic: Place(lab.bootstrap_servers, topic, dlq) for topic, dlq in spring.DLQ_OF.items()}


def as_rows(records: list[Seen]) -> list[dict[str, object]]:
    return [
        {name: getattr(record, name) for name in ("topic", "partition", "offset", "key", "value")}
        | {"timestamp_ms": record.timestamp, "headers": record.headers}
        for record in records
    ]


@pytest.mark.parametrize("topic", spring.DLQ_OF)
def test_class_message_and_origin_of_every_dead_letter_are_read(failed: dict[str, Place], topic: str) -> None:
    place = failed[topic]
    letters = place.read(place.dlq)
    assert len(letters) == COUNT
    origins = {(one.partition, one.offset): one.value for one in place.read(topic)}
    headers = table(as_rows(letters))["headers"].combine_chunks()
    rows = parse(headers, pl.Series([place.dlq] * COUNT), Reading()).to_dicts()
    wrapper = spring.DESERIALIZATION if topic == spring.UNREADABLE else spring.WRAPPER
    for letter, row in zip(letters, rows, strict=True):
        number = int((letter.value or b"").removeprefix(b"order-"))
        assert (row["dialect"], row["source_topic"], row["consumergroup"]) == ("spring", topic, spring.GROUP)
        assert (row["error_class"], row["message"]) == spring.thrown(topic, number)
        assert origins[row["source_partition"], row["source_offset"]] == letter.value
        assert row["broken"] is False
        read = parse_record(
            place.dlq, letter.partition, letter.offset, 0, letter.key, letter.value, [*letter.headers]
        )
        assert {name: getattr(read, name) for name in row if hasattr(read, name)}.items() <= row.items()
        assert read.wrapper == wrapper


def test_the_kernel_counts_a_cause_for_each_exception(failed: dict[str, Place]) -> None:
    records = [row for place in failed.values() for row in as_rows(place.read(place.dlq))]
    causes = counted(records).causes
    assert causes is not None
    found: Counter[tuple[str, str]] = Counter()
    for topic, error_class, count in causes.sums.select("source_topic", "error_class", "count").iter_rows():
        found[topic, error_class] += count
    assert found == Counter(
        (topic, spring.thrown(topic, number)[0]) for topic in spring.DLQ_OF for number in range(COUNT)
    )


@pytest.mark.parametrize(
    ("offset", "dropped", "retries"), [(0, None, 1), (1, [], 0)], ids=["default", "none"]
)
def test_a_listener_that_still_fails_retries_what_comes_without_the_headers_of_retries(
    lab: Lab, failed: dict[str, Place], offset: int, dropped: list[str] | None, retries: int
) -> None:
    place, retry_topic = failed[spring.RETRIED], f"{spring.RETRIED}-retry-1"
    before = len(place.read(retry_topic))
    with lab.spring_records_return(1):
        selection = {"records": [{"partition": 0, "offset": offset}]}
        order = place.order(selection=selection, drop_headers=dropped)
        assert place.redriven(order) == (Status.COMPLETED, "")
    assert len(place.read(retry_topic)) == before + retries


def test_fixed_listeners_process_what_is_put_back(lab: Lab, failed: dict[str, Place]) -> None:
    before = lab.truth
    for topic, place in failed.items():
        letters = place.read(place.dlq)
        came_back = len(letters) - COUNT
        assert came_back == (
            before.spring_dead_letters - len(failed) * COUNT if topic == spring.RETRIED else 0
        )
        newest = {one.value: {"partition": one.partition, "offset": one.offset} for one in letters}
        with lab.spring_fixed(COUNT):
            order = place.order(selection={"records": [*newest.values()]})
            assert place.redriven(order) == (Status.COMPLETED, "")
        back = [one for one in place.read() if any(name == "deadwatch.redrive.id" for name, _ in one.headers)]
        assert len(back) == COUNT + came_back
    assert lab.truth - before == Truth(spring_processed=len(spring.DLQ_OF) * COUNT)
    processed = Counter((one.key.decode(), one.value) for one in place.read(spring.PROCESSED))
    assert processed == Counter(
        (topic, b"order-%d" % number) for topic in spring.DLQ_OF for number in range(COUNT)
    )
