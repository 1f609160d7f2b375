"""A batch changes the store in the same way, however it is read."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame

from collector.contract.events import KINDS, Position, encode
from streaming import warm_up
from streaming.aggregates import plain_pass
from streaming.aggregates.plain_pass import LARGE_BATCH, Planned
from streaming.batches import Batches, Which
from streaming.settings import StreamingSettings
from streaming.store.batch import Batch, combined
from streaming.store.store import Store

Kafka = Callable[[Sequence[Mapping[str, Any]]], DataFrame]

pytestmark = pytest.mark.spark

WHICH = Which("q", 1, 0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


@pytest.fixture
def batches(store: Store, tmp_path: Path) -> Batches:
    settings = StreamingSettings(checkpoint=tmp_path / "checkpoint")
    return Batches(settings, store, lambda: 1_000)


def every_kind(first: int = 0) -> list[dict[str, Any]]:
    """An event of every kind, plain or not, and dead letters of two causes."""
    examples = [
        dataclasses.replace(
            warm_up._example(cls), position=Position(1, first + number), source=f"s{number % 2}"
        )
        for number, cls in enumerate(KINDS.values())
    ]
    events = [{"key": encode(one)[0], "value": encode(one)[1]} for one in examples]
    headers = [{"key": "__connect.errors.exception.message", "value": text} for text in (b"why", b"how")]
    letters = [{"topic": "dlq.a", "value": b"v", "headers": [one]} for one in (*headers, headers[0])]
    return [*events, *letters]


def told(batch: Batch) -> dict[str, object]:
    found = {field.name: getattr(batch, field.name) for field in dataclasses.fields(batch)}
    series = {(one.series.name, one.labels): (one.value, one.detail) for one in combined(batch.series)}
    samples = sorted((one.fingerprint, one.offset) for one in batch.samples)
    return {**found, "series": series, "samples": samples}


def test_every_way_of_reading_comes_to_the_same_batch(
    batches: Batches, kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = kafka(every_kind())
    fetched = batches._read(records.coalesce(1), WHICH, Planned(100, 100))
    by_workers = batches._read(records, WHICH, Planned(LARGE_BATCH, 100))
    letters_by_spark = batches._read(records, WHICH, None)
    monkeypatch.setattr(plain_pass, "read", lambda *_, **__: None)
    thorough = batches._read(records, WHICH, None)
    assert thorough.records == len(KINDS) + 3
    assert len(thorough.groups) == 2
    assert thorough.events
    assert told(fetched) == told(by_workers) == told(letters_by_spark) == told(thorough)


@pytest.mark.parametrize("planned", [None, Planned(100, 100)], ids=["by workers", "fetched"])
def test_what_was_counted_before_is_not_counted_again(
    batches: Batches, store: Store, kafka: Kafka, planned: Planned | None
) -> None:
    assert store.apply(batches._read(kafka(every_kind()), WHICH, planned))
    again = [record for record in every_kind() if "topic" not in record]
    new = [record for record in every_kind(first=100) if "topic" not in record]
    assert batches._read(kafka(again), WHICH, planned).records == 0
    assert batches._read(kafka([*again, *new]), WHICH, planned).records == len(new)


@pytest.mark.parametrize("planned", [None, Planned(100, 100)], ids=["by workers", "fetched"])
def test_a_chunk_that_was_sent_twice_counts_once(
    batches: Batches, kafka: Kafka, planned: Planned | None
) -> None:
    chunk = [record for record in every_kind() if "topic" not in record]
    batch = batches._read(kafka([*chunk, *chunk]), WHICH, planned)
    assert sum(one.value for one in batch.series if one.series.name == "events") == len(chunk)
