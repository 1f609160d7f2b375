"""Every wrong configuration of connectors of a real Connect is found, exactly, and gone when fixed."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from kafka.errors import TopicAlreadyExistsError

from deadwatch.contract.events.findings import FindingKind
from lab import Lab
from lab.jvm import call
from tests.integration.findings_place import NAME, SINK, SINK_QUEUE, Settings, Way
from tests.tables import named
from tests.waiting import until

TOPIC = "findings-connectors"
"""The sink's consumer creates it."""
Deploy = Callable[[str, Settings], None]
"""Deploys a file sink or source with these settings beside."""


@pytest.fixture
def sink_queue(admin: KafkaAdminClient) -> None:
    """It stays: a connector makes it anew when it starts."""
    with contextlib.suppress(TopicAlreadyExistsError):
        admin.create_topics([NewTopic(SINK_QUEUE, 1, 1)], wait_for_metadata=True)


@pytest.fixture
def connector(lab: Lab, tmp_path: Path) -> Iterator[Deploy]:
    """It is removed at the end."""
    url = f"{lab.connect_url}/connectors/{SINK}"
    places = {"Sink": {"topics": TOPIC}, "Source": {"topic": TOPIC}}

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


SKIPS = {"errors.tolerance": "all"}
NO_HEADERS = {**GOOD, "errors.deadletterqueue.context.headers.enable": "false"}
INTOLERANT = {**GOOD, "errors.tolerance": "none"}
WRONG = [
    ("skips without queue", "Sink", SKIPS, FindingKind.CONNECT_SILENT_LOSS, GOOD),
    ("no headers", "Sink", NO_HEADERS, FindingKind.CONNECT_DLQ_WITHOUT_HEADERS, GOOD),
    ("no tolerance", "Sink", INTOLERANT, FindingKind.CONNECT_DLQ_WITHOUT_TOLERANCE, GOOD),
    ("a source that skips", "Source", SKIPS, FindingKind.CONNECT_SILENT_LOSS, {}),
    ("a queue of a source", "Source", GOOD, FindingKind.CONNECT_SOURCE_DLQ_IGNORED, {}),
]


@pytest.mark.parametrize(("kind", "wrong", "found", "fixed"), named(WRONG))
@pytest.mark.usefixtures("sink_queue")
def test_a_connector_s_wrong_settings(
    way: Way, connector: Deploy, *, kind: str, wrong: Settings, found: FindingKind, fixed: Settings
) -> None:
    connector(kind, wrong)
    way.until_found((found, f"connector:{SINK}"))
    connector(kind, fixed)
    way.until_found()


def test_a_queue_with_more_replicas_than_brokers(way: Way, lab: Lab, connector: Deploy) -> None:
    new = {**GOOD, NAME: "dlq.findings-new"}
    connector("Sink", {name: value for name, value in new.items() if "replication" not in name})
    way.until_found((FindingKind.CONNECT_DLQ_NOT_CREATABLE, f"connector:{SINK}"))
    status = f"{lab.connect_url}/connectors/{SINK}/status"
    until(lambda: "FAILED" in str(call(status)["tasks"]), lambda: call(status))
    connector("Sink", new)
    way.until_found()


@pytest.mark.usefixtures("sink_queue")
def test_a_queue_that_nobody_reads(way: Way, connector: Deploy) -> None:
    connector("Sink", {**GOOD, NAME: "findings-errors"})
    way.until_found((FindingKind.DLQ_NOT_READ, "topic:findings-errors"))
    connector("Sink", GOOD)
    way.until_found()
