"""Meters that begin anew, topics that come and go: what the store makes of brokers' snapshots."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

import pytest
from sqlalchemy import Connection, select

from collector.contract.events import (
    BrokerSnapshot,
    DeadLetterTopic,
    DeadLetterTopicsSnapshot,
    Event,
    Position,
    ShareGroup,
)
from streaming.store import schema
from streaming.store.batch import Batch
from streaming.store.share_groups import Meters, Place, States, following
from streaming.store.store import Store

PLACE = Place("c", "g", "b1")
EMPTY: States = {}


def snapshot(records: int, started_at_ms: int = 1, *, group: str = "g", broker: str = "b1") -> BrokerSnapshot:
    return BrokerSnapshot(
        source=f"broker:{broker}",
        position=Position(records),
        happened_at_ms=5,
        observed_at_ms=5,
        kafka_cluster="c",
        broker=broker,
        started_at_ms=started_at_ms,
        share_groups=(
            ShareGroup(
                consumergroup=group, records=records, produce_requests=records, failed_produce_requests=0
            ),
        ),
    )


@dataclass(frozen=True)
class Case:
    name: str
    events: tuple[BrokerSnapshot, ...]
    total: int


CASES = [
    Case("what was counted before we looked counts", (snapshot(10),), 10),
    Case("only what is more is added", (snapshot(10), snapshot(13), snapshot(13)), 13),
    Case("a meter that is less than it was began anew", (snapshot(10), snapshot(4)), 14),
    Case("a later start counts in full, however far it has come", (snapshot(10), snapshot(12, 2)), 22),
    Case("a start without dead letters adds none", (snapshot(10), snapshot(0, 2), snapshot(3, 2)), 13),
    Case("no total overflows", (snapshot(2**63 - 1), snapshot(5, 2)), 2**63 - 1),
    Case("other groups and brokers change nothing", (snapshot(10), snapshot(4, broker="b2")), 10),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_totals_never_go_back(case: Case) -> None:
    states = reduce(following, case.events, EMPTY)
    assert states[PLACE].records_total == states[PLACE].produce_requests_total == case.total
    assert states[PLACE].failed_produce_requests_total == 0


def test_a_group_that_is_not_told_keeps_its_total() -> None:
    states = following(following(EMPTY, snapshot(10)), replace(snapshot(0, 2), share_groups=()))
    assert states[PLACE] == Meters(1, 10, 10, 0, 10, 10, 0, 5)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store(url) as opened:
        yield opened


def apply(store: Store, batch_id: int, *events: Event) -> None:
    store.apply(
        Batch(query_id="q", batch_id=batch_id, committed_at_ms=1, offsets={}, marks={}, events=events)
    )


def test_totals_go_on_over_batches(store: Store, connection: Connection) -> None:
    apply(store, 0, snapshot(10), snapshot(12))
    apply(store, 1, snapshot(2, 2))
    apply(store, 1, snapshot(9, 3))  # the same batch once more
    (row,) = connection.execute(select(schema.share_groups))
    assert (row.consumergroup, row.records, row.records_total, row.started_at_ms) == ("g", 2, 14, 2)


def topics(source: str, **records: int) -> DeadLetterTopicsSnapshot:
    return DeadLetterTopicsSnapshot(
        source=source,
        position=Position(1),
        happened_at_ms=5,
        observed_at_ms=6,
        kafka_cluster="c",
        dead_letter_topics=tuple(
            DeadLetterTopic(topic=topic, partitions=1, records=number, oldest_at_ms=3, named_by="", read=True)
            for topic, number in records.items()
        ),
    )


def test_a_topic_goes_when_the_collector_that_told_it_does_so_no_longer(
    store: Store, connection: Connection
) -> None:
    def held() -> dict[str, int]:
        connection.rollback()
        return {row.dlq_topic: row.records for row in connection.execute(select(schema.dead_letter_topics))}

    apply(store, 0, topics("one", a=1, b=2), topics("one", a=5, b=2))
    apply(store, 1, topics("two", b=3, c=4))
    assert held() == {"a": 5, "b": 3, "c": 4}
    apply(store, 2, topics("one"))
    assert held() == {"b": 3, "c": 4}
    apply(store, 3, topics("two", b=0))
    assert held() == {"b": 0}
