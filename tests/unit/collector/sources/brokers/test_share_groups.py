"""A broker's share-group meters through Jolokia; those in ``tests/data`` are of a 4.4.0 broker."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any

import pytest

from collector.settings import BrokerSettings
from collector.sources.brokers import share_groups
from collector.sources.brokers.share_groups import BrokerSource, label
from collector.sources.source import Publishing, SourceDownError, SourceTimeoutError
from deadwatch.contract.events import BrokerSnapshot, Event, ShareGroup
from tests.http_server import Serve
from tests.paths import DATA
from tests.tables import named

RECORDED = DATA / "jolokia"
BEFORE = (RECORDED / "broker-without-dead-letters.json").read_text()
AFTER = (RECORDED / "broker-with-ten-dead-letters.json").read_text()
STARTED_AT_MS = json.loads(AFTER)[-1]["value"]
G1 = ShareGroup(consumergroup="g1", records=10, produce_requests=2, failed_produce_requests=0)
NONE = {"status": 404, "error": "No MBean"}
START = {"status": 200, "value": 7}


def meter(name: str, group: str, count: float) -> dict[str, Any]:
    bean = f"kafka.server:type=ShareGroupMetrics,name={share_groups.METERS[name]},group={group}"
    return {"status": 200, "value": {bean: {"Count": count}}}


ANSWERS = [
    ("a broker without any dead letter has no meters", BEFORE, ()),
    ("what a real broker tells after ten dead letters", AFTER, (G1,)),
    (
        "a group that has only failed",
        json.dumps([NONE, NONE, meter("failed_produce_requests", "g", 3), START]),
        (ShareGroup(consumergroup="g", records=0, produce_requests=0, failed_produce_requests=3),),
    ),
    (
        "a name that has to be quoted",
        json.dumps([meter("records", '"a,b=\\"c\\""', 4), NONE, NONE, START]),
        (ShareGroup(consumergroup='a,b="c"', records=4, produce_requests=0, failed_produce_requests=0),),
    ),
]


BROKEN = [
    ("HTML", "<html>"),
    ("an object", "{}"),
    ("arrays in arrays without end", "[" * 100_000),
    ("a count without end", json.dumps([meter("records", "g", float("inf")), NONE, NONE, START])),
    ("too few answers", json.dumps([NONE, NONE, START])),
    ("a read that is not allowed", json.dumps([{"status": 403, "error": "no"}, NONE, NONE, START])),
    ("no start of the broker", json.dumps([NONE, NONE, NONE, NONE])),
    (
        "a bean without group",
        json.dumps([{"status": 200, "value": {"a:b=c": {"Count": 1}}}, NONE, NONE, START]),
    ),
]


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (BrokerSettings(jolokia_url="http://kafka-1:8778/jolokia"), "kafka-1:8778"),
        (BrokerSettings(jolokia_url="http://me:secret@kafka-1:8778/"), "kafka-1:8778"),
        (BrokerSettings(jolokia_url="https://kafka-1/jolokia"), "kafka-1"),
        (BrokerSettings(jolokia_url="http://kafka-1:8778/", name="1"), "1"),
    ],
)
def test_the_label_is_a_name_or_where_the_agent_is(settings: BrokerSettings, name: str) -> None:
    assert label(settings) == name


@dataclass
class Agent:
    """A Jolokia agent and the time."""

    url: str = ""
    body: str = BEFORE
    now_ms: int = 1_000
    request_timeout_ms: int = 20_000
    opened: ExitStack = field(default_factory=ExitStack)

    def source(self) -> BrokerSource:
        settings = BrokerSettings(jolokia_url=self.url, name="1", request_timeout_ms=self.request_timeout_ms)
        publishing = Publishing(lambda _: None, "c", 5_000, lambda: self.now_ms)
        return self.opened.enter_context(closing(BrokerSource(settings, publishing)))


@pytest.fixture
def agent(serve: Serve) -> Iterator[Agent]:
    agent = Agent()
    agent.url = f"http://127.0.0.1:{serve(lambda *_: (200, agent.body.encode()))}/jolokia/"
    with agent.opened:
        yield agent


def events(source: BrokerSource) -> tuple[Event, ...]:
    chunk = source.poll()
    return chunk.events if chunk else ()


@pytest.mark.parametrize(("body", "groups"), named(ANSWERS))
def test_the_meters_are_what_the_beans_say(agent: Agent, body: str, groups: tuple[ShareGroup, ...]) -> None:
    agent.body = body
    (snapshot,) = events(agent.source())
    assert isinstance(snapshot, BrokerSnapshot)
    assert snapshot.share_groups == groups


@pytest.mark.parametrize("body", named(BROKEN))
def test_an_agent_that_is_no_broker_s_takes_the_source_down(agent: Agent, body: str) -> None:
    agent.body = body
    told = r"but not as a Jolokia agent of a broker: .*; check jolokia_url and the agent"
    with pytest.raises(SourceDownError, match=told):
        agent.source().poll()


def test_a_snapshot_is_published_at_every_change_and_as_a_heartbeat(agent: Agent) -> None:
    source = agent.source()
    assert len(events(source)) == 1
    agent.now_ms += 1_000
    assert source.poll() is None
    agent.body = AFTER
    (snapshot,) = events(source)
    assert isinstance(snapshot, BrokerSnapshot)
    assert (snapshot.broker, snapshot.started_at_ms, snapshot.share_groups) == ("1", STARTED_AT_MS, (G1,))
    assert snapshot.source == source.name == "broker:1"
    assert snapshot.position > (1_000, 0, 0)
    agent.now_ms += 5_000
    assert len(events(source)) == 1


def test_more_groups_than_an_event_holds_are_said_every_time(agent: Agent) -> None:
    beans = {
        f"kafka.server:type=ShareGroupMetrics,name=DeadLetterQueueRecordCount,group=g{n}": {"Count": 1}
        for n in range(share_groups.MAX_GROUPS + 1)
    }
    agent.body = json.dumps([{"status": 200, "value": beans}, NONE, NONE, START])
    source = agent.source()
    for published in (1, 0):
        chunk = source.poll()
        assert chunk is not None
        assert (len(chunk.events), "those beyond are not counted" in chunk.trouble) == (published, True)


def test_an_agent_that_does_not_answer_in_time_starts_the_timer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        agent = Agent(f"http://127.0.0.1:{silent.getsockname()[1]}/jolokia/", request_timeout_ms=200)
        with agent.opened, pytest.raises(SourceTimeoutError) as raised:
            agent.source().poll()
    assert "does not answer in time" in str(raised.value)
    assert raised.value.call == "reading Jolokia"
