"""Share-group meters and dead letter topics of a real broker, as the collector's sources tell of them."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResourceType

from collector.settings import BrokerSettings
from collector.sources.brokers.share_groups import BrokerSource
from deadwatch.contract.events import BrokerSnapshot, DeadLetterTopic, DeadLetterTopicsSnapshot
from deadwatch.contract.topics import PARKED_SUFFIX
from lab import Lab, share
from lab.connect import FILESINK_DLQ
from tests.integration.collected import REQUEST_MS, published_every, snapshot, topics_source
from tests.integration.findings_place import NAME, altered, queue, records
from tests.kafka_topics import messages, producing
from tests.waiting import until

UNREAD = "rejected-by-g9"
ByName = Callable[[], dict[str, DeadLetterTopic]]
"""Every dead letter topic as the source tells of it now."""


@pytest.fixture
def by_name(lab: Lab) -> Iterator[ByName]:
    with closing(topics_source(lab)) as source:
        yield lambda: {
            one.topic: one for one in snapshot(source, DeadLetterTopicsSnapshot).dead_letter_topics
        }


def first_record_at_ms(lab: Lab, topic: str) -> int:
    """By reading it."""
    return min(one.timestamp()[1] for one in messages(lab.bootstrap_servers, topic))


def test_the_broker_s_meter_and_the_topic_agree(lab: Lab, by_name: ByName) -> None:
    settings = BrokerSettings(jolokia_url=lab.broker_jolokia_url, request_timeout_ms=REQUEST_MS)
    with closing(BrokerSource(settings, published_every(0))) as source:

        def counted() -> list[int]:
            groups = snapshot(source, BrokerSnapshot).share_groups
            return [one.records for one in groups if one.consumergroup == share.GROUP]

        lab.reject_share_records(7)
        truth = lab.truth.share_dead_letters
        until(lambda: counted() == [truth], "the meter's counting")
    queue = by_name()[share.DLQ]
    assert queue == DeadLetterTopic(
        topic=share.DLQ,
        partitions=queue.partitions,
        records=truth,
        oldest_at_ms=first_record_at_ms(lab, share.DLQ),
        named_by=f"share group {share.GROUP}",
        read=True,
    )


def test_a_connector_s_queue_holds_what_the_connector_gave_up(lab: Lab, by_name: ByName) -> None:
    lab.break_connect_records(2)
    until(
        lambda: by_name()[FILESINK_DLQ].records == lab.truth.connect_dead_letters, "the dead letters' coming"
    )
    queue = by_name()[FILESINK_DLQ]
    assert (queue.named_by, queue.read, queue.partitions) == ("connector filesink", True, 1)


def test_a_queue_that_no_pattern_matches_is_found_by_the_share_group_that_names_it(
    lab: Lab, admin: KafkaAdminClient, by_name: ByName
) -> None:
    assert UNREAD not in by_name()
    with altered(admin, ConfigResourceType.GROUP, "g9", {NAME: UNREAD}, {NAME: ""}):
        missing = DeadLetterTopic(
            topic=UNREAD, partitions=0, records=0, oldest_at_ms=0, named_by="share group g9", read=False
        )
        until(lambda: by_name().get(UNREAD) == missing, "finding the name")
        with queue(admin, UNREAD, {"retention.ms": "-1"}, partitions=2):  # the records are of 1970
            with producing(lab.bootstrap_servers) as producer:
                for partition, time_ms in ((0, 5_000), (1, 3_000), (1, 4_000)):
                    producer.produce(UNREAD, b"x", partition=partition, timestamp=time_ms)
            until(lambda: by_name()[UNREAD].records == 3, "measuring the topic")
            found = by_name()[UNREAD]
    assert (found.partitions, found.records, found.oldest_at_ms, found.read) == (2, 3, 3_000, False)


def test_what_was_parked_is_measured_beside_its_queue(
    lab: Lab, admin: KafkaAdminClient, by_name: ByName
) -> None:
    parked = f"dlq.kept{PARKED_SUFFIX}"
    with queue(admin, "dlq.kept"), queue(admin, parked), records(lab, parked, 3):
        found = by_name()
    assert (found[parked].records, found[parked].read) == (3, False)
    assert (found["dlq.kept"].records, found["dlq.kept"].read) == (0, True)
