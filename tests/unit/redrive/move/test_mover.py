"""Records of a partition are written in their order, however often their transactions are aborted."""

from collections import Counter
from random import Random
from types import SimpleNamespace
from typing import cast

import pytest
from confluent_kafka import TopicPartition
from hypothesis import given, settings
from hypothesis import strategies as st

from deadwatch.contract.headers import REDRIVE_ATTEMPTS
from deadwatch.orders.decision import Result
from deadwatch.orders.reasons import SkipReason
from redrive.librdkafka import ConsumerRecord
from redrive.move.batch import Outcome
from redrive.move.failures import AbortedError, MadeAnewError
from redrive.move.mover import Idle, Moved
from redrive.move.rewrite import ProducerRecord
from redrive.telemetry import EndedTransaction, Telemetry
from tests.unit.redrive.move.fakes import (
    COUNT,
    EVENTS,
    LARGE,
    MAX_RETRY_MS,
    NOW_MS,
    PARKED,
    PARTITIONS,
    REFUSED,
    RETRY_MS,
    FakeProducer,
    FakeReader,
    FakeRouter,
    KeyRouter,
    ParkingRouter,
    RefusingProducer,
    finish,
    mover,
    record,
)

READ = 20
"""Of each partition, before retention takes the rest."""


@given(
    seed=st.integers(0, 1 << 32),
    in_flight=st.sampled_from([1, 3, 7, 20]),
    rate=st.sampled_from([None, 20, 200]),
    per_target=st.sampled_from([None, 20, 1_000]),
)
@settings(max_examples=30, deadline=None)
def test_what_is_tried_again_or_slowed_down_is_not_overtaken(
    seed: int, in_flight: int, rate: float | None, per_target: float | None
) -> None:
    rng = Random(seed)
    producer = FakeProducer(rng, may_fail=6)
    limits = {
        "max_in_flight": in_flight,
        "records_per_second": rate,
        "per_target_records_per_second": per_target,
    }
    finish(mover(rng, producer, limits), lambda: rng.randrange(30))
    assert producer.committed == {partition: list(range(COUNT)) for partition in range(PARTITIONS)}


@given(
    seed=st.integers(0, 1 << 32),
    in_flight=st.sampled_from([1, 7, 100]),
    room=st.sampled_from([1, 3, 20]),
    bad=st.sets(st.integers(0, COUNT - 1), max_size=12),
)
@settings(max_examples=30, deadline=None)
def test_what_is_refused_alone_fails_and_the_others_keep_their_order(
    seed: int, in_flight: int, room: int, bad: set[int]
) -> None:
    """``room``: how many records a batch may have; of every partition the same offsets are too large."""
    rng = Random(seed)
    producer = RefusingProducer(rng, may_fail=0, most_bytes=room * 400)
    LARGE.clear()
    LARGE.update({offset: 400 * room + rng.randrange(5_000) for offset in bad})
    finish(mover(rng, producer, {"max_in_flight": in_flight}))
    LARGE.clear()
    kept = [offset for offset in range(COUNT) if offset not in bad]
    assert producer.committed == (dict.fromkeys(range(PARTITIONS), kept) if kept else {})


@pytest.mark.parametrize("router", [FakeRouter(), KeyRouter()], ids=["by partition", "by key"])
def test_a_target_that_takes_records_again_has_not_failed(router: FakeRouter) -> None:
    producer = FakeProducer(Random(1), may_fail=6)
    moving = mover(Random(2), producer, {"max_in_flight": 7}, router=router)
    finish(moving)
    assert (producer.may_fail, moving._deadlines.running()) == (0, False)


class FailingProducer(FakeProducer):
    """Some transactions fail at once, and no target is to blame."""

    def commit(self, offsets: list[TopicPartition], group: object) -> None:
        if self.may_fail:
            self.may_fail -= 1
            self.open = []
            raise AbortedError(REFUSED, {})
        super().commit(offsets, group)


def test_transactions_that_fail_at_once_are_tried_again_later_each_time() -> None:
    producer = FailingProducer(Random(1), may_fail=6)
    moving = mover(Random(2), producer, {"max_in_flight": 7, "records_per_second": None})
    now_ms, waits_ms = NOW_MS, []
    for _ in range(producer.may_fail):
        step = moving.step(now_ms)
        assert isinstance(step, Idle)
        waits_ms.append(step.until_ms - now_ms)
        now_ms = step.until_ms
    assert waits_ms == [100, 200, 400, 800, MAX_RETRY_MS, MAX_RETRY_MS]
    assert moving.step(now_ms) == Moved()
    producer.may_fail = 1
    assert moving.step(now_ms) == Idle(now_ms + RETRY_MS)
    finish(moving)
    assert producer.committed == {partition: list(range(COUNT)) for partition in range(PARTITIONS)}


def to_park(partition: int, offset: int) -> ConsumerRecord:
    """Of one partition all records have used up their attempts."""
    tried = [(REDRIVE_ATTEMPTS, b"9")] if partition == 0 else []
    origin: list[tuple[str, str | bytes | None]] = [("__connect.errors.topic", b"orders")]
    return record(partition, offset, 1, value=b"%d" % offset, headers=[*origin, *tried])


class UnparkedProducer(FakeProducer):
    """For some time the parked topic takes nothing."""

    def commit(self, offsets: list[TopicPartition], group: object) -> None:
        del offsets, group
        written, self.open = self.open, []
        if self.may_fail and any(one.topic == PARKED for one in written):
            raise AbortedError(REFUSED, {(PARKED, 0): REFUSED})
        self.records += [one for one in written if one.topic != EVENTS]


def test_a_parked_topic_that_fails_keeps_no_record_from_its_target() -> None:
    producer = UnparkedProducer(Random(1), may_fail=1)
    limits = {"max_in_flight": 7, "records_per_second": None}
    moving, now_ms = mover(Random(2), producer, limits, found=to_park, router=ParkingRouter()), NOW_MS
    while now_ms < NOW_MS + 800:  # so long it is left alone at least
        step = moving.step(now_ms)
        now_ms = step.until_ms if isinstance(step, Idle) else now_ms
    assert Counter(one.topic for one in producer.records) == {"orders": 2 * COUNT}
    producer.may_fail = 0
    finish(moving)
    assert Counter(one.topic for one in producer.records) == {"orders": 2 * COUNT, PARKED: COUNT}


@pytest.mark.parametrize("rate", [None, 1e9], ids=["the fast path", "a rate"])
def test_what_was_read_of_a_topic_made_anew_is_not_committed(rate: float | None) -> None:
    """It is made anew after the third transaction."""
    looks = iter([False, False, False])

    def require_topic() -> None:
        if next(looks, True):
            raise MadeAnewError("dlq.t")

    producer = FakeProducer(Random(1), 0)
    limits = {"max_in_flight": 5, "records_per_second": rate}
    with pytest.raises(MadeAnewError, match=r"topic dlq\.t was deleted and made anew"):
        finish(mover(Random(2), producer, limits, require_topic=require_topic))
    assert (len(producer.records), producer.open) == (15, [])


class TrimmedReader(FakeReader):
    """Retention takes what is left of a partition once a part of it was read."""

    def poll(self, most: int) -> list[ConsumerRecord]:
        for partition, state in self.partitions.items():
            offsets = state.offsets
            if READ <= offsets.position < COUNT:
                self.expired[partition] += COUNT - offsets.position
                offsets.expired(COUNT)
        return super().poll(min(most, READ))


@pytest.mark.parametrize("rate", [None, 1e9], ids=["the fast path", "a rate"])
@pytest.mark.parametrize("may_fail", [0, 3], ids=["at once", "after aborted transactions"])
def test_what_retention_takes_during_a_claim_is_told_once(may_fail: int, rate: float | None) -> None:
    told = Counter[Outcome]()
    telemetry = cast("Telemetry", SimpleNamespace(ended=lambda one: told.update(committed(one))))
    producer = FakeProducer(Random(1), may_fail)
    finish(mover(Random(2), producer, {"records_per_second": rate}, telemetry, reader_of=TrimmedReader))
    kept = list(range(READ))
    assert producer.committed == dict.fromkeys(range(PARTITIONS), kept)
    assert told[Outcome("", Result.SKIPPED, SkipReason.RECORD_GONE)] == PARTITIONS * (COUNT - READ)


def committed(ended: EndedTransaction) -> Counter[Outcome]:
    return Counter() if ended.error_type else ended.batch.outcomes


@pytest.mark.parametrize("dropped", [None, ["__connect.errors.t*"]], ids=["all headers", "without some"])
@pytest.mark.parametrize("may_fail", [0, 3], ids=["at once", "after aborted transactions"])
def test_the_fast_path_writes_what_deciding_would_write(may_fail: int, dropped: list[str] | None) -> None:
    """A rate, however high, looks at every record."""
    fast, decided = FakeProducer(Random(1), may_fail), FakeProducer(Random(1), 0)
    for producer, rate in ((fast, None), (decided, 1e9)):
        limits = {"max_in_flight": 20, "records_per_second": rate}
        finish(mover(Random(2), producer, limits, drop_headers=dropped))
    assert fast.fast > 20
    assert decided.fast == 0
    assert sorted(map(untimed, fast.records)) == sorted(map(untimed, decided.records))
    names = {name for record in fast.records for name, _ in record.headers}
    assert ("__connect.errors.topic" in names) is (dropped is None)


def untimed(record: ProducerRecord) -> tuple[int, bytes, list[tuple[str, bytes | None]]]:
    """All of it but when it was moved, or what it has waited for."""
    times = {"deadwatch.redrive.moved-at-ms", "deadwatch.redrive.not-before-ms"}
    headers = [pair for pair in record.headers if pair[0] not in times]
    return record.partition or 0, record.value or b"", headers
