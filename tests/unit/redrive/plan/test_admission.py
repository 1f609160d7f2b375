"""What an order has to be before it is accepted, and what it would do."""

from collections.abc import Mapping
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from deadwatch.contract.errors import RequestError
from deadwatch.deadletter.filter.errors import FilterError
from deadwatch.orders.errors import ConfirmError, KafkaUnavailableError, RefusedOrderError, UnreadHistoryError
from deadwatch.orders.order import OrderRequest
from deadwatch.orders.targets import TargetRules
from deadwatch.runtime.kafka import KafkaConnection
from redrive.cluster import asking
from redrive.plan.admission import admit, check_plan
from redrive.plan.plan import Plan
from tests.tables import named

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
    own=frozenset({"deadwatch.events"}),
    allow=(r"(?!secret\.).*",),
    dlq_topics=frozenset({"errors"}),
)
FILTER = "attempts < 3"


def request(changes: Mapping[str, Any]) -> OrderRequest:
    body = {"dlq_topic": "dlq.orders", "selection": {"all": True}, "reason": "fixed", "dry_run": False}
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
    ("a short deadline", {"task_timeout_ms": 60_000}, "a target's second timeout is its last"),
    ("no deadline at all", {"task_timeout_ms": 0}, ""),
    ("the longest delivery", {"delivery_timeout_ms": 2_147_423_647, "task_timeout_ms": 0}, ""),
    (
        "the least and the greatest rate",
        {"limits": {"records_per_second": 1e-6, "bytes_per_second": 10**12}},
        "",
    ),
    ("no limit", {"limits": {"records_per_second": None}}, "the targets get all at once"),
    ("a dry run that confirms", {"dry_run": True, "confirm": 5}, "confirm has no effect"),
]


@pytest.mark.parametrize(("changes", "warning"), named(ACCEPTED))
def test_what_can_be_carried_out_is_accepted(changes: dict[str, Any], warning: str) -> None:
    _, warnings = admit(request(changes), RULES, {"f1"}.__contains__)
    assert len(warnings) == bool(warning)
    assert warning in "".join(warnings)


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
    ("Kafka's own topic", into("__consumer_offsets"), "target __consumer_offsets is refused: the topic"),
    ("our own topic", into("deadwatch.events"), "the topic is Kafka's own, or holds Deadwatch's"),
    ("itself", into("dlq.orders"), "target dlq.orders is refused: dead letters are kept there"),
    ("a parked topic", into("orders-dlq.parked"), "dead letters are kept there"),
    ("a topic named by a configuration", into("errors"), "dead letters are kept there"),
    ("a topic that is not allowed", into("secret.orders"), "targets_allow matches it; add one"),
    ("a target that is not there", into("gone"), "(DESCRIBE): create it, or name another one"),
    (
        "a map that ends nowhere",
        {"target": {"kind": "map", "map": {"a": "b", "b": "gone"}}},
        "target gone is refused: the topic does not exist",
    ),
    (
        "a map of very many topics",
        {"target": {"kind": "map", "map": {f"old{number}": "new" for number in range(1_001)}}},
        "the map redirects 1001 topics, more than 1000: leave out those of which",
    ),
    ("a circle", {"target": {"kind": "map", "map": {"a": "b", "b": "a"}}}, "a circle: a -> b -> a"),
    (
        "a retry topic that holds dead letters",
        {"target": {"kind": "retry", "consumergroup": "g", "topic": "dlq.x"}},
        "target dlq.x is refused: dead letters are kept there",
    ),
    ("less time than one request takes", {"delivery_timeout_ms": 30_004}, "at least 30005"),
    ("more time than Kafka's client keeps", {"delivery_timeout_ms": 2_147_423_648}, "at most 2147423647"),
    (
        "a record in years",
        {"limits": {"records_per_second": 1e-300}},
        "records_per_second must be from 1e-06",
    ),
    ("a rate beyond all", {"limits": {"records_per_second": 1e306}}, "to 1e+12, or null: no limit"),
    ("a target's rate", {"limits": {"per_target_records_per_second": 5e-324}}, "limits.per_target_records"),
    ("a number of bytes", {"limits": {"bytes_per_second": 10**400}}, "limits.bytes_per_second must be"),
    ("a lag of nobody", {"guards": {"max_target_lag": 5}}, "max_target_lag and lag_group go together"),
    (
        "a bound that executors cannot keep",
        {"engine": "spark", "limits": {"max_records": 5}},
        "limits.max_records cannot",
    ),
]


@pytest.mark.parametrize(("changes", "text"), named(REFUSED))
def test_what_cannot_be_carried_out_is_refused(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(RefusedOrderError) as refused:
        admit(request(changes), RULES, {"f1"}.__contains__)
    assert text in str(refused.value)


def test_a_filter_is_compiled_at_the_door() -> None:
    with pytest.raises(FilterError, match="did you mean attempts"):
        admit(request({"selection": {"filter": "atempts < 3"}}), RULES, bool)


CHECKS: list[tuple[str, dict[str, Any], Plan, type[RequestError] | None]] = [
    ("few go without a word", {}, Plan(to_move=10, at_most=10), None),
    ("many do not", {}, Plan(to_move=11, at_most=11), ConfirmError),
    ("the number that was shown", {"confirm": 11}, Plan(to_move=11, at_most=11), None),
    ("fewer than were shown", {"confirm": 12}, Plan(to_move=11, at_most=11), None),
    ("more than were shown", {"confirm": 11}, Plan(to_move=12, at_most=12), ConfirmError),
    ("few, and more than were shown", {"confirm": 3}, Plan(to_move=9, at_most=9), ConfirmError),
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


@pytest.mark.parametrize(("changes", "plan", "error"), named(CHECKS))
def test_an_order_moves_something_and_not_much_unconfirmed(
    changes: dict[str, Any], plan: Plan, error: type[RequestError] | None
) -> None:
    if error is None:
        check_plan(request(changes), plan, 10)
        return
    with pytest.raises(error):
        check_plan(request(changes), plan, 10)


@pytest.mark.parametrize(
    ("code", "user", "text"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "ann", "allow ann READ and DESCRIBE on it"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, None, "allow us READ and DESCRIBE on it"),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, "ann", "READ on groups that begin with deadwatch-"),
        (KafkaError.LEADER_NOT_AVAILABLE, "ann", "try again when it is back"),
    ],
)
def test_a_right_that_is_missing_is_named_and_for_whom(code: int, user: str | None, text: str) -> None:
    sasl = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_password": "secret"}
    connection = KafkaConnection.model_validate({"sasl_username": user, **sasl} if user else {})
    refused: Any = KafkaError(code)
    with pytest.raises(KafkaUnavailableError) as raised, asking(connection, "topic dlq.t cannot be read"):
        raise KafkaException(refused)
    error = str(raised.value)
    assert error.startswith("topic dlq.t cannot be read: ")
    assert text in error
    assert "secret" not in error


def test_who_asks_for_what_was_moved_before_is_told_how_to_move_it_again() -> None:
    plan = Plan(skip_reasons={"already_moved": 1_190, "already_parked": 10})
    how = 'say "again": true, or --again, '
    with pytest.raises(RefusedOrderError, match=f"all 1200 .* moved or parked already.* {how}"):
        check_plan(request({}), plan, 10)
    with pytest.raises(RefusedOrderError, match="would be skipped: already_moved 3, no_origin 2"):
        check_plan(request({}), Plan(skip_reasons={"already_moved": 3, "no_origin": 2}), 10)
    assert how in str(UnreadHistoryError("dlq.t", "nobody streams"))
