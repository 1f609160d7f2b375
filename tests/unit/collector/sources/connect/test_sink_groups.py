"""Whether a record waits for a sink: yes, no, or not known, and then it is said why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from kafka import TopicPartition, errors
from kafka.structs import OffsetAndMetadata, OffsetAndTimestamp

from collector.sources.connect import sink_groups
from collector.sources.connect.sink_groups import Group, SinkGroups
from collector.sources.connect.stalled import Extent
from deadwatch.runtime import kafka_topics
from deadwatch.runtime.kafka import KafkaConnection
from tests.tables import named

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
EXTENT = Extent(committed=3, end=9)
Answer = tuple[dict[str, int], int] | Exception
"""What a poll gives and the position after it, or what it raises."""
RECORD: Answer = ({"records": 1}, 3)
MARKERS: Answer = ({}, 9)
SILENCE: Answer = ({}, 3)
FORBIDDEN: Answer = errors.TopicAuthorizationFailedError()
AWAY: Answer = errors.KafkaConnectionError()


class Consumer:
    """With an answer for each partition."""

    answers: dict[TopicPartition, Answer] = {}  # noqa: RUF012 -- set by tests
    made = 0

    def __init__(self, _connection: KafkaConnection, **_options: object) -> None:
        type(self).made += 1

    def assign(self, places: Sequence[TopicPartition]) -> None:
        (self.place,) = places

    def seek(self, place: TopicPartition, offset: int) -> None:
        assert (place, offset) == (self.place, EXTENT.committed)

    def poll(self, timeout_ms: int) -> dict[str, int]:
        assert timeout_ms > 0
        answer = self.answers[self.place]
        if isinstance(answer, Exception):
            raise answer
        return answer[0]

    def position(self, place: TopicPartition) -> int:
        answer = self.answers[place]
        assert not isinstance(answer, Exception)
        return answer[1]

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def consumer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink_groups, "Consumer", Consumer)
    monkeypatch.setattr(Consumer, "made", 0)


CASES: list[tuple[str, Answer, Answer, bool | None, str]] = [
    ("a record", RECORD, MARKERS, True, ""),
    ("in any partition", MARKERS, RECORD, True, ""),
    ("markers alone", MARKERS, MARKERS, False, ""),
    ("a broker that gives nothing in time", MARKERS, SILENCE, None, "neither a record nor its end"),
    ("beside a record", SILENCE, RECORD, True, "neither a record nor its end"),
    ("a topic that may not be read", FORBIDDEN, MARKERS, None, "allow us to Read it"),
    ("brokers that are away", AWAY, MARKERS, None, "cannot be read (KafkaConnectionError)"),
]


@pytest.mark.parametrize(("first", "second", "waits", "trouble"), named(CASES))
def test_a_record_waits(
    monkeypatch: pytest.MonkeyPatch, first: Answer, second: Answer, waits: bool | None, trouble: str
) -> None:
    monkeypatch.setattr(Consumer, "answers", {P0: first, P1: second})
    groups = SinkGroups(KafkaConnection())
    assert groups.a_record_waits({P0: EXTENT, P1: EXTENT}, 0) is waits
    assert [text for text in groups.troubles if trouble not in text] == []
    assert bool(groups.troubles) == bool(trouble)


@pytest.mark.parametrize(("answer", "looks"), [(MARKERS, 1), (RECORD, 1), (SILENCE, 2)])
def test_what_is_known_is_not_asked_again_in_the_next_round(
    monkeypatch: pytest.MonkeyPatch, answer: Answer, looks: int
) -> None:
    monkeypatch.setattr(Consumer, "answers", {P0: answer})
    groups = SinkGroups(KafkaConnection())
    for _ in range(2):
        groups.a_record_waits({P0: EXTENT}, 0)
        assert groups.ask([]) == {}
    assert Consumer.made == looks


@pytest.mark.parametrize("answer", [MARKERS, SILENCE, FORBIDDEN])
def test_a_partition_is_asked_once_a_round(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> None:
    monkeypatch.setattr(Consumer, "answers", {P0: answer})
    groups = SinkGroups(KafkaConnection())
    answers = {groups.a_record_waits({P0: EXTENT}, 0) for _ in range(3)}
    assert (len(answers), Consumer.made) == (1, 1)


@pytest.mark.parametrize("answer", [SILENCE, AWAY])
def test_those_that_give_nothing_do_not_hide_a_record_of_another_task(
    monkeypatch: pytest.MonkeyPatch, answer: Answer
) -> None:
    silent = [TopicPartition("silent", number) for number in range(5)]
    monkeypatch.setattr(Consumer, "answers", {**dict.fromkeys(silent, answer), P0: RECORD})
    groups = SinkGroups(KafkaConnection())
    found, looks = [], []
    for _ in range(4):
        assert groups.a_record_waits(dict.fromkeys(silent, EXTENT), 0) is None
        found.append(groups.a_record_waits({P0: EXTENT}, 0))
        assert all(text.startswith("silent ") for text in groups.troubles)
        assert len(groups.troubles) == 1
        looks.append(Consumer.made)
        assert groups.ask([]) == {}
    assert (found, looks) == ([None, None, True, True], [2, 4, 6, 8])


def test_a_round_in_which_nobody_asks_ends_no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = [TopicPartition("silent", number) for number in range(3)]
    monkeypatch.setattr(Consumer, "answers", {**dict.fromkeys(silent, SILENCE), P0: RECORD})
    groups = SinkGroups(KafkaConnection())
    found = []
    for _ in range(2):
        groups.a_record_waits(dict.fromkeys(silent, EXTENT), 0)
        found.append(groups.a_record_waits({P0: EXTENT}, 0))
        groups.ask([])
        groups.ask([])
    assert found == [None, True]


HIDDEN, MOVED = errors.GroupAuthorizationFailedError(), errors.NotCoordinatorError()
Described = tuple[str, int | errors.KafkaError | None]
"""The state of a group, and what it has committed of P0 or how that fails."""


@dataclass
class Admin:
    """It answers as kafka-python 3.0.12 does on a 4.4.0 broker; no partition has a leader."""

    groups: Mapping[str, Described]
    closed: bool = False
    asked: int = 0

    def list_group_offsets(self, names: list[str]) -> dict[str, dict[TopicPartition, OffsetAndMetadata]]:
        self.asked += 1
        offsets = {name: self.groups[name][1] for name in names}
        for offset in offsets.values():
            if isinstance(offset, errors.KafkaError):
                raise offset
        return {
            name: {P0: OffsetAndMetadata(offset, "", -1)} if isinstance(offset, int) else {}
            for name, offset in offsets.items()
        }

    def describe_groups(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        if HIDDEN in (self.groups[name][1] for name in names):
            raise HIDDEN
        return {name: {"group_state": self.groups[name][0], "members": []} for name in names}

    def describe_topics(self, _topics: Sequence[str]) -> list[dict[str, Any]]:
        return []

    def list_partition_offsets(self, *_: object) -> dict[TopicPartition, OffsetAndTimestamp]:
        return {}

    def close(self) -> None:
        self.closed = True


FOUND = {"sink": Group(steady=True, held={}, extents={})}
DESCRIBED: list[tuple[str, Described, dict[str, Group | None]]] = [
    ("one that rebalances", ("PreparingRebalance", None), {"g": Group(steady=False, held={}, extents={})}),
    ("one that nobody has joined yet", ("Dead", None), {}),
    ("one of another protocol", ("Dead", 5), {"g": None}),
    ("one whose answer is an error", ("", None), {"g": None}),
    ("one that we may not see", ("", HIDDEN), {"g": None}),
    ("one whose coordinator is loading", ("", errors.CoordinatorLoadInProgressError()), {"g": None}),
    ("one without a coordinator", ("", errors.CoordinatorNotAvailableError()), {"g": None}),
]


@pytest.mark.parametrize(("other", "found"), named(DESCRIBED))
def test_a_group_that_is_not_described_hides_no_other(
    monkeypatch: pytest.MonkeyPatch, other: Described, found: dict[str, Group | None]
) -> None:
    monkeypatch.setattr(kafka_topics, "connect", lambda _: Admin({"sink": ("Empty", 3), "g": other}))
    groups = SinkGroups(KafkaConnection())
    assert groups.ask(["sink", "g"]) == FOUND | found
    assert [text for text in groups.troubles if "does not describe group g; " not in text] == []
    assert bool(groups.troubles) == (None in found.values())


def test_many_groups_are_asked_for_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [str(number) for number in range(1_000)]
    admin = Admin(dict.fromkeys(names, ("Empty", 3)) | {"7": ("", HIDDEN)})
    monkeypatch.setattr(kafka_topics, "connect", lambda _: admin)
    found = SinkGroups(KafkaConnection()).ask(names)
    assert [name for name, group in found.items() if group is None] == ["7"]
    assert admin.asked < 25


def test_a_coordinator_that_has_moved_is_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    admins = [Admin({"sink": ("", MOVED)}), Admin({"sink": ("Empty", 3)})]
    made = iter(admins)
    monkeypatch.setattr(kafka_topics, "connect", lambda _: next(made))
    groups = SinkGroups(KafkaConnection())
    assert groups.ask(["sink"]) == {}
    assert "(NotCoordinatorError)" in groups.troubles[0]
    assert (groups.ask(["sink"]), groups.troubles, admins[0].closed) == (FOUND, [], True)
