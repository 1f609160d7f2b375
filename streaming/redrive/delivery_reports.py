"""What librdkafka reports of each record: where Kafka has it, or that its batch was refused."""

from typing import NamedTuple

from confluent_kafka import KafkaError, Message

from streaming.redrive.moved import DeadLetter, wire_size
from streaming.redrive.received import BESIDE, PURGED


class Refusal(NamedTuple):
    """What was reported of one record of a batch that Kafka did not take."""

    dead_letter: DeadLetter | None
    """None: an event."""
    target: tuple[str, int]
    error: KafkaError
    size: int
    timestamp_ms: int
    keyed: bool


def delivered(  # noqa: PLR0917 -- the last two are the client's
    refusals: list[Refusal],
    runs: dict[tuple[str, int], list[tuple[int, int]]],
    dead_letter: DeadLetter | None,
    timestamp_ms: int,
    headers: list[tuple[str, bytes | None]],
    error: KafkaError | None,
    message: Message,
) -> None:
    """Knows no producer: one that is not referred to any more ends at once. Of a record that was not taken
    the message has neither headers nor time.
    """
    place = message.topic() or "", message.partition() or 0
    if error is None:
        _extend(runs.setdefault(place, []), message.offset() or 0)
    elif error.code() not in PURGED and error.code() != BESIDE:
        key = message.key()
        size = wire_size(key, message.value(), headers)
        refusals.append(Refusal(dead_letter, place, error, size, timestamp_ms, key is not None))


def _extend(runs: list[tuple[int, int]], offset: int) -> None:
    """Offsets of a partition come in their order."""
    if runs and runs[-1][1] == offset:
        runs[-1] = (runs[-1][0], offset + 1)
    else:
        runs.append((offset, offset + 1))
