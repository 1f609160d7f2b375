"""Which records are to blame, by what a client reports of batches that Kafka has refused."""

import pytest
from confluent_kafka import KafkaError

from streaming.redrive.delivery_reports import Refusal
from streaming.redrive.isolation import Isolation
from streaming.redrive.moved import Record, wire_size
from streaming.redrive.transaction import BATCH_BYTES

TOO_LARGE, INVALID = KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_RECORD
BAD_TIME = KafkaError.INVALID_TIMESTAMP


def refusal(offset: int, code: int, *, partition: int = 0, size: int = 100, keyed: bool = True) -> Refusal:
    return Refusal((partition, offset), ("orders", partition), KafkaError(code), size, offset, keyed)


def crowd(code: int, count: int = 9) -> list[Refusal]:
    return [refusal(offset, code, size=100 + offset) for offset in range(count)]


def test_what_is_no_record_s_fault_is_not_judged() -> None:
    event = Refusal(None, ("deadwatch.events", 0), KafkaError(TOO_LARGE), 100, 0, keyed=True)
    target = refusal(1, KafkaError.NOT_ENOUGH_REPLICAS)
    assert Isolation().judge([]) is None
    assert Isolation().judge([event, target]) is None


def test_one_by_itself_is_to_blame() -> None:
    words = Isolation().judge([refusal(1, TOO_LARGE), refusal(2, BAD_TIME, partition=1)])
    assert words == {(0, 1): "msg_size_too_large", (1, 2): "invalid_timestamp"}


def test_larger_ones_than_a_batch_were_by_themselves() -> None:
    large = [refusal(offset, TOO_LARGE, size=BATCH_BYTES + offset) for offset in (3, 5)]
    words = Isolation().judge([refusal(1, TOO_LARGE), *large])
    assert words is not None
    assert words.keys() == {(0, 3), (0, 5)}


def test_kafka_names_records_that_are_invalid() -> None:
    words = Isolation().judge(crowd(INVALID))
    assert words == {(0, offset): "invalid_record" for offset in range(9)}


def test_of_records_without_a_key_and_others_those_without_are_to_blame() -> None:
    words = Isolation().judge([*crowd(INVALID), refusal(20, INVALID, keyed=False)])
    assert words == {(0, 20): "invalid_record"}


@pytest.mark.parametrize(("code", "suspects"), [(TOO_LARGE, {(0, 8)}), (BAD_TIME, {(0, 0), (0, 8)})])
def test_of_a_crowd_the_extremes_are_tried_alone(code: int, suspects: set[tuple[int, int]]) -> None:
    isolation = Isolation()
    assert isolation.judge(crowd(code)) == {}
    assert isolation.alone == suspects
    assert isolation.together is None


def test_where_the_largest_is_taken_fewer_go_together_until_they_are_taken() -> None:
    isolation = Isolation()
    isolation.judge(crowd(TOO_LARGE))
    isolation.taken((0, 8))
    assert isolation.alone == set()
    widths = []
    while isolation.together != 1:
        assert isolation.judge(crowd(TOO_LARGE)) == {}
        widths.append(isolation.together)
    assert widths == [2, 1]
    assert isolation.alone == set()


def test_where_both_extremes_are_taken_all_are_tried_alone() -> None:
    isolation = Isolation()
    isolation.judge(crowd(BAD_TIME))
    for offset in (0, 8):
        isolation.taken((0, offset))
    isolation.judge(crowd(BAD_TIME))
    assert isolation.alone == {(0, offset) for offset in range(9)}


def test_what_is_not_smaller_than_one_that_was_refused_is_not_tried() -> None:
    isolation = Isolation()
    record = Record("orders", 0, 0, b"key", b"x" * 100, (("name", b"content"),))
    assert not isolation.refuses(record)
    size = wire_size(record.key, record.value, record.headers)
    isolation.judge([refusal(1, TOO_LARGE, size=size)])
    assert isolation.refuses(record)
    assert not isolation.refuses(record._replace(value=b"x" * 99))
    assert not isolation.refuses(record._replace(topic="other"))


@pytest.mark.parametrize("length", [0, 1, 62, 63, 64, 65, 8_190, 8_192, 1 << 20])
def test_the_size_of_a_record_grows_with_each_byte(length: int) -> None:
    """An empty record of Kafka's format has seven bytes: lengths, attributes, time, offset and headers."""
    assert wire_size(None, None, ()) == 7
    assert wire_size(b"", b"x" * length, ()) < wire_size(b"", b"x" * (length + 1), ())
    assert wire_size(b"k", b"x" * length, ()) < wire_size(b"k", b"x" * length, (("", b""),))
