"""Every wrong configuration of a real broker and a real Connect is found, exactly, and gone when mended."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import AcknowledgeType, ShareConsumer
from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError

from api.findings import finding_rows
from api.store import Store as StoreReader
from collector.contract.events import FindingsSnapshot
from collector.contract.findings import FindingKind
from collector.kafka import KafkaConnection
from collector.settings import BrokerSettings, CollectorSettings, ConnectSettings
from collector.sources.dead_letter_topics import DeadLetterTopicsSource
from lab import Lab
from lab.http import call
from streaming.store.batch import Batch
from streaming.store.store import Store
from tests.waiting import until

pytestmark = pytest.mark.integration

WITHIN_S = 30
GROUP = "findings-group"
SINK = "findings-sink"
QUEUE = "dlq.findings"
SINK_QUEUE = "dlq.findings-sink"
ORDERS = "findings-orders"
NAME = "errors.deadletterqueue.topic.name"
ENABLED = "errors.deadletterqueue.group.enable"
CREATES = "errors.deadletterqueue.auto.create.topics.enable"
Found = set[tuple[str, str]]
Settings = Mapping[str, str]


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass
class Way:
    """From the configurations through the collector's source and the store to what the api reads."""

    source: DeadLetterTopicsSource
    store: Store
    reader: StoreReader
    batch: int = 0
    others: Found = field(default_factory=set)

    def found(self) -> Found:
        """What is found now besides what was there before."""
        chunk = self.source.poll()
        assert chunk is not None
        assert not chunk.trouble
        (snapshot,) = (one for one in chunk.events if isinstance(one, FindingsSnapshot))
        self.batch += 1
        self.store.apply(
            Batch(
                query_id="q",
                batch_id=self.batch,
                committed_at_ms=now_ms(),
                offsets={},
                marks={},
                events=(snapshot,),
            )
        )
        with self.reader.read() as connection:
            return {(row.kind, row.subject) for row in finding_rows(connection)} - self.others

    def until_found(self, *expected: tuple[FindingKind, str]) -> None:
        """Return when exactly these are found."""
        wanted = {(kind.value, subject) for kind, subject in expected}
        seen: Found = set()

        def agrees() -> bool:
            nonlocal seen
            seen = self.found()
            return seen == wanted

        until(agrees, lambda: f"{seen} instead of {wanted}")


@pytest.fixture
def way(lab: Lab, tmp_path: Path) -> Iterator[Way]:
    settings = CollectorSettings(
        kafka=KafkaConnection(bootstrap_servers=lab.bootstrap_servers),
        connect=(ConnectSettings(url=lab.connect_url),),
        brokers=(BrokerSettings(jolokia_url=lab.broker_jolokia_url),),
    )
    source = DeadLetterTopicsSource(
        settings.model_copy(update={"heartbeat_interval_ms": 0}), saved=None, clock=now_ms
    )
    url = f"sqlite:///{tmp_path / 'deadwatch.db'}"
    with Store(url) as store:
        opened = Way(source, store, StoreReader(url))
        opened.others = opened.found()
        yield opened
    source.close()


@pytest.fixture
def admin(lab: Lab) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=lab.bootstrap_servers)
    yield client
    client.close()


def alter(admin: KafkaAdminClient, kind: ConfigResourceType, name: str, settings: Settings) -> None:
    answer = admin.alter_configs([ConfigResource(kind, name, dict(settings))])
    assert answer[kind.name.lower()][name] == "OK"


@contextmanager
def altered(
    admin: KafkaAdminClient, kind: ConfigResourceType, name: str, settings: Settings, back: Settings
) -> Iterator[None]:
    alter(admin, kind, name, settings)
    try:
        yield
    finally:
        alter(admin, kind, name, back)


@contextmanager
def queue(admin: KafkaAdminClient, name: str = QUEUE, **settings: str) -> Iterator[None]:
    configs = {key.replace("_", "."): value for key, value in settings.items()}
    admin.create_topics([NewTopic(name, 1, 1, topic_configs=configs)], wait_for_metadata=True)
    try:
        yield
    finally:
        with contextlib.suppress(UnknownTopicOrPartitionError):
            admin.delete_topics([name])


@contextmanager
def records(lab: Lab, topic: str, count: int, timestamp_ms: int | None = None) -> Iterator[None]:
    producer = KafkaProducer(bootstrap_servers=lab.bootstrap_servers)
    try:
        for _ in range(count):
            producer.send(topic, b"x", timestamp_ms=timestamp_ms).get(WITHIN_S)
    finally:
        producer.close()
    yield


def test_a_missing_queue_of_a_share_group(way: Way, admin: KafkaAdminClient, lab: Lab) -> None:
    lab.reject_share_records(1)  # makes the queue of the lab's own group
    groups, brokers = ConfigResourceType.GROUP, ConfigResourceType.BROKER
    with (
        altered(admin, brokers, "1", {CREATES: "false"}, {CREATES: "true"}),
        altered(admin, groups, GROUP, {NAME: QUEUE}, {NAME: ""}),
    ):
        way.until_found((FindingKind.SHARE_DLQ_MISSING, f"sharegroup:{GROUP}"))
        with queue(admin, **{ENABLED: "true"}):
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


def reject(lab: Lab, count: int) -> None:
    consumer = ShareConsumer(
        {
            "bootstrap.servers": lab.bootstrap_servers,
            "group.id": GROUP,
            "share.acknowledgement.mode": "explicit",
            "log_level": 0,
        }
    )
    rejected = 0

    def done() -> bool:
        nonlocal rejected
        for message in consumer.poll(timeout=0.5):
            if message.error() is None:
                consumer.acknowledge(message, AcknowledgeType.REJECT)
                rejected += 1
        consumer.commit_sync()
        return rejected >= count

    try:
        consumer.subscribe([ORDERS])
        until(done, lambda: f"{rejected} of {count} records")
    finally:
        consumer.close()


LOST = [
    ("not enabled", QUEUE, "DLQ is not enabled on configured DLQ topic for share group: "),
    (
        "against the prefix",
        "findings-dlq",
        "Configured DLQ topic name does not comply with the DLQ topic prefix in share group: ",
    ),
]


@pytest.mark.parametrize(("name", "says"), [row[1:] for row in LOST], ids=[row[0] for row in LOST])
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
            reject(lab, 1)
            until(lambda: said() > before, lambda: f"{says!r} in the broker's log")
        finally:
            admin.delete_groups([GROUP])


def test_rejections_of_a_group_without_queue(way: Way, admin: KafkaAdminClient, lab: Lab) -> None:
    kind, earliest = ConfigResourceType.GROUP, {"share.auto.offset.reset": "earliest"}
    with queue(admin, ORDERS), records(lab, ORDERS, 3), altered(admin, kind, GROUP, earliest, {NAME: ""}):
        way.until_found()
        try:
            reject(lab, 3)
            way.until_found((FindingKind.SHARE_REJECTS_WITHOUT_DLQ, f"sharegroup:{GROUP}"))
            alter(admin, kind, GROUP, {NAME: "dlq.findings-later"})
            way.until_found()
        finally:
            admin.delete_groups([GROUP])


@pytest.fixture
def sink_queue(admin: KafkaAdminClient) -> None:
    """It stays: a connector makes it anew when it starts."""
    with contextlib.suppress(TopicAlreadyExistsError):
        admin.create_topics([NewTopic(SINK_QUEUE, 1, 1)], wait_for_metadata=True)


@pytest.fixture
def connector(lab: Lab, tmp_path: Path) -> Iterator[Callable[[str, Settings], None]]:
    """Deploys a file sink or source with these settings beside; removes it at the end."""
    url = f"{lab.connect_url}/connectors/{SINK}"
    places = {"Sink": {"topics": ORDERS}, "Source": {"topic": ORDERS}}

    def deploy(kind: str, settings: Settings) -> None:
        file = tmp_path / "file"
        file.touch()
        of_kind = {"connector.class": f"org.apache.kafka.connect.file.FileStream{kind}Connector"}
        call(f"{url}/config", {**of_kind, **places[kind], "file": str(file), **settings}, "PUT")

    yield deploy
    with contextlib.suppress(OSError):
        call(url, method="DELETE")
    until(lambda: SINK not in call(f"{lab.connect_url}/connectors"), lambda: "the connector's end")


GOOD = {
    "errors.tolerance": "all",
    NAME: SINK_QUEUE,
    "errors.deadletterqueue.context.headers.enable": "true",
    "errors.deadletterqueue.topic.replication.factor": "1",
}


@dataclass(frozen=True)
class Wrong:
    name: str
    kind: str
    settings: Settings
    found: FindingKind
    mended: Settings = field(default_factory=lambda: GOOD)


WRONG = [
    Wrong("skips without queue", "Sink", {"errors.tolerance": "all"}, FindingKind.CONNECT_SILENT_LOSS),
    Wrong(
        "no headers",
        "Sink",
        {**GOOD, "errors.deadletterqueue.context.headers.enable": "false"},
        FindingKind.CONNECT_DLQ_WITHOUT_HEADERS,
    ),
    Wrong(
        "no tolerance",
        "Sink",
        {**GOOD, "errors.tolerance": "none"},
        FindingKind.CONNECT_DLQ_WITHOUT_TOLERANCE,
    ),
    Wrong("a source that skips", "Source", {"errors.tolerance": "all"}, FindingKind.CONNECT_SILENT_LOSS, {}),
    Wrong("a queue of a source", "Source", GOOD, FindingKind.CONNECT_SOURCE_DLQ_IGNORED, {}),
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.name)
@pytest.mark.usefixtures("sink_queue")
def test_a_connector_s_wrong_settings(
    way: Way, connector: Callable[[str, Settings], None], wrong: Wrong
) -> None:
    connector(wrong.kind, wrong.settings)
    way.until_found((wrong.found, f"connector:{SINK}"))
    connector(wrong.kind, wrong.mended)
    way.until_found()


def test_a_queue_with_more_replicas_than_brokers(
    way: Way, lab: Lab, connector: Callable[[str, Settings], None]
) -> None:
    new = {**GOOD, NAME: "dlq.findings-new"}
    connector("Sink", {name: value for name, value in new.items() if "replication" not in name})
    way.until_found((FindingKind.CONNECT_DLQ_NOT_CREATABLE, f"connector:{SINK}"))
    status = f"{lab.connect_url}/connectors/{SINK}/status"
    until(lambda: "FAILED" in str(call(status)["tasks"]), lambda: call(status))
    connector("Sink", new)
    way.until_found()


@pytest.mark.usefixtures("sink_queue")
def test_a_queue_that_nobody_reads(way: Way, connector: Callable[[str, Settings], None]) -> None:
    connector("Sink", {**GOOD, NAME: "findings-errors"})
    way.until_found((FindingKind.DLQ_NOT_READ, "topic:findings-errors"))
    connector("Sink", GOOD)
    way.until_found()


TOPICS = [
    ("compacted", {"cleanup.policy": "compact"}, FindingKind.DLQ_COMPACTED),
    ("bounded in bytes", {"retention.bytes": "1000000"}, FindingKind.DLQ_RETENTION_BYTES),
    ("deleted within the hour", {"retention.ms": "3600000"}, FindingKind.DLQ_RETENTION_SHORT),
]


@pytest.mark.parametrize(("wrong", "kind"), [row[1:] for row in TOPICS], ids=[row[0] for row in TOPICS])
def test_a_topic_s_wrong_settings(
    way: Way, admin: KafkaAdminClient, wrong: Settings, kind: FindingKind
) -> None:
    with queue(admin, **wrong):
        way.until_found((kind, f"topic:{QUEUE}"))
        right = {"cleanup.policy": "delete", "retention.bytes": "-1", "retention.ms": "604800000"}
        alter(admin, ConfigResourceType.TOPIC, QUEUE, {name: right[name] for name in wrong})
        way.until_found()


def test_a_dead_letter_that_will_be_deleted_unseen(way: Way, admin: KafkaAdminClient, lab: Lab) -> None:
    six_days_ago_ms = now_ms() - 6 * 86_400_000
    with queue(admin), records(lab, QUEUE, 1, six_days_ago_ms - 1_000):
        way.until_found((FindingKind.DLQ_EXPIRING, f"topic:{QUEUE}"))
        alter(admin, ConfigResourceType.TOPIC, QUEUE, {"retention.ms": "2592000000"})
        way.until_found()
