"""Findings from look to look: what stays as it was, what goes, and how many one event holds."""

import json
from dataclasses import asdict, replace

import pytest

from collector.sources.brokers.findings_watch import bounded, findings, restored, saved
from collector.sources.findings.configuration import ClusterConfiguration, Topic
from collector.sources.source import MAX_BYTES
from deadwatch.contract.events import MAX_TEXT_CHARS, Finding
from deadwatch.contract.events.findings import MAX_FINDINGS
from tests.tables import named
from tests.unit.collector.sources.findings.configurations import CLEAN, GOOD, group

FOUND = Finding(kind="k", subject="s", message="m", change="c")
G1 = "sharegroup:g1"
KEPT = [
    ("groups that cannot be listed", replace(CLEAN, queues=None), G1),
    ("brokers that may not be read", group("dlq.a", brokers={1: None}), G1),
    ("no broker at all", group("dlq.a", brokers={}), G1),
    ("a queue that may not be known", group("dlq.a", topics={}), G1),
    ("a cluster without features", group("dlq.a", share_version=None), "cluster"),
    ("rejections of groups that cannot be listed", replace(CLEAN, queues=None), "rejections"),
    ("a Connect cluster that is away", replace(CLEAN, connectors={"connect:c": None}), "connect:c"),
    (
        "a topic that was not measured",
        replace(CLEAN, topics={"dlq.a": Topic(settings=GOOD, oldest_at_ms=None)}),
        "topic:dlq.a",
    ),
    ("a topic that may not be read", replace(CLEAN, topics={"dlq.a": Topic()}), "topic:dlq.a"),
]


@pytest.mark.parametrize(("configuration", "area"), named(KEPT))
def test_what_cannot_be_judged_now_stays_as_it_was(configuration: ClusterConfiguration, area: str) -> None:
    before = restored(json.loads(json.dumps(saved({area: (FOUND,), "gone": (FOUND,)}))))
    assert saved(findings(configuration, before)) == saved({area: (FOUND,)})


GONE = [
    ("a group that is no more", replace(CLEAN, queues={}), G1),
    ("a connector that is no more", replace(CLEAN, connectors={"connect:c": {}}), "connect:c"),
    ("a Connect cluster that nobody watches", CLEAN, "connect:c"),
    ("a topic that is no more", replace(CLEAN, topics={}), "topic:dlq.a"),
    ("a topic that is fixed", CLEAN, "topic:dlq.a"),
]


@pytest.mark.parametrize(("configuration", "area"), named(GONE))
def test_what_is_fixed_or_no_more_is_gone(configuration: ClusterConfiguration, area: str) -> None:
    assert saved(findings(configuration, {area: (FOUND,)})) == {}


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


def test_a_name_with_half_a_surrogate_pair_holds_up_no_findings() -> None:
    found = (replace(FOUND, subject="connector:\ud800"),)
    assert bounded({"connect": found}) == (found, 0)


def test_no_text_is_longer_than_an_event_takes() -> None:
    long = "g" * 5_000
    (found,), _ = bounded(findings(replace(CLEAN, queues={long: ""}, suspects=frozenset({long})), {}))
    assert len(found.subject) == len(found.message) == len(found.change) == MAX_TEXT_CHARS
