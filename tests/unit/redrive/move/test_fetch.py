"""What is hidden for now is asked for again, and is not taken for gone."""

from collections.abc import Collection
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from deadwatch.orders.reasons import MEANINGS, ParkReason, SkipReason
from redrive.librdkafka import ConsumerRecord, decoded
from redrive.move import fetch
from redrive.move.fetch import Fetcher, OffsetsByPartition
from redrive.move.record_queue import LATER_MS
from redrive.move.rewrite import AHEAD_MS
from tests.unit.redrive.move.fakes import (
    DLQ,
    FakeReader,
    Found,
    dead_letter,
    record,
    record_queue,
    whole_order,
)


def away(*_: object, **_options: object) -> NoReturn:
    raise KafkaException(KafkaError(KafkaError._TIMED_OUT))


class Kafka:
    """A partition from 2 to 8 of which a transaction from 5 on is open, as consumer and as admin client."""

    def get_watermark_offsets(self, _place: TopicPartition, timeout: float) -> tuple[int, int]:
        del timeout
        return 2, 5  # of committed records

    def list_offsets(self, places: Collection[TopicPartition], **_options: object) -> dict[Any, Any]:
        answer: Future[SimpleNamespace] = Future()
        answer.set_result(SimpleNamespace(offset=8))
        return dict.fromkeys(places, answer)

    def assign(self, places: list[TopicPartition]) -> None:
        assert places == []

    def unassign(self) -> None:
        pass


def test_every_reason_has_its_meaning_here_and_in_the_documentation() -> None:
    assert MEANINGS.keys() == {*SkipReason, *ParkReason}
    documented = (Path(__file__).parents[4] / "docs" / "redrive-semantics.md").read_text()
    assert [one for one, meaning in MEANINGS.items() if f"| `{one}` | {meaning} |" not in documented] == []


def test_what_an_open_transaction_hides_is_not_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    kafka = Kafka()
    monkeypatch.setattr(fetch, "Consumer", lambda _options: kafka)
    found = Fetcher({}, cast("Any", kafka)).fetch({("t", 0): [1, 5, 7, 8]})
    assert {offset: absence for (_, _, offset), absence in found.items()} == {
        1: SkipReason.PAYLOAD_EXPIRED,
        5: None,
        7: None,
        8: SkipReason.ORIGIN_MISSING,
    }


@pytest.mark.parametrize("name", ["bad topic!", "..", "t" * 250, "ü", "orders\n"])
def test_a_record_of_a_topic_that_cannot_be_is_missing(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """librdkafka has no answer for such a name, and Kafka would seem to be away."""
    monkeypatch.setattr(Kafka, "get_watermark_offsets", away)
    monkeypatch.setattr(fetch, "Consumer", lambda _options: Kafka())
    found = Fetcher({}, cast("Any", Kafka())).fetch({(name, 0): [1]})
    assert found == {(name, 0, 1): SkipReason.ORIGIN_MISSING}


@dataclass
class Hiding:
    """Does not find what it is asked for, the first time."""

    found: Found
    hides: bool = True

    def fetch(self, wanted: OffsetsByPartition) -> fetch.Found:
        found: fetch.Found = {
            (topic, partition, offset): None if self.hides else self.found(partition, offset)
            for (topic, partition), offsets in wanted.items()
            for offset in offsets
        }
        self.hides = False
        return found


def test_a_record_that_waited_and_cannot_be_read_yet_waits_a_little_longer() -> None:
    reader, hiding = FakeReader(whole_order(1, 9), Random(1), dead_letter), Hiding(dead_letter)
    queue = record_queue(reader, fetcher=hiding)
    reader.partitions[0].offsets.read(3)
    queue.resume()
    queue.gather(5_000, 9)
    assert (queue.in_hand(), queue.next_due_ms()) == (0, 5_000 + LATER_MS)
    queue.gather(5_000 + LATER_MS, 9)
    pending = queue.take()
    assert pending is not None
    assert (pending.id, pending.refused, pending.waited_ms) == ((0, 3), "", 0)
    queue.hold(pending, 50_000)
    hiding.hides = True
    queue.gather(50_000, 9)
    assert queue.next_due_ms() == 50_000 + LATER_MS
    queue.gather(50_000 + LATER_MS, 9)
    again = queue.take()
    assert again is not None
    assert again.waited_ms == 50_000, "its backoff is over, whenever it was read"


def test_an_origin_that_could_not_be_read_for_a_while_has_not_waited_for_its_backoff() -> None:
    reader = FakeReader(whole_order(1, 9), Random(1), shared)
    queue = record_queue(reader, fetcher=Hiding(shared))
    queue.add(reader.poll(1), 5_000)
    assert (queue.in_hand(), queue.next_due_ms()) == (0, 5_000 + LATER_MS)
    queue.gather(5_000 + LATER_MS, 9)
    pending = queue.take()
    assert pending is not None
    assert (pending.id, pending.waited_ms) == ((0, 0), 0)


SHARED = [("__dlq.errors.topic", b"t"), ("__dlq.errors.partition", b"0"), ("__dlq.errors.offset", b"4")]
ANOTHER = [
    (None, AHEAD_MS, ("", True)),
    (None, AHEAD_MS + 1, (SkipReason.ORIGIN_MISSING, False)),
    (b"found", AHEAD_MS + 1, ("", True)),
    (b"copied", 0, ("", False)),
]


@pytest.mark.parametrize(("copied", "later_ms", "moved"), ANOTHER)
def test_what_a_topic_that_was_made_anew_has_at_the_place_is_not_moved_for_it(
    copied: bytes | None, later_ms: int, moved: tuple[str, bool]
) -> None:
    there = record(0, 4, 1_000 + later_ms, value=b"found")
    letter = decoded(record(0, 0, 1_000, value=copied, headers=SHARED))
    (pending,), _ = fetch.rehydrate(cast("Any", Hiding(lambda *_: there, hides=False)), [letter])
    assert (pending.refused, pending.original is not letter) == moved


def shared(partition: int, offset: int) -> ConsumerRecord:
    """A dead letter of a share group, as Kafka writes it, or the record that it stands for."""
    origin = {"topic": DLQ, "partition": partition, "offset": offset, "group": "g"}
    headers = [(f"__dlq.errors.{name}", str(value).encode()) for name, value in origin.items()]
    return record(partition, offset, 1, value=b"v", headers=headers)
