"""Every wrong configuration of a real broker is found, exactly, and gone when fixed."""

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from deadwatch.contract.events.findings import FindingKind
from deadwatch.runtime.clock import clock_ms
from lab import Lab, share
from tests.integration.findings_place import (
    CREATES,
    ENABLED,
    GROUP,
    NAME,
    ORDERS,
    QUEUE,
    Settings,
    Way,
    alter,
    altered,
    queue,
    records,
)
from tests.tables import named
from tests.waiting import until


def test_a_missing_queue_of_a_share_group(way: Way, admin: KafkaAdminClient, lab: Lab) -> None:
    lab.reject_share_records(1)  # makes the queue of the lab's own group
    groups, brokers = ConfigResourceType.GROUP, ConfigResourceType.BROKER
    with (
        altered(admin, brokers, "1", {CREATES: "false"}, {CREATES: "true"}),
        altered(admin, groups, GROUP, {NAME: QUEUE}, {NAME: ""}),
    ):
        way.until_found((FindingKind.SHARE_DLQ_MISSING, f"sharegroup:{GROUP}"))
        with queue(admin, settings={ENABLED: "true"}):
            way.until_found()


def test_a_queue_that_is_not_enabled_and_one_against_the_prefix(way: Way, admin: KafkaAdminClient) -> None:
    kind = ConfigResourceType.GROUP
    with queue(admin), altered(admin, kind, GROUP, {NAME: QUEUE}, {NAME: ""}):
        way.until_found((FindingKind.SHARE_DLQ_NOT_ENABLED, f"sharegroup:{GROUP}"))
        alter(admin, ConfigResourceType.TOPIC, QUEUE, {ENABLED: "true"})
        way.until_found()
        alter(admin, kind, GROUP, {NAME: "findings-dlq"})
        way.until_found((FindingKind.SHARE_DLQ_PREFIX, f"sharegroup:{GROUP}"))
        alter(admin, kind, GROUP, {NAME: QUEUE})
        way.until_found()


def test_a_name_of_kafka_s_own_kind_is_refused_by_the_broker_itself(admin: KafkaAdminClient) -> None:
    resource = ConfigResource(ConfigResourceType.GROUP, GROUP, {NAME: "__findings"})
    assert "must not start with '__'" in admin.alter_configs([resource])["group"][GROUP]


def test_a_share_version_without_dead_letters(way: Way, admin: KafkaAdminClient) -> None:
    assert admin.update_features({"share.version": ("SAFE_DOWNGRADE", 1)}) == {"share.version": "OK"}
    try:
        way.until_found((FindingKind.SHARE_VERSION, "cluster:default"))
    finally:
        assert admin.update_features({"share.version": 2}) == {"share.version": "OK"}
    way.until_found()


LOST = [
    ("not enabled", QUEUE, "DLQ is not enabled on configured DLQ topic for share group: "),
    (
        "against the prefix",
        "findings-dlq",
        "Configured DLQ topic name does not comply with the DLQ topic prefix in share group: ",
    ),
]


@pytest.mark.parametrize(("name", "says"), named(LOST))
def test_what_a_finding_says_is_what_the_broker_does(
    admin: KafkaAdminClient, lab: Lab, name: str, says: str
) -> None:
    def said() -> int:
        return lab.logs.broker.read_text().count(f"{says}{GROUP}")

    before, settings = said(), {NAME: name, "share.auto.offset.reset": "earliest"}
    with (
        queue(admin),
        queue(admin, ORDERS),
        records(lab, ORDERS, 1),
        altered(admin, ConfigResourceType.GROUP, GROUP, settings, {NAME: ""}),
    ):
        try:
            share.reject(lab.bootstrap_servers, 1, GROUP, ORDERS)
            until(lambda: said() > before, lambda: f"{says!r} in the broker's log")
        finally:
            admin.delete_groups([GROUP])


def test_rejections_of_a_group_without_queue(way: Way, admin: KafkaAdminClient, lab: Lab) -> None:
    kind, earliest = ConfigResourceType.GROUP, {"share.auto.offset.reset": "earliest"}
    with queue(admin, ORDERS), records(lab, ORDERS, 3), altered(admin, kind, GROUP, earliest, {NAME: ""}):
        way.until_found()
        try:
            share.reject(lab.bootstrap_servers, 3, GROUP, ORDERS)
            way.until_found((FindingKind.SHARE_REJECTS_WITHOUT_DLQ, f"sharegroup:{GROUP}"))
            alter(admin, kind, GROUP, {NAME: "dlq.findings-later"})
            way.until_found()
        finally:
            admin.delete_groups([GROUP])


TOPICS = [
    ("compacted", {"cleanup.policy": "compact"}, FindingKind.DLQ_COMPACTED),
    ("bounded in bytes", {"retention.bytes": "1000000"}, FindingKind.DLQ_RETENTION_BYTES),
    ("deleted within the hour", {"retention.ms": "3600000"}, FindingKind.DLQ_RETENTION_SHORT),
]


@pytest.mark.parametrize(("wrong", "kind"), named(TOPICS))
def test_a_topic_s_wrong_settings(
    way: Way, admin: KafkaAdminClient, wrong: Settings, kind: FindingKind
) -> None:
    with queue(admin, settings=wrong):
        way.until_found((kind, f"topic:{QUEUE}"))
        right = {"cleanup.policy": "delete", "retention.bytes": "-1", "retention.ms": "604800000"}
        alter(admin, ConfigResourceType.TOPIC, QUEUE, {name: right[name] for name in wrong})
        way.until_found()


def test_a_dead_letter_that_will_be_deleted_unseen(way: Way, admin: KafkaAdminClient, lab: Lab) -> None:
    six_days_ago_ms = clock_ms() - 6 * 86_400_000
    with queue(admin), records(lab, QUEUE, 1, six_days_ago_ms - 1_000):
        way.until_found((FindingKind.DLQ_EXPIRING, f"topic:{QUEUE}"))
        alter(admin, ConfigResourceType.TOPIC, QUEUE, {"retention.ms": "2592000000"})
        way.until_found()
