"""Every finding, exactly where its configuration is wrong, and none where it is not."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from collector.contract.events import MAX_TEXT_CHARS, Finding
from collector.contract.findings import MAX_FINDINGS, FindingKind
from collector.sources.findings import MAX_BYTES, bounded, findings, restored, saved
from collector.sources.findings_picture import Broker, Connector, Picture, Topic

DAY_MS = 86_400_000
NOW_MS = 1_800_000_000_000
GOOD = {
    "retention.ms": str(7 * DAY_MS),
    "retention.bytes": "-1",
    "cleanup.policy": "delete",
    "errors.deadletterqueue.group.enable": "true",
}
BROKERS = {1: Broker("dlq.", creates_topics=False)}
SINK = {
    "errors.tolerance": "all",
    "errors.deadletterqueue.topic.name": "dlq.a",
    "errors.deadletterqueue.context.headers.enable": "true",
    "errors.deadletterqueue.topic.replication.factor": "3",
}
PICTURE = Picture(now_ms=NOW_MS, warning_ms=DAY_MS, brokers=BROKERS, topics={"dlq.a": Topic(settings=GOOD)})


def group(queue: str | None, **changes: Any) -> Picture:  # noqa: ANN401 -- any field of a picture
    return replace(PICTURE, queues={"g1": queue}, **changes)


def connector(kind: str, config: Mapping[str, str], *, missing: bool = False, brokers: int = 1) -> Picture:
    return replace(
        PICTURE,
        connectors={"connect:c": {"x": Connector(kind, config)}},
        broker_ids=tuple(range(brokers)),
        topics={} if missing else {"dlq.a": Topic(((0, 1),), settings=GOOD)},
        missing=frozenset({"dlq.a"}) if missing else frozenset(),
    )


def sink(changed: Mapping[str, str], *, missing: bool = False, brokers: int = 1) -> Picture:
    return connector("sink", {**SINK, **changed}, missing=missing, brokers=brokers)


def topic(changed: Mapping[str, str], *, age_ms: int = 0, replicas: int = 3, brokers: int = 1) -> Picture:
    oldest_at_ms = NOW_MS - age_ms if age_ms else 0
    held = Topic((tuple(range(replicas)),), oldest_at_ms, {**GOOD, **changed})
    return replace(PICTURE, topics={"dlq.a": held}, broker_ids=tuple(range(brokers)))


@dataclass(frozen=True)
class Case:
    name: str
    picture: Picture
    kind: FindingKind | None = None
    subject: str = ""
    change: str = ""


NOT_ENABLED = {"dlq.a": Topic(settings=GOOD | {"errors.deadletterqueue.group.enable": "false"})}
MISSING: dict[str, Any] = {"topics": {}, "missing": frozenset({"dlq.a"})}
CREATING = {1: Broker("dlq.", creates_topics=True)}
G1 = "sharegroup:g1"

SHARE = [
    Case("a queue that is there and enabled", group("dlq.a")),
    Case("no queue and no rejections", group("")),
    Case(
        "a queue that is missing",
        group("dlq.a", **MISSING),
        FindingKind.SHARE_DLQ_MISSING,
        G1,
        "--create --topic dlq.a --config errors.deadletterqueue.group.enable=true",
    ),
    Case("a missing queue that brokers create", group("dlq.a", **MISSING, brokers=CREATING)),
    Case(
        "one broker of two does not create it",
        group("dlq.a", **MISSING, brokers=CREATING | {2: BROKERS[1]}),
        FindingKind.SHARE_DLQ_MISSING,
        G1,
    ),
    Case(
        "a queue that is not enabled",
        group("dlq.a", topics=NOT_ENABLED),
        FindingKind.SHARE_DLQ_NOT_ENABLED,
        G1,
        "--entity-type topics --entity-name dlq.a --add-config errors.deadletterqueue.group.enable=true",
    ),
    Case(
        "a name against the prefix, of a topic that is missing too",
        group("errors", topics={}, missing=frozenset({"errors"})),
        FindingKind.SHARE_DLQ_PREFIX,
        G1,
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
        FindingKind.SHARE_DLQ_INTERNAL,
        G1,
        "--add-config errors.deadletterqueue.topic.name=dlq.a",
    ),
    Case(
        "share.version 1 where a group has a queue",
        group("dlq.a", share_version=1),
        FindingKind.SHARE_VERSION,
        "cluster:default",
        "upgrade --feature share.version=2",
    ),
    Case("share.version 1 where nobody has a queue", group("", share_version=1)),
    Case(
        "rejections, and one group without queue",
        group("", suspects=frozenset({"g1"})),
        FindingKind.SHARE_REJECTS_WITHOUT_DLQ,
        G1,
        "--entity-name g1 --add-config errors.deadletterqueue.topic.name=dlq.g1",
    ),
    Case(
        "rejections, and nobody can say by which group",
        replace(PICTURE, queues={"g1": "", "g2": "", "g3": "dlq.a"}, suspects=frozenset({"g1", "g2"})),
        FindingKind.SHARE_REJECTS_WITHOUT_DLQ,
        "cluster:default",
        "--entity-name GROUP --add-config errors.deadletterqueue.topic.name=dlq.GROUP",
    ),
    Case(
        "a group's name becomes no shell command",
        replace(PICTURE, queues={"a; rm -r b": ""}, suspects=frozenset({"a; rm -r b"})),
        FindingKind.SHARE_REJECTS_WITHOUT_DLQ,
        "sharegroup:a; rm -r b",
        "--entity-name 'a; rm -r b' --add-config 'errors.deadletterqueue.topic.name=dlq.a; rm -r b'",
    ),
]

DLQ = "errors.deadletterqueue.topic.name"
HEADERS = "errors.deadletterqueue.context.headers.enable"
REPLICATION = "errors.deadletterqueue.topic.replication.factor"
ALL = {"errors.tolerance": "all"}
X = "connector:x"

CONNECT = [
    Case("a sink as it should be", sink({})),
    Case("a sink that fails at the first error", connector("sink", {})),
    Case("a source that fails at the first error", connector("source", {DLQ: "dlq.a"})),
    Case("a connector of unknown type", connector("unknown", ALL)),
    Case(
        "a sink that skips what it cannot convert",
        connector("sink", ALL),
        FindingKind.CONNECT_SILENT_LOSS,
        X,
        "errors.deadletterqueue.topic.name=dlq.x and errors.deadletterqueue.context.headers.enable=true",
    ),
    Case(
        "as Connect reads it",
        connector("sink", {"errors.tolerance": " ALL "}),
        FindingKind.CONNECT_SILENT_LOSS,
        X,
    ),
    Case(
        "a queue of blanks is none",
        connector("sink", {**ALL, DLQ: " "}),
        FindingKind.CONNECT_SILENT_LOSS,
        X,
    ),
    Case(
        "a source that skips what fails",
        connector("source", ALL),
        FindingKind.CONNECT_SILENT_LOSS,
        X,
        "errors.tolerance=none",
    ),
    Case(
        "a source whose queue Connect ignores",
        connector("source", SINK),
        FindingKind.CONNECT_SOURCE_DLQ_IGNORED,
        X,
        "errors.tolerance=none",
    ),
    Case(
        "a queue without headers",
        sink({HEADERS: "false"}),
        FindingKind.CONNECT_DLQ_WITHOUT_HEADERS,
        X,
        f"{HEADERS}=true",
    ),
    Case(
        "headers by default",
        connector("sink", {name: value for name, value in SINK.items() if name != HEADERS}),
        FindingKind.CONNECT_DLQ_WITHOUT_HEADERS,
        X,
    ),
    Case("headers that a config provider fills in", sink({HEADERS: "${env:HEADERS}"})),
    Case(
        "a queue without tolerance",
        sink({"errors.tolerance": "none"}),
        FindingKind.CONNECT_DLQ_WITHOUT_TOLERANCE,
        X,
        "errors.tolerance=all",
    ),
    Case(
        "more replicas than brokers, by default",
        connector("sink", {name: value for name, value in SINK.items() if name != REPLICATION}, missing=True),
        FindingKind.CONNECT_DLQ_NOT_CREATABLE,
        X,
        f"{REPLICATION}=1",
    ),
    Case("as many replicas as brokers", sink({}, missing=True, brokers=3)),
    Case("the broker's own number of replicas", sink({REPLICATION: "-1"}, missing=True, brokers=2)),
    Case("no number of replicas at all", sink({REPLICATION: "9" * 5_000}, missing=True)),
    Case("what is configured for a topic that exists", sink({REPLICATION: "1"}, brokers=2)),
    Case(
        "one replica for a topic that is to be created",
        sink({REPLICATION: "1"}, missing=True, brokers=2),
        FindingKind.DLQ_REPLICATION,
        X,
        f"{REPLICATION}=2",
    ),
    Case("one replica on one broker", sink({REPLICATION: "1"}, missing=True)),
    Case("a queue that is named as Kafka's own", sink({DLQ: "__a"}), FindingKind.DLQ_NOT_READ, X, f"{DLQ}=a"),
]

T = "topic:dlq.a"

TOPICS = [
    Case("a topic as it should be", topic({}, age_ms=DAY_MS)),
    Case("an empty topic", topic({})),
    Case(
        "one replica on two brokers",
        topic({}, replicas=1, brokers=2),
        FindingKind.DLQ_REPLICATION,
        T,
        '{"version":1,"partitions":[{"topic":"dlq.a","partition":0,"replicas":[0,1]}]}',
    ),
    Case(
        "one replica of each of many partitions",
        replace(
            PICTURE, topics={"dlq.a": Topic(((1,), (2,)) + ((2,),) * 9, 0, GOOD)}, broker_ids=(1, 2, 3, 4)
        ),
        FindingKind.DLQ_REPLICATION,
        T,
        '"partition":6,"replicas":[2,4,1]}]}, and 4 more partitions likewise',
    ),
    Case("one replica on one broker", topic({}, replicas=1)),
    Case("two replicas on three brokers", topic({}, replicas=2, brokers=3)),
    Case(
        "compacted",
        topic({"cleanup.policy": "compact"}),
        FindingKind.DLQ_COMPACTED,
        T,
        "cleanup.policy=delete",
    ),
    Case("compacted and deleted", topic({"cleanup.policy": "delete,compact"}), FindingKind.DLQ_COMPACTED, T),
    Case(
        "bounded in bytes",
        topic({"retention.bytes": "1000"}),
        FindingKind.DLQ_RETENTION_BYTES,
        T,
        "--add-config retention.bytes=-1",
    ),
    Case(
        "less than the warning is left",
        topic({}, age_ms=6 * DAY_MS + 1),
        FindingKind.DLQ_EXPIRING,
        T,
        f"--add-config retention.ms={30 * DAY_MS}",
    ),
    Case("just as much as the warning is left", topic({}, age_ms=6 * DAY_MS)),
    Case("overdue, as its segment is younger", topic({}, age_ms=9 * DAY_MS), FindingKind.DLQ_EXPIRING, T),
    Case("kept for ever", topic({"retention.ms": "-1"}, age_ms=900 * DAY_MS)),
    Case(
        "deleted sooner than anybody can act",
        topic({"retention.ms": str(DAY_MS - 1)}),
        FindingKind.DLQ_RETENTION_SHORT,
        T,
        f"--add-config retention.ms={30 * DAY_MS}",
    ),
    Case("deleted no sooner than that", topic({"retention.ms": str(DAY_MS)})),
    Case("told once when both hold", topic({"retention.ms": "1000"}, age_ms=1), FindingKind.DLQ_EXPIRING, T),
    Case(
        "nothing deletes what is only compacted or kept", topic({"cleanup.policy": "", "retention.ms": "1"})
    ),
    Case(
        "a name that no pattern matches",
        replace(PICTURE, named=frozenset({"errors.x"})),
        FindingKind.DLQ_NOT_READ,
        "topic:errors.x",
        "add 'errors\\.x' to dlq_topics",
    ),
    Case("a name that a pattern matches", replace(PICTURE, named=frozenset({"dlq.x"}))),
]


@pytest.mark.parametrize("case", [*SHARE, *CONNECT, *TOPICS], ids=lambda case: case.name)
def test_exactly_what_is_wrong_is_found(case: Case) -> None:
    found, left_out = bounded(findings(case.picture, {}))
    expected = [] if case.kind is None else [(case.kind.value, case.subject)]
    assert [(one.kind, one.subject) for one in found] == expected
    assert left_out == 0
    assert all(case.change in one.change and one.message for one in found)


def test_every_kind_is_in_a_table() -> None:
    assert {case.kind for case in (*SHARE, *CONNECT, *TOPICS)} - {None} == set(FindingKind)


def test_every_kind_is_explained_and_no_other() -> None:
    page = (Path(__file__).parents[2] / "docs" / "findings.md").read_text()
    assert re.findall(r"^\| `(\w+)`", page, re.MULTILINE) == [kind.value for kind in FindingKind]


def test_the_end_of_a_dead_letter_is_told_as_a_time() -> None:
    (found,), _ = bounded(findings(topic({}, age_ms=7 * DAY_MS), {}))
    assert (
        "2027-01-08T08:00:00Z: retention.ms=604800000 lets Kafka delete it from 2027-01-15T08:00:00Z"
        in found.message
    )


@pytest.mark.parametrize("oldest_at_ms", [-5, 2**62], ids=["before the epoch", "beyond the calendar"])
def test_no_time_of_a_record_breaks_a_look(oldest_at_ms: int) -> None:
    held = Topic(settings=GOOD | {"retention.ms": "0"}, oldest_at_ms=oldest_at_ms)
    picture = replace(PICTURE, now_ms=2**62, topics={"dlq.a": held})
    (found,), _ = bounded(findings(picture, {}))
    assert found.kind == FindingKind.DLQ_EXPIRING


def test_connectors_of_one_name_are_told_apart_by_their_cluster() -> None:
    connectors = {"x": Connector("sink", ALL)}
    picture = replace(PICTURE, connectors={"connect:a": connectors, "connect:b": connectors})
    found, _ = bounded(findings(picture, {}))
    assert [one.subject for one in found] == ["connector:x@connect:a", "connector:x@connect:b"]


FOUND = Finding(kind="k", subject="s", message="m", change="c")
KEPT = [
    ("groups that cannot be listed", replace(PICTURE, queues=None), "sharegroup:g1"),
    ("a group that may not be read", group(None), "sharegroup:g1"),
    ("brokers that may not be read", group("dlq.a", brokers={1: None}), "sharegroup:g1"),
    ("no broker at all", group("dlq.a", brokers={}), "sharegroup:g1"),
    ("a queue that may not be read", group("dlq.a", topics={"dlq.a": Topic()}), "sharegroup:g1"),
    ("a queue that may not be known", group("dlq.a", topics={}), "sharegroup:g1"),
    ("a cluster without features", group("dlq.a", share_version=None), "cluster"),
    ("rejections of groups that cannot be listed", replace(PICTURE, queues=None), "rejections"),
    ("a Connect cluster that is away", replace(PICTURE, connectors={"connect:c": None}), "connect:c"),
    (
        "a topic that was not measured",
        replace(PICTURE, topics={"dlq.a": Topic(settings=GOOD, oldest_at_ms=None)}),
        "topic:dlq.a",
    ),
    ("a topic that may not be read", replace(PICTURE, topics={"dlq.a": Topic()}), "topic:dlq.a"),
]


@pytest.mark.parametrize(("picture", "area"), [row[1:] for row in KEPT], ids=[row[0] for row in KEPT])
def test_what_cannot_be_judged_now_stays_as_it_was_told(picture: Picture, area: str) -> None:
    told = restored(json.loads(json.dumps(saved({area: (FOUND,), "gone": (FOUND,)}))))
    assert saved(findings(picture, told)) == saved({area: (FOUND,)})


GONE = [
    ("a group that is no more", replace(PICTURE, queues={}), "sharegroup:g1"),
    ("a connector that is no more", replace(PICTURE, connectors={"connect:c": {}}), "connect:c"),
    ("a Connect cluster that nobody watches", PICTURE, "connect:c"),
    ("a topic that is no more", replace(PICTURE, topics={}), "topic:dlq.a"),
    ("a topic that is mended", PICTURE, "topic:dlq.a"),
]


@pytest.mark.parametrize(("picture", "area"), [row[1:] for row in GONE], ids=[row[0] for row in GONE])
def test_what_is_mended_or_no_more_is_gone(picture: Picture, area: str) -> None:
    assert saved(findings(picture, {area: (FOUND,)})) == {}


def many(count: int, chars: int) -> dict[str, tuple[Finding, ...]]:
    return {
        str(number): (replace(FOUND, subject=f"topic:{number:05}", message="ä" * chars),)
        for number in range(count)
    }


def test_an_event_holds_no_more_than_a_broker_takes() -> None:
    assert [len(kept) for kept in bounded(many(MAX_FINDINGS + 7, 1))[:1]] == [MAX_FINDINGS]
    assert bounded(many(MAX_FINDINGS + 7, 1))[1] == 7
    assert len(saved(many(MAX_FINDINGS + 7, 1))) == MAX_FINDINGS
    kept, left_out = bounded(many(MAX_FINDINGS, MAX_TEXT_CHARS))
    assert len(json.dumps([asdict(one) for one in kept], ensure_ascii=False).encode()) <= MAX_BYTES * 1.01
    assert len(kept) + left_out == MAX_FINDINGS


def test_no_text_is_longer_than_an_event_takes() -> None:
    long = "g" * 5_000
    (found,), _ = bounded(findings(replace(PICTURE, queues={long: ""}, suspects=frozenset({long})), {}))
    assert len(found.subject) == len(found.message) == len(found.change) == MAX_TEXT_CHARS
