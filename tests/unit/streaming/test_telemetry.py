"""What an OTLP receiver gets of streaming."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from deadwatch.runtime.otel import providers_of
from deadwatch.store.batch import Batch
from deadwatch.store.store import Store
from deadwatch.store.write.progress import BEHIND, EVENTS, PHASE
from streaming.batches import Batches
from streaming.settings import StreamingSettings
from streaming.telemetry import Telemetry
from tests.unit.collector.test_telemetry import LONG_MS, Receiver, receiver, texts

__all__ = ["receiver"]

NOW_MS = 1_800_000_000_000
READ = Batch(query_id="q", batch_id=3, committed_at_ms=NOW_MS, offsets={("t", 0): 40}, marks={})
BATCH = replace(READ, duration_ms=120, records=40, lag_ms=250, stream=EVENTS)


@pytest.fixture
def telemetry(receiver: Receiver) -> Iterator[Telemetry]:
    made = Telemetry(providers_of("streaming", "c1", receiver.url, {}))
    yield made
    made.close(LONG_MS)


def gauge(receiver: Receiver, name: str) -> dict[tuple[str, ...], float]:
    return {
        tuple(texts(point.attributes).values()): point.as_double or point.as_int
        for point in receiver.metric(name).gauge.data_points
    }


def test_a_batch_is_exported_once_with_its_lag_its_records_and_its_phases(
    telemetry: Telemetry, receiver: Receiver, url: str
) -> None:
    with Store(url) as store:
        batches = Batches(StreamingSettings(), store, lambda: NOW_MS, telemetry=telemetry)
        batches.merge(BATCH)
        batches.merge(BATCH)  # as when the answer to the first one was lost
    telemetry.close(LONG_MS)
    assert receiver.sums("messaging.client.consumed.messages") == {("kafka",): 40}
    assert gauge(receiver, "deadwatch.streaming.lag") == {(EVENTS,): 0.25}
    durations = {
        texts(point.attributes)["deadwatch.phase"]: (point.count, point.sum)
        for point in receiver.metric("deadwatch.streaming.batch.duration").histogram.data_points
    }
    assert durations["read"] == (1, 0.12)
    assert durations["merge"][0] == 1
    span = receiver.spans()["batch"]
    assert texts(span.attributes)["messaging.batch.message_count"] == "40"
    assert span.start_time_unix_nano == (NOW_MS - 120) * 1_000_000
    assert span.end_time_unix_nano >= NOW_MS * 1_000_000


def test_the_newest_figures_of_the_query_are_exported(telemetry: Telemetry, receiver: Receiver) -> None:
    telemetry.figures({BEHIND: {"dlq.a": 7}, PHASE: {"addBatch": 90}})
    telemetry.figures({BEHIND: {"dlq.a": 5}})
    telemetry.failed("kafka")
    telemetry.close(LONG_MS)
    assert gauge(receiver, "deadwatch.streaming.behind") == {("dlq.a",): 5}
    assert gauge(receiver, "deadwatch.streaming.phase.duration") == {("addBatch",): 0.09}
    assert receiver.sums("deadwatch.streaming.failures") == {("kafka",): 1}
