"""What a transaction tells of itself."""

from collections import Counter

from deadwatch.contract.events import RedriveOutcome, RedriveWritten
from deadwatch.orders.decision import Result
from redrive.move.batch import POSITION_EPOCH, Batch, EventFields, Outcome, events

FRAME = EventFields("o1", "o1", 3, "dlq", "c", "deadwatch.events")


def test_outcomes_come_first_and_ranges_of_targets_alone_behind_them() -> None:
    sent = Outcome("orders", Result.SENT, "", 1, 100, "f1")
    parked = Outcome("dlq.parked", Result.PARKED, "attempts_used_up", 5, fingerprint="f2")
    batch = Batch(outcomes=Counter({sent: 3, parked: 1}))
    runs = {("orders", 1): [(10, 12)], ("orders", 0): [(4, 5)], ("dlq.parked", 0): [(7, 8)]}
    reported = list(events(batch, runs, FRAME, 9, 1_000))
    assert [tuple(one.position) for one in reported] == [(POSITION_EPOCH, 9, ordinal) for ordinal in range(3)]
    assert [
        (one.outcome, one.records, one.fingerprint) for one in reported if isinstance(one, RedriveOutcome)
    ] == [("sent", 3, "f1"), ("parked", 1, "f2")]
    (written,) = [one for one in reported if isinstance(one, RedriveWritten)]
    assert [(one.partition, one.first, one.end) for one in written.written] == [(0, 4, 5), (1, 10, 12)]
    assert (written.order, written.target_topic, written.happened_at_ms) == ("o1", "orders", 1_000)


def test_many_ranges_are_several_events() -> None:
    batch = Batch(outcomes=Counter({Outcome("orders", Result.SENT): 1_001}))
    runs = {("orders", 0): [(2 * number, 2 * number + 1) for number in range(1_001)]}
    reported = [one for one in events(batch, runs, FRAME, 1, 1) if isinstance(one, RedriveWritten)]
    assert [len(one.written) for one in reported] == [500, 500, 1]
    assert len({one.position for one in reported}) == 3
