"""What redrives did, and what came back from them."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pytest
from pyspark.sql import DataFrame

from collector.contract.events import Position, RedriveOutcome, encode
from streaming.aggregates import redrives
from streaming.aggregates.one_pass import summarise
from streaming.decode import decode
from streaming.store.batch import SeriesDelta

Kafka = Callable[[Sequence[Mapping[str, Any]]], DataFrame]

EVENTS = "deadwatch.events"
pytestmark = pytest.mark.spark


def outcome(ordinal: int, records: int, what: str, why: str = "") -> dict[str, Any]:
    event = RedriveOutcome(
        source="redrive:o1",
        position=Position(1, 1, ordinal),
        happened_at_ms=5,
        observed_at_ms=5,
        kafka_cluster="c1",
        order="o1",
        dlq_topic="dlq.orders",
        target_topic="orders",
        outcome=what,
        outcome_reason=why,
        attempt=1,
        records=records,
        backoff_ms=0,
        fingerprint="f1",
    )
    return {"value": encode(event)[1]}


def letter(topic: str, order: bytes | None = None, *, redriven: bool = True) -> dict[str, Any]:
    headers = [("__connect.errors.topic", b"orders")]
    own = [("deadwatch.redrive.id", order), ("deadwatch.redrive.group", b"f1")] if redriven else []
    return {"topic": topic, "headers": [*headers, *own]}


def values(deltas: Iterable[SeriesDelta]) -> Counter[tuple[str, ...]]:
    found: Counter[tuple[str, ...]] = Counter()
    for one in deltas:
        found[one.series.name, *json.loads(one.labels).values()] += one.value
    return found


def test_outcomes_are_added_up_by_topic_and_by_order(kafka: Kafka) -> None:
    records = [
        outcome(0, 7, "sent"),
        outcome(1, 2, "skipped", "no_origin"),
        outcome(2, 5, "sent"),
        outcome(2, 5, "sent"),
    ]
    assert values(redrives.deltas(summarise(decode(kafka(records), EVENTS)))) == {
        ("redrive_records", "c1", "dlq.orders", "orders", "sent"): 12,
        ("redrive_records", "c1", "dlq.orders", "orders", "skipped"): 2,
        ("redrive_orders", "o1", "sent", ""): 12,
        ("redrive_orders", "o1", "skipped", "no_origin"): 2,
        ("redrive_groups", "dlq.orders", "f1", "sent"): 12,
        ("redrive_groups", "dlq.orders", "f1", "skipped"): 2,
    }


def test_what_came_back_is_bounced(kafka: Kafka) -> None:
    letters = [letter("dlq.orders", b"o1"), letter("dlq.orders", b"o1"), letter("dlq.orders", b"o2")]
    decoded = decode(kafka([*letters, letter("dlq.orders", redriven=False)]), EVENTS)
    assert values(redrives.bounced(partial(redrives.came_back, decoded), summarise(decoded), "c1")) == {
        ("redrive_records", "c1", "dlq.orders", "orders", "bounced"): 3,
        ("redrive_orders", "o1", "bounced", ""): 2,
        ("redrive_orders", "o2", "bounced", ""): 1,
        ("redrive_groups", "dlq.orders", "f1", "bounced"): 3,
    }


def test_what_a_redrive_has_parked_did_not_come_back(kafka: Kafka) -> None:
    parked = letter("dlq.orders.parked", b"o1")
    parked["headers"].append(("deadwatch.redrive.parked-reason", b"attempts_used_up"))
    decoded = decode(kafka([parked, letter("dlq.orders", b"o1")]), EVENTS)
    assert values(redrives.bounced(partial(redrives.came_back, decoded), summarise(decoded), "c1")) == {
        ("redrive_records", "c1", "dlq.orders", "orders", "bounced"): 1,
        ("redrive_orders", "o1", "bounced", ""): 1,
        ("redrive_groups", "dlq.orders", "f1", "bounced"): 1,
    }


def test_a_redrive_without_id_bounces_all_the_same(kafka: Kafka) -> None:
    decoded = decode(kafka([letter("dlq.orders", None)]), EVENTS)
    assert values(redrives.bounced(partial(redrives.came_back, decoded), summarise(decoded), "c1")) == {
        ("redrive_records", "c1", "dlq.orders", "orders", "bounced"): 1,
        ("redrive_orders", "", "bounced", ""): 1,
        ("redrive_groups", "dlq.orders", "f1", "bounced"): 1,
    }


def test_what_came_back_beyond_the_bound_is_other(kafka: Kafka) -> None:
    orders = redrives.MAX_ROWS + 3
    decoded = decode(kafka([letter("dlq.orders", b"o%d" % number) for number in range(orders)]), EVENTS)
    found = values(redrives.bounced(partial(redrives.came_back, decoded), summarise(decoded), "c1"))
    assert found["redrive_records", "c1", "dlq.orders", "orders", "bounced"] == redrives.MAX_ROWS
    assert found["redrive_records", "c1", "other", "other", "bounced"] == 3
    assert found["cardinality_limited", "redrive_records"] == 3


def rejected(offset: int, group: bytes = b"g1", *own: tuple[str, bytes]) -> dict[str, Any]:
    told = {"topic": b"orders", "partition": b"1", "offset": b"%d" % offset, "group": group}
    return {
        "topic": "dlq.g1",
        "headers": [*((f"__dlq.errors.{name}", value) for name, value in told.items()), *own],
    }


def test_the_origins_of_a_share_groups_dead_letters_are_told_once_each(kafka: Kafka) -> None:
    ours = ("deadwatch.redrive.id", b"o1")
    records = [rejected(5), rejected(4), rejected(5), rejected(9, b"g2"), rejected(7, b"g1", ours)]
    found = redrives.origins(decode(kafka([*records, letter("dlq.orders", redriven=False)]), EVENTS), "c1")
    assert {(one.source_topic, one.source_partition, one.dlq_topic) for one in found} == {
        ("orders", 1, "dlq.g1")
    }
    assert sorted(tuple(sorted(one.offsets)) for one in found) == [(4, 5), (9,)]
    assert len({one.fingerprint for one in found}) == 2
