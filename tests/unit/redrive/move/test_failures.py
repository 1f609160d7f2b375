"""Which records are to blame, by what a client reports of batches that Kafka has refused."""

import pytest
from confluent_kafka import KafkaError

from redrive.move.failures import BATCH_BYTES, CulpritSearch, Refusal
from redrive.move.rewrite import ProducerRecord, wire_size
from tests.tables import named

TOO_LARGE, INVALID = KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_RECORD
BAD_TIME = KafkaError.INVALID_TIMESTAMP


def refusal(offset: int, code: int, *, partition: int = 0, size: int = 100, keyed: bool = True) -> Refusal:
    return Refusal((partition, offset), ("orders", partition), KafkaError(code), size, offset, keyed)


def crowd(code: int, count: int = 9) -> list[Refusal]:
    return [refusal(offset, code, size=100 + offset) for offset in range(count)]


EVENT = Refusal(None, ("deadwatch.events", 0), KafkaError(TOO_LARGE), 100, 0, keyed=True)
LARGER_THAN_A_BATCH = [refusal(offset, TOO_LARGE, size=BATCH_BYTES + offset) for offset in (3, 5)]
JUDGED: list[tuple[str, list[Refusal], dict[tuple[int, int], str] | None]] = [
    ("nothing was refused", [], None),
    ("a fault of the target", [EVENT, refusal(1, KafkaError.NOT_ENOUGH_REPLICAS)], None),
    ("a right that is missing", [refusal(1, KafkaError.TOPIC_AUTHORIZATION_FAILED)], None),
    (
        "one by itself in its partition",
        [refusal(1, TOO_LARGE), refusal(2, BAD_TIME, partition=1)],
        {(0, 1): "msg_size_too_large", (1, 2): "invalid_timestamp"},
    ),
    (
        "larger than a batch, so by themselves",
        [refusal(1, TOO_LARGE), *LARGER_THAN_A_BATCH],
        dict.fromkeys([(0, 3), (0, 5)], "msg_size_too_large"),
    ),
    (
        "invalid records, which Kafka names",
        crowd(INVALID),
        {(0, offset): "invalid_record" for offset in range(9)},
    ),
    (
        "without a key, beside others",
        [*crowd(INVALID), refusal(20, INVALID, keyed=False)],
        {(0, 20): "invalid_record"},
    ),
]


@pytest.mark.parametrize(("refusals", "reasons"), named(JUDGED))
def test_whose_fault_it_surely_is(
    refusals: list[Refusal], reasons: dict[tuple[int, int], str] | None
) -> None:
    assert CulpritSearch().judge(refusals) == reasons


@pytest.mark.parametrize(("code", "suspects"), [(TOO_LARGE, {(0, 8)}), (BAD_TIME, {(0, 0), (0, 8)})])
def test_of_a_crowd_the_extremes_are_tried_alone(code: int, suspects: set[tuple[int, int]]) -> None:
    culprits = CulpritSearch()
    assert culprits.judge(crowd(code)) == {}
    assert culprits.alone == suspects
    assert culprits.max_unanswered is None


def test_where_the_largest_is_taken_fewer_go_together_until_they_are_taken() -> None:
    culprits = CulpritSearch()
    culprits.judge(crowd(TOO_LARGE))
    culprits.taken((0, 8))
    assert culprits.alone == set()
    widths = []
    while culprits.max_unanswered != 1:
        assert culprits.judge(crowd(TOO_LARGE)) == {}
        widths.append(culprits.max_unanswered)
    assert widths == [2, 1]
    assert culprits.alone == set()


def test_where_both_extremes_are_taken_all_are_tried_alone() -> None:
    culprits = CulpritSearch()
    culprits.judge(crowd(BAD_TIME))
    for offset in (0, 8):
        culprits.taken((0, offset))
    culprits.judge(crowd(BAD_TIME))
    assert culprits.alone == {(0, offset) for offset in range(9)}


def test_what_is_not_smaller_than_one_that_was_refused_is_not_tried() -> None:
    culprits = CulpritSearch()
    record = ProducerRecord("orders", 0, 0, b"key", b"x" * 100, (("name", b"content"),))
    assert not culprits.refused(record)
    size = wire_size(record.key, record.value, record.headers)
    culprits.judge([refusal(1, TOO_LARGE, size=size)])
    assert culprits.refused(record) == "msg_size_too_large"
    assert not culprits.refused(record._replace(value=b"x" * 99))
    assert not culprits.refused(record._replace(topic="other"))


@pytest.mark.parametrize("length", [0, 1, 62, 63, 64, 65, 8_190, 8_192, 1 << 20])
def test_the_size_of_a_record_grows_with_each_byte(length: int) -> None:
    """An empty record of Kafka's format has seven bytes: lengths, attributes, time, offset and headers."""
    assert wire_size(None, None, ()) == 7
    assert wire_size(b"", b"x" * length, ()) < wire_size(b"", b"x" * (length + 1), ())
    assert wire_size(b"k", b"x" * length, ()) < wire_size(b"k", b"x" * length, (("", b""),))
