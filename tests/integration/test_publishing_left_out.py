"""A transaction that Kafka calls complete although its markers are missing (KAFKA-20734).

It takes a partition that has no leader at the moment of the commit, as after a stall of its only broker. Here
the end of a transaction is answered in the broker's place: for the producer and for readers that is the same.
"""

from contextlib import closing

import pytest

from collector.publish.producer import KafkaEventProducer
from collector.settings import CollectorSettings
from deadwatch.runtime.kafka import KafkaConnection
from lab.broker import LoneBroker
from lab.faults import Api, Forged
from lab.proxy import Proxy
from tests.kafka_topics import messages
from tests.waiting import until

COMMITTED = bytes(8)
"""``EndTxn`` 3 without an error: tags of the header, throttle time, error code, tags."""


@pytest.mark.parametrize("is_first", [True, False], ids=["first of the partition", "later ones"])
def test_what_is_committed_can_be_read_though_a_broker_left_out_the_markers(
    broker: LoneBroker, proxy: Proxy, is_first: bool
) -> None:
    topic = f"events-{is_first}"
    servers = KafkaConnection(bootstrap_servers=proxy.address)
    settings = CollectorSettings(name=topic, kafka=servers, events_topic=topic)
    written = [] if is_first else [b"before"]
    with closing(KafkaEventProducer(settings)) as producer:
        for value in written:
            producer.transact([(b"key", value)])
        left_out = Forged(Api.END_TXN, COMMITTED)
        proxy.inject(left_out)
        producer.transact([(b"key", b"first"), (b"key", b"second"), (b"another key", b"third")])
        assert left_out.happened.is_set(), "nothing was tried"

        def found() -> set[bytes | None]:
            return {message.value() for message in messages(broker.bootstrap_servers, topic)}

        until(lambda: found() == {*written, b"first", b"second", b"third"}, lambda: f"readable: {found()}")
