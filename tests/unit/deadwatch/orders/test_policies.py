"""Which order a policy makes next, and when it makes none."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import pytest
from pydantic import ValidationError

from deadwatch.deadletter.filter import MAX_CHARS, Filter
from deadwatch.deadletter.record import parse_record
from deadwatch.orders.errors import RefusedOrderError
from deadwatch.orders.order import Status
from deadwatch.orders.policy import Backlog, Due, Latest, Policy, PolicyRequest, Position, covered, due, rests
from deadwatch.orders.selection import Extents
from tests.dialect_headers import LISTENER_FAILED, SPRING_RETRIES


def request(**changes: object) -> PolicyRequest:
    return PolicyRequest.model_validate({"dlq_topics": [r"dlq\..*"], "reason": "flaky", **changes})


def policy(
    *,
    positions: Mapping[str, Mapping[int, int]] = MappingProxyType({}),
    topic_id: str = "1",
    last_topic: str = "",
    **changes: object,
) -> Policy:
    """``topic_id`` is that of all topics in ``positions``."""
    held = {topic: Position(topic_id, offsets) for topic, offsets in positions.items()}
    return Policy("p", 2, request(**changes), "me", 1, 500, held, last_topic)


def holds(*ends: int, begin: int = 0, topic_id: str = "1") -> Backlog:
    extents = Extents(dict.fromkeys(range(len(ends)), begin), dict(enumerate(ends)))
    return Backlog(topic_id, extents)


def part(topic: str, topic_id: str = "1", **places: tuple[int, int]) -> Due:
    begin, end = zip(*places.values(), strict=True)
    numbers = [int(name[1:]) for name in places]
    extents = Extents(dict(zip(numbers, begin, strict=True)), dict(zip(numbers, end, strict=True)))
    return Due(topic, extents, topic_id)


@dataclass(frozen=True)
class Case:
    name: str
    due: Due | None
    policy: Policy = field(default_factory=policy)
    latest: Latest | None = None
    backlog: dict[str, Backlog] = field(default_factory=lambda: {"dlq.a": holds(10)})
    most: int = 100


CASES = [
    Case("what there is, from the beginning", part("dlq.a", p0=(0, 10))),
    Case("what retention has left", part("dlq.a", p0=(4, 10)), backlog={"dlq.a": holds(10, begin=4)}),
    Case("behind what was covered", part("dlq.a", p0=(7, 10)), policy(positions={"dlq.a": {0: 7}})),
    Case("nothing new", None, policy(positions={"dlq.a": {0: 10}})),
    Case(
        "a topic that was made anew begins anew",
        part("dlq.a", "2", p0=(0, 10)),
        policy(positions={"dlq.a": {0: 7}}),
        backlog={"dlq.a": holds(10, topic_id="2")},
    ),
    Case(
        "it is shorter, and its broker knows no ids",
        part("dlq.a", "", p0=(0, 10)),
        policy(positions={"dlq.a": {0: 11}}, topic_id=""),
        backlog={"dlq.a": holds(10, topic_id="")},
    ),
    Case(
        "it is shorter, and its broker knows ids only since",
        part("dlq.a", p0=(0, 10)),
        policy(positions={"dlq.a": {0: 11}}, topic_id=""),
    ),
    Case(
        "it was made anew without ids, and is empty",
        part("dlq.a", "", p0=(0, 0)),
        policy(positions={"dlq.a": {0: 11}}, topic_id=""),
        backlog={"dlq.a": holds(0, topic_id="")},
    ),
    Case(
        "a partition has lost its last records: nothing of before, and what comes from now on",
        part("dlq.a", p0=(10, 10)),
        policy(positions={"dlq.a": {0: 11}}),
    ),
    Case(
        "one has lost records, another has new ones",
        part("dlq.a", p0=(10, 10), p1=(2, 5)),
        policy(positions={"dlq.a": {0: 11, 1: 2}}),
        backlog={"dlq.a": holds(10, 5)},
    ),
    Case(
        "the id of the topic was not kept",
        part("dlq.a", p0=(7, 10)),
        policy(positions={"dlq.a": {0: 7}}, topic_id=""),
    ),
    Case(
        "its broker does not tell the id any more",
        part("dlq.a", "", p0=(7, 10)),
        policy(positions={"dlq.a": {0: 7}}),
        backlog={"dlq.a": holds(10, topic_id="")},
    ),
    Case("only partitions with something", part("dlq.a", p1=(0, 5)), backlog={"dlq.a": holds(0, 5)}),
    Case("no more than allowed", part("dlq.a", p0=(0, 4)), most=4),
    Case(
        "a flooded partition leaves the others their share",
        part("dlq.a", p0=(0, 7), p1=(0, 3)),
        backlog={"dlq.a": holds(1_000, 3)},
        most=10,
    ),
    Case("a topic of another name", None, backlog={"errors": holds(10)}),
    Case("parked records stay parked", None, backlog={"dlq.a.parked": holds(10)}),
    Case(
        "topics take turns",
        part("dlq.b", p0=(0, 1)),
        policy(last_topic="dlq.a"),
        backlog={"dlq.a": holds(99), "dlq.b": holds(1), "dlq.c": holds(9)},
    ),
    Case(
        "those that had their turn come after the others",
        part("dlq.c", p0=(0, 9)),
        policy(last_topic="dlq.b"),
        backlog={"dlq.a": holds(99), "dlq.b": holds(1), "dlq.c": holds(9)},
    ),
    Case(
        "the first one again after the last",
        part("dlq.a", p0=(0, 9)),
        policy(last_topic="dlq.b"),
        backlog={"dlq.a": holds(9), "dlq.b": holds(9)},
    ),
    Case("one order at a time", None, latest=Latest("o", Status.RUNNING, 600)),
    Case("one that a guard has paused is the one", None, latest=Latest("o", Status.PAUSED, 600)),
    Case("one that is being cancelled is still there", None, latest=Latest("o", Status.CANCELLING, 600)),
    Case("the last one is done", part("dlq.a", p0=(0, 10)), latest=Latest("o", Status.COMPLETED, 600)),
    Case("somebody has cancelled it", part("dlq.a", p0=(0, 10)), latest=Latest("o", Status.CANCELLED, 600)),
    Case("it has failed: not again before a change", None, latest=Latest("o", Status.FAILED, 500)),
    Case("nor later", None, latest=Latest("o", Status.FAILED, 10**9)),
    Case(
        "it had failed before the change", part("dlq.a", p0=(0, 10)), latest=Latest("o", Status.FAILED, 499)
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_next_order(case: Case) -> None:
    rest = rests(case.policy, case.latest)
    assert (None if rest else due(case.policy, case.backlog, case.most)) == case.due


def test_order_after_order_covers_every_offset_once() -> None:
    backlog = {"dlq.a": holds(25, 7, 0), "dlq.b": holds(4)}
    seen: list[tuple[str, int, int]] = []
    one = policy()
    while (found := due(one, backlog, 6)) is not None:
        for partition, end in found.extents.end.items():
            seen += [(found.topic, partition, at) for at in range(found.extents.begin[partition], end)]
        one = covered(one, found)
    every = [
        (topic, partition, at)
        for topic, there in backlog.items()
        for partition, end in there.extents.end.items()
        for at in range(end)
    ]
    assert sorted(seen) == every
    assert one.positions == {"dlq.a": Position("1", {0: 25, 1: 7}), "dlq.b": Position("1", {0: 4})}


def test_what_was_covered_of_a_topic_that_was_made_anew_is_forgotten() -> None:
    one = policy(positions={"dlq.a": {0: 7, 1: 7}, "dlq.b": {0: 4}})
    after = covered(one, part("dlq.a", "2", p0=(0, 3)))
    assert after.positions == {"dlq.a": Position("2", {0: 3}), "dlq.b": Position("1", {0: 4})}


def test_its_orders_park_excluded_classes_unless_they_are_to_be_left() -> None:
    asked = request(exclude_error_classes=["a.B", "c.D"], retry={"park_error_classes": ["a.B", "e.F"]})
    order = asked.order("dlq.a")
    assert order.retry.park_error_classes == ("a.B", "e.F", "c.D")
    assert order.selection.filter is None
    assert asked.model_copy(update={"excluded": "leave"}).order("dlq.a").retry == asked.retry


def test_its_orders_have_its_terms_and_leave_excluded_classes_alone() -> None:
    asked = request(
        filter='connector == "sink" || attempts > 1',
        exclude_error_classes=["a.b.SerializationException", "X$Y"],
        excluded="leave",
        retry={"max_attempts": 3},
        target={"kind": "topic", "topic": "t"},
    )
    order = asked.order("dlq.a")
    assert (order.dlq_topic, order.dry_run, order.retry.max_attempts) == ("dlq.a", False, 3)
    assert (order.target, order.reason) == (asked.target, "flaky")
    matches = Filter(order.selection.filter or "")
    for connector, error_class, chosen in (
        ("sink", "a.b.TimeoutException", True),
        ("sink", "a.b.SerializationException", False),
        ("sink", "X$Y", False),
        ("other", "a.b.TimeoutException", False),
    ):
        headers = [
            ("__connect.errors.connector.name", connector.encode()),
            ("__connect.errors.exception.class.name", error_class.encode()),
        ]
        assert matches(parse_record("dlq.a", 0, 0, 0, None, None, headers)) is chosen


def test_a_class_is_excluded_also_where_it_is_around_the_thrown_one() -> None:
    record = parse_record("dlq.a", 0, 0, 0, None, None, SPRING_RETRIES)
    for excluded, chosen in ((LISTENER_FAILED, False), (record.error_class, False), ("a.B", True)):
        order = request(exclude_error_classes=[excluded], excluded="leave").order("dlq.a")
        assert Filter(order.selection.filter or "")(record) is chosen


def test_a_filter_may_end_in_a_comment() -> None:
    asked = request(filter="attempts > 1 // or more", exclude_error_classes=["a.B"], excluded="leave")
    made = Filter(asked.order("t").selection.filter or "")
    assert not made(parse_record("t", 0, 0, 0, None, None, None))


def test_a_filter_that_was_as_long_as_it_may_be_still_is() -> None:
    text = '"http://a" != "' + "b" * (MAX_CHARS - 2 - len('"http://a" != ""')) + '"'
    order = request(filter=text).order("t")
    assert order.selection.filter == f"({text})"
    assert len(order.selection.filter) == MAX_CHARS


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"dlq_topics": []}, "dlq_topics"),
        ({"dlq_topics": ["("]}, "is not a regular expression"),
        ({"limits": {"max_records": 5}}, "would leave records behind for ever"),
        ({"exclude_error_classes": ['a"b']}, "exclude_error_classes"),
        ({"filter": "x" * MAX_CHARS}, "together are longer than"),
        ({"dry_run": True}, "dry_run"),
        ({"reason": ""}, "reason"),
    ],
)
def test_a_request_that_contradicts_itself_is_refused(changes: dict[str, object], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        request(**changes)


NAMES = ("dlq.a", "dlq.test", "dlqxa", "orders-dlt", "DLQ.A", "", "a" * 249, "dlq.a\n")
LINEAR = (
    *(r"dlq\..*", r".*[-.](dlq|DLQ|dlt|DLT)", "dlq.a|orders-dlt", "(?i)dlq\\.a", r"\w+\.\w+", "", "a*"),
    *(r"dlq\.a$", "d(?P<n>l)q.a", r"[\"']?dlq.a", "(?s).*"),
)
BACKTRACKING = (r"dlq\.(?!test).*", "a{,300}", r"(.)\1*", r"dlq\.a\Z")


@pytest.mark.parametrize("pattern", LINEAR + BACKTRACKING)
def test_a_pattern_means_what_python_says(pattern: str) -> None:
    policy = PolicyRequest(dlq_topics=(pattern,), reason="r")
    assert [policy.covers(name) for name in NAMES] == [
        re.fullmatch(pattern, name) is not None for name in NAMES
    ]


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|aa)*c", "a*a*a*a*a*a*a*b", r"(.*)*\d"])
def test_a_pattern_that_would_backtrack_for_years_comes_to_its_end(pattern: str) -> None:
    policy = PolicyRequest(dlq_topics=(pattern,), reason="r")
    assert not policy.covers("a" * 249)


SLOW = ("(?!x)(a+)+b", "(?=d)" + "(?:.|[^_])" * 26 + "_", "(a{100}){11}", "a" * MAX_CHARS)


@pytest.mark.parametrize("pattern", LINEAR)
def test_a_new_pattern_that_takes_linear_time_is_taken(pattern: str) -> None:
    PolicyRequest(dlq_topics=(pattern,), reason="r").refuse_slow_patterns()


@pytest.mark.parametrize("pattern", BACKTRACKING + SLOW, ids=lambda pattern: pattern[:20])
def test_a_new_pattern_that_may_backtrack_is_refused(pattern: str) -> None:
    with pytest.raises(RefusedOrderError, match="may take very long for one name: write it as RE2 takes it"):
        PolicyRequest(dlq_topics=(pattern,), reason="r").refuse_slow_patterns()


@pytest.mark.parametrize(
    ("excluded", "number", "parks"), [("park", 41, 0), ("park", 40, 100), ("leave", 41, 60)]
)
def test_classes_that_no_order_takes_together_are_refused(excluded: str, number: int, parks: int) -> None:
    """Where it is left to the store, the order of one policy is broken, and no other policy has its turn."""
    parked, others = (
        [f"a.{name}{each}" for each in range(count)] for name, count in (("A", 60), ("B", number))
    )
    made = request(retry={"park_error_classes": parked}, exclude_error_classes=others, excluded=excluded)
    if parks:
        assert len(made.order("dlq.a").retry.park_error_classes) == parks
    else:
        with pytest.raises(RefusedOrderError, match="more than 100 classes together"):
            made.order("dlq.a")
