"""What an order would do, as it is counted from the dead letters of its topic."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from deadwatch.contract import headers as names
from deadwatch.deadletter.filter import Filter
from deadwatch.deadletter.record import Headers, parse_record
from deadwatch.orders.errors import ConfirmError
from deadwatch.orders.selection import Extents
from deadwatch.orders.targets import TargetRules
from redrive.plan.admission import check_plan
from redrive.plan.plan import MAX_EXAMPLES, Plan, PlanBuilder
from tests.unit.redrive.orders import order
from tests.unit.redrive.plan.test_admission import RULES


def connect_headers(topic: bytes, attempts: int = 0) -> Headers:
    return (
        (names.CONNECT_TOPIC, topic),
        (names.CONNECT_PARTITION, b"3"),
        (names.REDRIVE_ATTEMPTS, b"%d" % attempts),
    )


Origins = Callable[[str], Extents | None]
SHARE: Headers = ((names.SHARE_TOPIC, b"orders"), (names.SHARE_PARTITION, b"0"), (names.SHARE_OFFSET, b"7"))


def builder(
    changes: Mapping[str, Any], offsets: int, origins: Origins = lambda _: None, rules: TargetRules = RULES
) -> PlanBuilder:
    made = order({"dlq_topic": "dlq.orders", **changes}, {0: 0}, {0: offsets})
    expression = made.request.selection.filter
    return PlanBuilder(made, rules, None if expression is None else Filter(expression), origins)


def planned(
    changes: Mapping[str, Any],
    records: list[tuple[bytes | None, Headers]],
    *,
    cut: bool = False,
    rules: TargetRules = RULES,
) -> Plan:
    counted = builder(changes, len(records), rules=rules)
    for offset, (value, headers) in enumerate(records):
        counted.add(parse_record("dlq.orders", 0, offset, 5, None, value, headers))
    return counted.plan(cut=cut)


RECORDS: list[tuple[bytes | None, Headers]] = [
    *[(b"12345", connect_headers(b"orders"))] * 6,
    (b"v", connect_headers(b"orders", attempts=5)),
    (b"v", connect_headers(b"gone")),
    (b"v", ()),
    (b"v", connect_headers(b"secret.orders")),
    (None, SHARE),
    (None, SHARE[:2]),
    (None, connect_headers(b"orders")),
]


def test_a_plan_tells_which_records_retention_has_taken_from_their_origin() -> None:
    held = Extents({1: 3}, {1: 5})
    counted = builder({}, 5, lambda topic: held if topic == "orders" else None)
    for at, offset in ((1, 2), (1, 3), (1, 4), (1, 5), (9, 3)):
        text = {"topic": "orders", "partition": at, "offset": offset, "group": "g"}
        headers = tuple((f"__dlq.errors.{name}", str(value).encode()) for name, value in text.items())
        counted.add(parse_record("dlq.orders", 0, 0, 1, None, None, headers))
    plan = counted.plan(cut=False)
    assert plan.skip_reasons == {"origin_missing": 2, "payload_expired": 1}
    assert (plan.to_move, plan.rehydrated) == (2, 2)


def test_a_plan_tells_for_which_reason_records_would_be_parked() -> None:
    excluded = (b"v", (*connect_headers(b"orders"), (names.CONNECT_EXCEPTION, b"a.B")))
    plan = planned({"retry": {"park_error_classes": ["a.B"]}}, [RECORDS[6], excluded, excluded])
    assert (plan.to_park, plan.park_reasons) == (3, {"error_class_excluded": 2, "attempts_used_up": 1})


def test_a_plan_counts_what_goes_where_and_what_stays() -> None:
    plan = planned({"limits": {"records_per_second": 4}}, RECORDS)
    assert (plan.read, plan.to_move, plan.targets, plan.to_park) == (13, 8, {"orders": 8}, 1)
    assert plan.park_reasons == {"attempts_used_up": 1}
    assert plan.skip_reasons == {"no_origin": 2, "target_missing": 1, "target_not_allowed": 1}
    assert (plan.rehydrated, plan.bytes, plan.selected) == (1, 30, 13)
    assert plan.estimated_ms == 2_000
    shown = [(one.offset, one.target_topic, one.target_partition, one.skip_reason) for one in plan.examples]
    assert shown[:MAX_EXAMPLES] == [(0, "orders", 3, ""), (1, "orders", 3, ""), (2, "orders", 3, "")]
    assert shown[MAX_EXAMPLES:] == [
        (7, "gone", None, "target_missing"),
        (8, "", None, "no_origin"),
        (9, "secret.orders", None, "target_not_allowed"),
    ]


@pytest.mark.parametrize(
    ("asked", "dropped"),
    [
        (None, {"retry_topic-attempts": 2, "retry_topic-backoff-timestamp": 2}),
        (["tenant", "retry_topic-attempts", "deadwatch.*"], {"retry_topic-attempts": 2, "tenant": 1}),
        ([], {}),
    ],
    ids=["as the dialect says", "as the order says", "none"],
)
def test_a_plan_tells_which_headers_are_left_out(asked: list[str] | None, dropped: dict[str, int]) -> None:
    came_back: Headers = ((names.REDRIVE_ATTEMPTS, b"1"), ("tenant", b"a"))
    retries: Headers = (
        ("kafka_original-topic", b"orders"),
        ("retry_topic-attempts", b"1"),
        ("retry_topic-attempts", b"2"),
        ("retry_topic-backoff-timestamp", b"2"),
    )
    stays: Headers = (*retries[1:], ("kafka_original-topic", b"gone"))
    records: list[tuple[bytes | None, Headers]] = [
        (b"v", retries),
        (b"v", (*came_back, *retries)),
        (b"v", stays),
        (b"v", connect_headers(b"orders")),
    ]
    plan = planned({"drop_headers": asked}, records)
    assert (plan.to_move, plan.dropped_headers) == (3, dropped)


@pytest.mark.parametrize(
    ("changes", "to_move", "read"),
    [
        ({"selection": {"filter": "attempts == 5"}, "retry": {"max_attempts": 6}}, 1, 13),
        ({"selection": {"offsets": {"0": [1, 3]}}}, 2, 13),
        ({"limits": {"max_records": 3}}, 3, 13),
    ],
)
def test_only_what_is_selected_counts(changes: dict[str, Any], to_move: int, read: int) -> None:
    plan = planned(changes, RECORDS)
    assert (plan.to_move, plan.read) == (to_move, read)


@pytest.mark.parametrize(
    ("limits", "estimated_ms"),
    [
        ({"records_per_second": None}, None),
        ({"records_per_second": 2}, 4_000),
        ({"records_per_second": None, "bytes_per_second": 10}, 3_000),
        ({"records_per_second": 2, "bytes_per_second": 1}, 30_000),
        ({"records_per_second": None, "per_target_records_per_second": 0.5}, 16_000),
    ],
)
def test_the_slowest_limit_tells_how_long_it_takes(limits: dict[str, Any], estimated_ms: int | None) -> None:
    assert planned({"limits": limits}, RECORDS).estimated_ms == estimated_ms


@pytest.mark.parametrize(
    ("changes", "cut", "at_most"),
    [
        ({}, False, 9),
        ({"limits": {"max_records": 5}}, False, 6),
        ({}, True, 13),
        ({"selection": {"offsets": {"0": [1, 3]}}}, True, 2),
        ({"limits": {"max_records": 5}}, True, 5),
    ],
)
def test_all_that_may_be_moved_or_parked_is_to_be_confirmed(
    changes: dict[str, Any], cut: bool, at_most: int
) -> None:
    plan = planned(changes, RECORDS, cut=cut)
    assert (plan.at_least, plan.at_most) == (cut, at_most)


@pytest.mark.parametrize("attempts", [0, 5], ids=["move", "park"])
def test_what_a_target_that_was_made_since_the_dry_run_lets_us_do_is_not_confirmed(attempts: int) -> None:
    records = [RECORDS[0], RECORDS[6], (b"v", connect_headers(b"gone", attempts=attempts))]
    dry_run = planned({}, records)
    request = order({"confirm": dry_run.at_most}, {}, {}).request
    check_plan(request, dry_run, 99)
    made = replace(RULES, partitions={**RULES.partitions, "gone": 1})
    with pytest.raises(ConfirmError, match="move or park 3 records, and 2 are confirmed"):
        check_plan(request, planned({}, records, rules=made), 99)


def test_why_a_filter_says_nothing_is_counted() -> None:
    plan = planned({"selection": {"filter": 'headers["gone"] == "x"'}}, RECORDS)
    assert (plan.selected, plan.filter_problems) == (0, {'NOT_FOUND: Key not found in map : "gone"': 13})


@pytest.mark.parametrize(
    ("limits", "records", "engine", "texts"),
    [
        ({"records_per_second": 50}, 100, "local", ()),
        ({"records_per_second": 50}, 400_000, "local", ("2 h", 'engine "spark" and raise the limits')),
        ({"records_per_second": None}, 400_000, "local", ()),
        ({"records_per_second": None}, 80_000_000, "local", ("1 h", 'engine "spark", for')),
        ({"records_per_second": 50}, 400_000, "spark", ()),
    ],
)
def test_the_engine_is_suggested_where_one_worker_would_take_more_than_an_hour(
    limits: dict[str, float | None], records: int, engine: str, texts: tuple[str, ...]
) -> None:
    counted = builder({"engine": engine, "limits": limits}, records)
    counted._targets["orders"] = records
    warnings = " ".join(counted.plan(cut=False).warnings)
    assert bool(warnings) is bool(texts)
    assert all(one in warnings for one in texts)
