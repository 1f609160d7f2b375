"""Most records of an order go to their target without being decoded.

What is written is what ``Decider`` would write.
"""

from typing import Final

from deadwatch.contract import headers as names
from deadwatch.deadletter.dropped import without
from redrive.librdkafka import ConsumerRecord, headers_of
from redrive.move.batch import Batch
from redrive.move.decide import Decider
from redrive.move.record_queue import RecordQueue
from redrive.move.rewrite import ProducerRecord, shared_headers
from redrive.move.routes import FIRST_ATTEMPT
from redrive.move.transaction import TransactionalProducer

ZERO: Final = ord("0")


class FastPath:
    """For one order that selects all records and has no rate."""

    def __init__(self, decider: Decider, queue: RecordQueue, producer: TransactionalProducer) -> None:
        self._order, self._routes, self._culprits = decider.order.id, decider.routes, decider.culprits
        self._decoder, self._producer = queue.decoder, producer
        self._left_out = queue.handled.reason if queue.handled else None

    def write(self, messages: list[ConsumerRecord], batch: Batch, now_ms: int) -> None:
        """Write the records up to the first of which more has to be known; that one and all behind are left.

        Those that are written are in the batch, also where this raises.
        """
        cause, route, culprits = None, None, self._culprits
        for message in messages:
            headers = headers_of(message)
            known = None if headers is None else self._decoder.cause(headers)
            if headers is None or known is None:
                return
            if known[0] is not cause:
                cause = known[0]
                route = self._routes.known(cause)
            digits, timestamp_ms = known[1], message.timestamp()[1]
            if route is None or not route.prefix or timestamp_ms + route.longest_delay_ms > now_ms:
                return
            if digits[0] == ZERO and len(digits) > 1:
                return
            at, offset = message.partition(), message.offset()
            if self._left_out is not None and self._left_out(at, offset):
                return
            topic, partition = route.to
            shared = shared_headers(self._order, FIRST_ATTEMPT, cause.fingerprint, now_ms)
            by, attempts, group, moved_at = shared
            origin = (names.REDRIVE_ORIGIN, route.prefix + digits)
            kept = without(tuple(headers), route.dropped) if route.dropped else headers
            written = [*kept, by, attempts, group, origin, moved_at]
            key, value = message.key(), message.value()
            record = (topic, partition, timestamp_ms, key, value)
            if topic in culprits.too_large and culprits.refused(ProducerRecord(*record, tuple(written))):
                return
            batch.add_fast(message, at, offset, route.outcome)
            self._producer.produce(*record, written, (at, offset))
