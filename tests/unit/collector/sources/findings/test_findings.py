"""Every finding, exactly where its configuration is wrong, and none where it is not."""

import re
from dataclasses import dataclass, replace
from typing import Any

import pytest

from collector.sources.brokers.findings_watch import bounded, findings
from collector.sources.findings.configuration import Broker, ClusterConfiguration, Connector, Topic
from deadwatch.contract.events.findings import FindingKind as Kind
from tests.paths import ROOT
from tests.unit.collector.sources.findings.configurations import (
    BROKERS,
    CLEAN,
    DAY_MS,
    GOOD,
    SINK,
    connector,
    group,
    sink,
    topic,
)


@dataclass(frozen=True)
class Case:
    name: str
    configuration: ClusterConfiguration
    kind: Kind | None = None
    change: str = ""
    subject: str = ""


NOT_ENABLED = {"dlq.a": Topic(settings=GOOD | {"errors.deadletterqueue.group.enable": "false"})}
MISSING: dict[str, Any] = {"topics": {}, "missing": frozenset({"dlq.a"})}
CREATING = {1: Broker("dlq.", creates_topics=True)}

SHARE = [
    Case("a queue that is there and enabled", group("dlq.a")),
    Case("no queue and no rejections", group("")),
    Case(
        "a queue that is missing",
        group("dlq.a", **MISSING),
        Kind.SHARE_DLQ_MISSING,
        "--create --topic dlq.a --config errors.deadletterqueue.group.enable=true",
    ),
    Case("a missing queue that brokers create", group("dlq.a", **MISSING, brokers=CREATING)),
    Case(
        "one of two brokers creates it",
        group("dlq.a", **MISSING, brokers=CREATING | {2: BROKERS[1]}),
        Kind.SHARE_DLQ_MISSING,
    ),
    Case(
        "a queue that is not enabled",
        group("dlq.a", topics=NOT_ENABLED),
        Kind.SHARE_DLQ_NOT_ENABLED,
        "--entity-type topics --entity-name dlq.a --add-config errors.deadletterqueue.group.enable=true",
    ),
    Case(
        "a name against the prefix, of a topic that is missing too",
        group("errors", topics={}, missing=frozenset({"errors"})),
        Kind.SHARE_DLQ_PREFIX,
        "--entity-type groups --entity-name g1 --add-config errors.deadletterqueue.topic.name=dlq.errors",
    ),
    Case(
        "an empty prefix restricts nothing",
        group(
            "errors", topics={"errors": Topic(settings=GOOD)}, brokers={1: Broker("", creates_topics=True)}
        ),
    ),
    Case(
        "a name of Kafka's own kind",
        group("__a"),
        Kind.SHARE_DLQ_INTERNAL,
        "--add-config errors.deadletterqueue.topic.name=dlq.a",
    ),
    Case(
        "share.version 1 where a group has a queue",
        group("dlq.a", share_version=1),
        Kind.SHARE_VERSION,
        "upgrade --feature share.version=2",
        subject="cluster:default",
    ),
    Case("share.version 1 where nobody has a queue", group("", share_version=1)),
    Case(
        "rejections, and one group without queue",
        group("", suspects=frozenset({"g1"})),
        Kind.SHARE_REJECTS_WITHOUT_DLQ,
        "--entity-name g1 --add-config errors.deadletterqueue.topic.name=dlq.g1",
    ),
    Case(
        "rejections, and nobody can say by which group",
        replace(CLEAN, queues={"g1": "", "g2": "", "g3": "dlq.a"}, suspects=frozenset({"g1", "g2"})),
        Kind.SHARE_REJECTS_WITHOUT_DLQ,
        "--entity-name GROUP --add-config errors.deadletterqueue.topic.name=dlq.GROUP",
        subject="cluster:default",
    ),
    Case(
        "a group's name becomes no shell command",
        replace(CLEAN, queues={"a; rm -r b": ""}, suspects=frozenset({"a; rm -r b"})),
        Kind.SHARE_REJECTS_WITHOUT_DLQ,
        "--entity-name 'a; rm -r b' --add-config 'errors.deadletterqueue.topic.name=dlq.a; rm -r b'",
        subject="sharegroup:a; rm -r b",
    ),
]

DLQ = "errors.deadletterqueue.topic.name"
HEADERS = "errors.deadletterqueue.context.headers.enable"
REPLICATION = "errors.deadletterqueue.topic.replication.factor"
ALL = {"errors.tolerance": "all"}

CONNECT = [
    Case("a sink as it should be", sink({})),
    Case("a sink that fails at the first error", connector("sink", {})),
    Case("a source that fails at the first error", connector("source", {DLQ: "dlq.a"})),
    Case("a connector of unknown type", connector("unknown", ALL)),
    Case(
        "a sink that skips what it cannot convert",
        connector("sink", ALL),
        Kind.CONNECT_SILENT_LOSS,
        "errors.deadletterqueue.topic.name=dlq.x and errors.deadletterqueue.context.headers.enable=true",
    ),
    Case("as Connect reads it", connector("sink", {"errors.tolerance": " ALL "}), Kind.CONNECT_SILENT_LOSS),
    Case("a queue of blanks is none", connector("sink", {**ALL, DLQ: " "}), Kind.CONNECT_SILENT_LOSS),
    Case("a source that skips", connector("source", ALL), Kind.CONNECT_SILENT_LOSS, "errors.tolerance=none"),
    Case(
        "an ignored queue",
        connector("source", SINK),
        Kind.CONNECT_SOURCE_DLQ_IGNORED,
        "errors.tolerance=none",
    ),
    Case(
        "a connector without a task",
        replace(CLEAN, connectors={"http://c": {"mirror": Connector("source", {}, idle=True)}}),
        Kind.CONNECT_NO_TASKS,
        subject="connector:mirror",
    ),
    Case("no headers", sink({HEADERS: "false"}), Kind.CONNECT_DLQ_WITHOUT_HEADERS, f"{HEADERS}=true"),
    Case(
        "headers by default",
        connector("sink", {name: value for name, value in SINK.items() if name != HEADERS}),
        Kind.CONNECT_DLQ_WITHOUT_HEADERS,
    ),
    Case("headers that a config provider fills in", sink({HEADERS: "${env:HEADERS}"})),
    Case(
        "a queue without tolerance",
        sink({"errors.tolerance": "none"}),
        Kind.CONNECT_DLQ_WITHOUT_TOLERANCE,
        "errors.tolerance=all",
    ),
    Case(
        "more replicas than brokers, by default",
        connector("sink", {name: value for name, value in SINK.items() if name != REPLICATION}, missing=True),
        Kind.CONNECT_DLQ_NOT_CREATABLE,
        f"{REPLICATION}=1",
    ),
    Case("as many replicas as brokers", sink({}, missing=True, brokers=3)),
    Case("the broker's own number of replicas", sink({REPLICATION: "-1"}, missing=True, brokers=2)),
    Case("no number of replicas at all", sink({REPLICATION: "9" * 5_000}, missing=True)),
    Case("what is configured for a topic that exists", sink({REPLICATION: "1"}, brokers=2)),
    Case(
        "one replica for a topic that is to be created",
        sink({REPLICATION: "1"}, missing=True, brokers=2),
        Kind.DLQ_REPLICATION,
        f"{REPLICATION}=2",
    ),
    Case("one replica on one broker", sink({REPLICATION: "1"}, missing=True)),
    Case("a queue that is named as Kafka's own", sink({DLQ: "__a"}), Kind.DLQ_NOT_READ, f"{DLQ}=a"),
]

TOPICS = [
    Case("a topic as it should be", topic({}, age_ms=DAY_MS)),
    Case("an empty topic", topic({})),
    Case(
        "one replica on two brokers",
        topic({}, replicas=1, brokers=2),
        Kind.DLQ_REPLICATION,
        '{"version":1,"partitions":[{"topic":"dlq.a","partition":0,"replicas":[0,1]}]}',
    ),
    Case(
        "one replica of each of many partitions",
        replace(
            CLEAN,
            topics={"dlq.a": Topic(((1,), (2,)) + ((2,),) * 9, 0, GOOD)},
            broker_ids=(1, 2, 3, 4),
        ),
        Kind.DLQ_REPLICATION,
        '"partition":6,"replicas":[2,4,1]}]}, and 4 more partitions likewise',
    ),
    Case("one replica on one broker", topic({}, replicas=1)),
    Case("two replicas on three brokers", topic({}, replicas=2, brokers=3)),
    Case("compacted", topic({"cleanup.policy": "compact"}), Kind.DLQ_COMPACTED, "cleanup.policy=delete"),
    Case("compacted and deleted", topic({"cleanup.policy": "delete,compact"}), Kind.DLQ_COMPACTED),
    Case("bounded", topic({"retention.bytes": "1000"}), Kind.DLQ_RETENTION_BYTES, "retention.bytes=-1"),
    Case(
        "less than the warning is left",
        topic({}, age_ms=6 * DAY_MS + 1),
        Kind.DLQ_EXPIRING,
        f"--add-config retention.ms={30 * DAY_MS}",
    ),
    Case("just as much as the warning is left", topic({}, age_ms=6 * DAY_MS)),
    Case("overdue, as its segment is younger", topic({}, age_ms=9 * DAY_MS), Kind.DLQ_EXPIRING),
    Case("kept for ever", topic({"retention.ms": "-1"}, age_ms=900 * DAY_MS)),
    Case(
        "deleted sooner than anybody can act",
        topic({"retention.ms": str(DAY_MS - 1)}),
        Kind.DLQ_RETENTION_SHORT,
        f"--add-config retention.ms={30 * DAY_MS}",
    ),
    Case("deleted no sooner than that", topic({"retention.ms": str(DAY_MS)})),
    Case("told once when both hold", topic({"retention.ms": "1000"}, age_ms=1), Kind.DLQ_EXPIRING),
    Case("nothing deletes what is compacted or kept", topic({"cleanup.policy": "", "retention.ms": "1"})),
    Case(
        "a name that no pattern matches",
        replace(CLEAN, named=frozenset({"errors.x"})),
        Kind.DLQ_NOT_READ,
        "add 'errors\\.x' to dlq_topics",
        subject="topic:errors.x",
    ),
    Case("a name that a pattern matches", replace(CLEAN, named=frozenset({"dlq.x"}))),
]


CASES = [
    *((case, "sharegroup:g1") for case in SHARE),
    *((case, "connector:x") for case in CONNECT),
    *((case, "topic:dlq.a") for case in TOPICS),
]


@pytest.mark.parametrize(("case", "subject"), CASES, ids=[case.name for case, _ in CASES])
def test_exactly_what_is_wrong_is_found(case: Case, subject: str) -> None:
    found, left_out = bounded(findings(case.configuration, {}))
    expected = [] if case.kind is None else [(case.kind.value, case.subject or subject)]
    assert [(one.kind, one.subject) for one in found] == expected
    assert left_out == 0
    assert all(case.change in one.change and one.message for one in found)


def test_every_kind_is_in_a_table() -> None:
    assert {case.kind for case, _ in CASES} - {None} == set(Kind)


def test_every_kind_is_explained_and_no_other() -> None:
    page = (ROOT / "docs" / "findings.md").read_text()
    assert re.findall(r"^\| `(\w+)`", page, re.MULTILINE) == [kind.value for kind in Kind]


def test_the_end_of_a_dead_letter_is_shown_as_a_time() -> None:
    (found,), _ = bounded(findings(topic({}, age_ms=7 * DAY_MS), {}))
    assert (
        "2027-01-08T08:00:00Z: retention.ms=604800000 lets Kafka delete it from 2027-01-15T08:00:00Z"
        in found.message
    )


@pytest.mark.parametrize("oldest_at_ms", [-5, 2**62], ids=["before the epoch", "beyond the calendar"])
def test_no_time_of_a_record_breaks_a_look(oldest_at_ms: int) -> None:
    held = Topic(settings=GOOD | {"retention.ms": "0"}, oldest_at_ms=oldest_at_ms)
    configuration = replace(CLEAN, now_ms=2**62, topics={"dlq.a": held})
    (found,), _ = bounded(findings(configuration, {}))
    assert found.kind == Kind.DLQ_EXPIRING


def test_connectors_of_one_name_are_told_apart_by_their_cluster() -> None:
    connectors = {"x": Connector("sink", ALL)}
    configuration = replace(CLEAN, connectors={"connect:a": connectors, "connect:b": connectors})
    found, _ = bounded(findings(configuration, {}))
    assert [one.subject for one in found] == ["connector:x@connect:a", "connector:x@connect:b"]
