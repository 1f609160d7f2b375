"""What an order has to be before it is accepted, and what it would do."""

from collections.abc import Mapping
from typing import Any

import pytest
from confluent_kafka import KafkaError

from collector.contract import headers as names
from collector.kafka import KafkaConnection
from streaming.filter import Filter
from streaming.letter import Headers, letter_of
from streaming.redrive.admission import admit, check_plan
from streaming.redrive.cluster import Extents, unavailable
from streaming.redrive.errors import ConfirmError, FilterError, RedriveError, RefusedOrderError
from streaming.redrive.order import Order, OrderRequest
from streaming.redrive.plan import MAX_EXAMPLES, Plan, Tally
from streaming.redrive.targets import TargetRules

RULES = TargetRules(
    {
        "dlq.orders": 2,
        "orders-dlq.parked": 1,
        "errors": 1,
        "orders": 6,
        "secret.orders": 6,
        "__consumer_offsets": 50,
        "deadwatch.events": 6,
    },
    allow=(r"(?!secret\.).*",),
    dlq_topics=frozenset({"errors"}),
)
FILTER = "attempts < 3"


def request(changes: Mapping[str, Any]) -> OrderRequest:
    body = {"dlq_topic": "dlq.orders", "selection": {"all": True}, "reason": "mended", "dry_run": False}
    return OrderRequest.model_validate({**body, **changes})


def into(topic: str) -> dict[str, Any]:
    return {"target": {"kind": "topic", "topic": topic}}


ACCEPTED: list[tuple[str, dict[str, Any], str]] = [
    ("all back to where it came from", {}, ""),
    ("out of a parked topic", {"dlq_topic": "orders-dlq.parked"}, ""),
    ("out of a topic that a configuration names", {"dlq_topic": "errors"}, ""),
    ("a group that is known", {"selection": {"group": "f1"}}, ""),
    ("a filter that compiles", {"selection": {"filter": FILTER}}, ""),
    ("a retry topic that is made from the origin", {"target": {"kind": "retry", "consumergroup": "g"}}, ""),
    (
        "two steps of a map, the first one gone",
        {"target": {"kind": "map", "map": {"a": "b", "b": "orders"}}},
        "",
    ),
    ("KIP-580's warning", {"retry": {"retry_backoff_ms": 9, "retry_backoff_max_ms": 8}}, "every wait is the"),
    ("a short patience", {"task_timeout_ms": 60_000}, "a target's second timeout is its last"),
    ("no patience at all", {"task_timeout_ms": 0}, ""),
    ("no limit", {"limits": {"records_per_second": None}}, "the targets get all at once"),
    ("a dry run that confirms", {"dry_run": True, "confirm": 5}, "confirm has no effect"),
]


@pytest.mark.parametrize(
    ("changes", "warning"), [row[1:] for row in ACCEPTED], ids=[row[0] for row in ACCEPTED]
)
def test_what_can_be_carried_out_is_accepted(changes: dict[str, Any], warning: str) -> None:
    admitted = admit(request(changes), RULES, {"f1"}.__contains__)
    assert len(admitted.warnings) == bool(warning)
    assert warning in "".join(admitted.warnings)


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("a topic that is not there", {"dlq_topic": "dlq.order"}, "(DESCRIBE); did you mean dlq.orders?"),
    ("a topic like no other", {"dlq_topic": "zzz"}, "topic zzz does not exist"),
    ("a topic of records that did not fail", {"dlq_topic": "orders"}, "orders is no dead letter topic"),
    ("a group that nobody knows", {"selection": {"group": "f2"}}, "no group of dead letters on dlq.orders"),
    ("a partition too many", {"selection": {"offsets": {"2": [0, 1]}}}, "no partition 2: it has 2"),
    (
        "a record of a partition too many",
        {"selection": {"records": [{"partition": 7, "offset": 0}]}},
        "no partition 7",
    ),
    ("Kafka's own topic", into("__consumer_offsets"), "target __consumer_offsets is Kafka's or our own"),
    ("our own topic", into("deadwatch.events"), "is Kafka's or our own"),
    ("itself", into("dlq.orders"), "target dlq.orders holds dead letters itself"),
    ("a parked topic", into("orders-dlq.parked"), "holds dead letters itself"),
    ("a topic named by a configuration", into("errors"), "holds dead letters itself"),
    ("a topic that is not allowed", into("secret.orders"), "is not on the allow-list"),
    ("a target that is not there", into("gone"), "target gone does not exist"),
    (
        "a map that ends nowhere",
        {"target": {"kind": "map", "map": {"a": "b", "b": "gone"}}},
        "target gone does not exist",
    ),
    ("a circle", {"target": {"kind": "map", "map": {"a": "b", "b": "a"}}}, "a circle: a -> b -> a"),
    (
        "a retry topic that holds dead letters",
        {"target": {"kind": "retry", "consumergroup": "g", "topic": "dlq.x"}},
        "target dlq.x holds dead letters",
    ),
    ("less time than one request takes", {"delivery_timeout_ms": 30_004}, "at least 30005"),
    ("a lag of nobody", {"guards": {"max_target_lag": 5}}, "max_target_lag and lag_group go together"),
    (
        "a bound that lanes cannot keep",
        {"engine": "spark", "limits": {"max_records": 5}},
        "limits.max_records cannot",
    ),
]


@pytest.mark.parametrize(("changes", "told"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_cannot_be_carried_out_is_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(RefusedOrderError) as refused:
        admit(request(changes), RULES, {"f1"}.__contains__)
    assert told in str(refused.value)


def test_a_filter_is_compiled_at_the_door() -> None:
    with pytest.raises(FilterError, match="did you mean attempts"):
        admit(request({"selection": {"filter": "atempts < 3"}}), RULES, bool)


CHECKS: list[tuple[str, dict[str, Any], Plan, type[RedriveError] | None]] = [
    ("few go without a word", {}, Plan(to_move=10, at_most=10), None),
    ("many do not", {}, Plan(to_move=11, at_most=11), ConfirmError),
    ("the number that was shown", {"confirm": 11}, Plan(to_move=11, at_most=11), None),
    ("fewer than were shown", {"confirm": 12}, Plan(to_move=11, at_most=11), None),
    ("more than were shown", {"confirm": 11}, Plan(to_move=12, at_most=12), ConfirmError),
    ("a dry run needs no confirmation", {"dry_run": True}, Plan(to_move=11, at_most=11), None),
    ("many that were not read", {"confirm": 4}, Plan(to_move=4, at_least=True, at_most=11), ConfirmError),
    ("as many as it can be", {"confirm": 11}, Plan(to_move=4, at_least=True, at_most=11), None),
    ("nothing matches", {}, Plan(read=5), RefusedOrderError),
    ("nothing matches so far", {}, Plan(read=5, at_least=True), None),
    ("nothing matches a dry run", {"dry_run": True}, Plan(read=5), None),
    ("everything would be skipped", {}, Plan(skip_reasons={"no_origin": 3}), RefusedOrderError),
    ("everything was moved before", {}, Plan(skip_reasons={"already_moved": 3}), RefusedOrderError),
    ("a dry run tells it", {"dry_run": True}, Plan(skip_reasons={"already_moved": 3}), None),
    ("what is parked is work, too", {}, Plan(to_park=3), None),
]


@pytest.mark.parametrize(
    ("changes", "plan", "error"), [row[1:] for row in CHECKS], ids=[row[0] for row in CHECKS]
)
def test_an_order_moves_something_and_not_much_unconfirmed(
    changes: dict[str, Any], plan: Plan, error: type[RedriveError] | None
) -> None:
    if error is None:
        check_plan(request(changes), plan, 10)
        return
    with pytest.raises(error):
        check_plan(request(changes), plan, 10)


def connect_headers(topic: bytes, attempts: int = 0) -> Headers:
    return (
        (names.CONNECT_TOPIC, topic),
        (names.CONNECT_PARTITION, b"3"),
        (names.REDRIVE_ATTEMPTS, b"%d" % attempts),
    )


SHARE: Headers = (
    (names.SHARE_TOPIC, b"orders"),
    (names.SHARE_PARTITION, b"0"),
    (names.SHARE_OFFSET, b"7"),
)


def tally(
    changes: Mapping[str, Any], records: list[tuple[bytes | None, Headers]], *, cut: bool = False
) -> Plan:
    asked = request(changes)
    cut_off = {0: len(records)}
    order = Order(id="a", request=asked, requested_by="me", created_at_ms=1, begin={0: 0}, cut_off=cut_off)
    matcher = None if asked.selection.filter is None else Filter(asked.selection.filter)
    counted = Tally(order, RULES, matcher)
    for offset, (value, headers) in enumerate(records):
        counted.add(letter_of("dlq.orders", 0, offset, 5, None, value, headers))
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
    wanted = Order(
        id="a", request=request({}), requested_by="me", created_at_ms=1, begin={0: 0}, cut_off={0: 5}
    )
    plans = Tally(wanted, RULES, None, lambda topic: held if topic == "orders" else None)
    for at, offset in ((1, 2), (1, 3), (1, 4), (1, 5), (9, 3)):
        told = {"topic": "orders", "partition": at, "offset": offset, "group": "g"}
        headers = tuple((f"__dlq.errors.{name}", str(value).encode()) for name, value in told.items())
        plans.add(letter_of("dlq.orders", 0, 0, 1, None, None, headers))
    plan = plans.plan(cut=False)
    assert plan.skip_reasons == {"origin_missing": 2, "payload_expired": 1}
    assert (plan.to_move, plan.rehydrated) == (2, 2)


def test_a_plan_counts_what_goes_where_and_what_stays() -> None:
    plan = tally({"limits": {"records_per_second": 4}}, RECORDS)
    assert (plan.read, plan.to_move, plan.targets, plan.to_park) == (13, 8, {"orders": 8}, 1)
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
    ("changes", "to_move", "read"),
    [
        ({"selection": {"filter": "attempts == 5"}, "retry": {"max_attempts": 6}}, 1, 13),
        ({"selection": {"offsets": {"0": [1, 3]}}}, 2, 13),
        ({"limits": {"max_records": 3}}, 3, 13),
    ],
)
def test_only_what_is_selected_counts(changes: dict[str, Any], to_move: int, read: int) -> None:
    plan = tally(changes, RECORDS)
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
    assert tally({"limits": limits}, RECORDS).estimated_ms == estimated_ms


@pytest.mark.parametrize(
    ("changes", "cut", "at_most"),
    [
        ({}, False, 8),
        ({}, True, 13),
        ({"selection": {"offsets": {"0": [1, 3]}}}, True, 2),
        ({"limits": {"max_records": 5}}, True, 5),
    ],
)
def test_what_was_not_read_may_all_be_moved(changes: dict[str, Any], cut: bool, at_most: int) -> None:
    plan = tally(changes, RECORDS, cut=cut)
    assert (plan.at_least, plan.at_most) == (cut, at_most)


def test_why_a_filter_says_nothing_is_counted() -> None:
    plan = tally({"selection": {"filter": 'headers["gone"] == "x"'}}, RECORDS)
    assert (plan.selected, plan.filter_problems) == (0, {'NOT_FOUND: Key not found in map : "gone"': 13})


@pytest.mark.parametrize(
    ("code", "user", "told"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "ann", "allow ann READ and DESCRIBE on it"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, None, "allow us READ and DESCRIBE on it"),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, "ann", "READ on groups that begin with deadwatch-"),
        (KafkaError.LEADER_NOT_AVAILABLE, "ann", "try again when it is back"),
    ],
)
def test_a_right_that_is_missing_is_named_and_for_whom(code: int, user: str | None, told: str) -> None:
    sasl = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_password": "secret"}
    connection = KafkaConnection.model_validate({"sasl_username": user, **sasl} if user else {})
    error = str(unavailable("topic dlq.t cannot be read", KafkaError(code), connection))
    assert error.startswith("topic dlq.t cannot be read: ")
    assert told in error
    assert "secret" not in error


def test_who_asks_for_what_was_moved_before_is_told_how_to_move_it_again() -> None:
    plan = Plan(skip_reasons={"already_moved": 1_190, "already_parked": 10})
    with pytest.raises(RefusedOrderError, match=r'all 1200 .* moved or parked already.* say "again": true'):
        check_plan(request({}), plan, 10)
    with pytest.raises(RefusedOrderError, match="would be skipped: already_moved 3, no_origin 2"):
        check_plan(request({}), Plan(skip_reasons={"already_moved": 3, "no_origin": 2}), 10)
