"""How much of an order is in hand at a time."""

from random import Random

from redrive.librdkafka import ConsumerRecord
from redrive.move.record_queue import BYTES_IN_HAND, UNKNOWN_BYTES, RecordQueue
from tests.unit.redrive.move.fakes import FakeReader, dead_letter, message, record_queue, whole_order

COUNT, AT_A_TIME = 60, 4
LARGE = b"x" * (BYTES_IN_HAND // 8)


def large(partition: int, offset: int) -> ConsumerRecord:
    return message(partition, offset, LARGE)


class SlowReader(FakeReader):
    """Has a few records at a time."""

    def poll(self, most: int) -> list[ConsumerRecord]:
        return super().poll(min(most, AT_A_TIME))


def large_records() -> RecordQueue:
    return record_queue(SlowReader(whole_order(1, COUNT), Random(1), large), large)


def test_of_large_records_no_more_is_in_hand_than_fits() -> None:
    queue = large_records()
    in_hand, moved = [], []
    for _ in range(COUNT):
        queue.gather(1, 1_000)
        in_hand.append(queue.in_hand())
        pending = queue.take()
        moved += [pending.id] if pending else []
    assert max(in_hand) == 8 + AT_A_TIME - 1
    assert moved == [(0, offset) for offset in range(COUNT)]


def test_with_enough_in_hand_of_what_is_new_all_that_is_due_is_read_at_once() -> None:
    queue = large_records()
    queue.gather(1, 1_000)
    for _ in range(AT_A_TIME):
        pending = queue.take()
        assert pending is not None
        queue.hold(pending, 5)
    for _ in range(3):
        queue.gather(1, 1_000)
    assert (queue.in_hand(), queue.waiting()) == (2 * AT_A_TIME, AT_A_TIME)
    queue.gather(5, 1_000)
    assert (queue.in_hand(), queue.waiting()) == (3 * AT_A_TIME, 0)
    first = [pending.id for _ in range(AT_A_TIME) if (pending := queue.take()) is not None]
    assert first == [(0, offset) for offset in range(AT_A_TIME)]


def test_of_large_records_that_are_due_no_more_is_read_again_than_fits() -> None:
    queue = large_records()
    while queue.waiting() < COUNT:
        queue.gather(1, 1_000)
        while (pending := queue.take()) is not None:
            queue.hold(pending, 5)
    in_hand, moved = [], []
    for _ in range(COUNT):
        queue.gather(5, 1_000)
        in_hand.append(queue.in_hand())
        moved += [pending.id] if (pending := queue.take()) else []
    assert max(in_hand) == 8
    assert moved == [(0, offset) for offset in range(COUNT)]


def test_what_nobody_has_read_since_the_claim_is_taken_for_large() -> None:
    count = 2 * BYTES_IN_HAND // UNKNOWN_BYTES
    reader = FakeReader(whole_order(1, count), Random(1), dead_letter)
    queue = record_queue(reader)
    for offset in range(count):
        reader.partitions[0].offsets.read(offset)
    queue.resume()
    queue.gather(1, 1_000)
    assert queue.in_hand() == BYTES_IN_HAND // UNKNOWN_BYTES
