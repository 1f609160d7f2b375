"""What an OTLP receiver gets of streaming."""

import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from streaming.patience import PatientStore
from streaming.settings import StreamingSettings
from streaming.store.batch import Batch
from streaming.store.stream_figures import BEHIND, PHASE
from streaming.telemetry import SILENT, telemetry_of
from streaming.telemetry_otlp import OtlpTelemetry
from tests.unit.test_collector_telemetry import LONG_MS, Receiver, receiver, texts

__all__ = ["receiver"]

NOW_MS = 1_800_000_000_000
BATCH = Batch(
    query_id="q",
    batch_id=3,
    committed_at_ms=NOW_MS,
    duration_ms=120,
    records=40,
    lag_ms=250,
    offsets={},
    marks={},
)


@pytest.fixture
def telemetry(receiver: Receiver) -> Iterator[OtlpTelemetry]:
    made = OtlpTelemetry(receiver.url, "c1")
    yield made
    made.close(LONG_MS)


@pytest.fixture
def store(telemetry: OtlpTelemetry, tmp_path: Path) -> Iterator[PatientStore]:
    settings = StreamingSettings(store_url=f"sqlite:///{tmp_path / 'deadwatch.db'}")
    with PatientStore(settings, threading.Event(), Random(1), telemetry=telemetry) as opened:
        yield opened


def gauge(receiver: Receiver, name: str) -> dict[tuple[str, ...], float]:
    return {
        tuple(texts(point.attributes).values()): point.as_double or point.as_int
        for point in receiver.metric(name).gauge.data_points
    }


def test_a_batch_is_told_once_with_its_lag_its_records_and_its_phases(
    store: PatientStore, telemetry: OtlpTelemetry, receiver: Receiver
) -> None:
    assert store.apply(BATCH)
    assert not store.apply(BATCH)  # as after a restart
    telemetry.close(LONG_MS)
    assert receiver.sums("messaging.client.consumed.messages") == {("kafka",): 40}
    assert gauge(receiver, "deadwatch.streaming.lag") == {(): 0.25}
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


def test_what_the_query_says_of_its_work_is_told(
    store: PatientStore, telemetry: OtlpTelemetry, receiver: Receiver
) -> None:
    store.note_figures({BEHIND: {"dlq.a": 7}, PHASE: {"addBatch": 90}})
    store.note_figures({BEHIND: {"dlq.a": 5}})
    telemetry.failed("kafka")
    telemetry.close(LONG_MS)
    assert gauge(receiver, "deadwatch.streaming.behind") == {("dlq.a",): 5}
    assert gauge(receiver, "deadwatch.streaming.phase.duration") == {("addBatch",): 0.09}
    assert receiver.sums("deadwatch.streaming.failures") == {("kafka",): 1}


def test_without_an_endpoint_nothing_is_told() -> None:
    assert telemetry_of("", "c1", {}) is SILENT
