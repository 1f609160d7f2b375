"""The merge of partitions: complete and in order however it is cut, and it always moves."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.browsing.browser import RecordOrder, RecordQuery, decode_cursor, encode_cursor
from api.browsing.merge import Budget, Merge, Reading, WindowReader, Windows
from api.errors import InvalidCursorError
from deadwatch.deadletter.record import DeadLetter, parse_record
from deadwatch.orders.errors import KafkaUnavailableError
from deadwatch.orders.order import Interval
from deadwatch.runtime.kafka import KafkaConnection
from redrive.cluster import Cluster

Log = Mapping[int, DeadLetter]
"""What a partition holds, by offset: with gaps."""

PARTITIONS = st.lists(
    st.dictionaries(st.integers(0, 400), st.integers(0, 50), max_size=40), min_size=1, max_size=4
)


class Kafka:
    """Reads windows as the real reader does, ``most`` records at a time."""

    def __init__(self, logs: list[Log], most: int) -> None:
        self._logs, self._most = logs, most

    def read(self, windows: Windows, budget: Budget) -> dict[int, Reading]:
        left = self._most
        found = {partition: Reading(first) for partition, (first, _) in windows.items()}
        for partition, (first, end) in windows.items():
            for offset in sorted(self._logs[partition]):
                if first <= offset < end and left:
                    found[partition].records.append(self._logs[partition][offset])
                    found[partition].position = offset + 1
                    left -= 1
                    budget.records -= 1
            if left:
                found[partition].position = end
        return found


def logs_of(partitions: list[dict[int, int]]) -> list[Log]:
    return [
        {
            offset: parse_record("dlq.t", number, offset, time_ms, None, b"v", ())
            for offset, time_ms in times.items()
        }
        for number, times in enumerate(partitions)
    ]


@settings(max_examples=30)
@given(
    partitions=PARTITIONS,
    most=st.integers(1, 200),
    budget=st.integers(1, 300),
    page=st.integers(1, 50),
    order=st.sampled_from(RecordOrder),
)
def test_pages_together_hold_every_record_once_and_each_partition_in_its_order(
    partitions: list[dict[int, int]], most: int, budget: int, page: int, order: RecordOrder
) -> None:
    logs = logs_of(partitions)
    left: dict[int, Interval] = dict.fromkeys(range(len(logs)), (0, 401))
    given_out: list[DeadLetter] = []
    while left:
        before = dict(left)
        merge = Merge(left, Kafka(logs, max(most, len(logs))).read, newest_first=order is RecordOrder.NEWEST)
        given_out += islice(merge.records(Budget(budget, 1 << 30, 1, lambda: 0)), page)
        left = merge.left
        assert left != before
        if left:
            query = RecordQuery(topic="dlq.t", order=order)
            assert decode_cursor(query, encode_cursor(query, left)) == left
    for number, log in enumerate(logs):
        offsets = [record.offset for record in given_out if record.partition == number]
        assert offsets == sorted(log, reverse=order is RecordOrder.NEWEST)


@settings(max_examples=30)
@given(
    times=st.lists(st.integers(0, 1_000), min_size=1, max_size=60),
    parts=st.integers(1, 4),
    order=st.sampled_from(RecordOrder),
)
def test_where_partitions_are_in_time_order_so_is_the_whole(
    times: list[int], parts: int, order: RecordOrder
) -> None:
    logs = logs_of([dict(enumerate(sorted(times[part::parts]))) for part in range(parts)])
    left = {number: (0, len(log)) for number, log in enumerate(logs)}
    merge = Merge(left, Kafka(logs, 1_000).read, newest_first=order is RecordOrder.NEWEST)
    found = [record.timestamp_ms for record in merge.records(Budget(1_000, 1_000, 1, lambda: 0))]
    assert found == sorted(times, reverse=order is RecordOrder.NEWEST)


def test_without_time_nothing_is_read_and_nothing_is_lost() -> None:
    logs = logs_of([{0: 1}])
    merge = Merge({0: (0, 1)}, Kafka(logs, 10).read, newest_first=True)
    assert [*merge.records(Budget(10, 10, 0, lambda: 0))] == []
    assert (merge.moved, merge.left) == (False, {0: (0, 1)})


@pytest.mark.parametrize(
    "cursor", ["", "x", "====", "A" * 50_000, "eJyLrlYqLU4tUrJSUEpMTk1JTVGqBQBJOAbE", "\ud800", "é"]
)
def test_a_cursor_that_is_none_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidCursorError):
        decode_cursor(RecordQuery(topic="dlq.t"), cursor)


def test_a_cursor_that_an_older_version_gave_out_stays_good() -> None:
    times = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"}
    rest = {"partition": 0, "offset": 5, "filter": "attempts < 3", "order": "oldest"}
    query = RecordQuery.model_validate({"topic": "dlq.t", **times, **rest})
    assert query.digest == "9501174c2328e50a"


@pytest.mark.parametrize(
    "left", [{}, {0: (5, 5)}, {0: (7, 5)}, {-1: (0, 1)}, {0: (-1, 1)}, {2**31: (0, 1)}, {0: (0, 2**63)}]
)
def test_a_cursor_of_places_that_cannot_be_is_refused(left: dict[int, Interval]) -> None:
    query = RecordQuery(topic="dlq.t")
    with pytest.raises(InvalidCursorError):
        decode_cursor(query, encode_cursor(query, left))
    with pytest.raises(InvalidCursorError):
        decode_cursor(RecordQuery(topic="dlq.other"), encode_cursor(query, {0: (0, 1)}))


@pytest.mark.parametrize("client", [Cluster, partial(WindowReader, topic="dlq.t")], ids=["admin", "consumer"])
def test_a_file_that_the_settings_of_kafka_name_and_that_is_none_is_said(
    client: Callable[[KafkaConnection], object], tmp_path: Path
) -> None:
    """As one that was replaced since the process began: every new client reads it."""
    (file := tmp_path / "ca.pem").write_text("no certificate")
    settings = KafkaConnection(security_protocol="SSL", ssl_ca_location=file)
    said = f"ssl.ca.location failed: .*; correct the settings of Kafka: ssl.ca.location is {file}$"
    with pytest.raises(KafkaUnavailableError, match=said):
        client(settings)
