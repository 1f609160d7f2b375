"""A store with everything that the console's pages can show, hostile texts among the rest."""

import json
from functools import cache
from types import MappingProxyType
from typing import Any

from sqlalchemy import Boolean, Column, Connection, Engine, LargeBinary, Table, Text, insert

from deadwatch.orders.order import Limits, OrderRequest, Selection, Status
from deadwatch.orders.policy import PolicyRequest
from deadwatch.store import schema, series
from deadwatch.store.write.buckets import TIERS
from redrive.plan.plan import Example, Plan

HOUR_MS, MINUTE_MS = 3_600_000, 60_000
SCRIPT = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
HOSTILE = f"{SCRIPT}\u202egnp.exe \x1b[31mred\x1b[0m {{{{7*7}}}} ' \" `"
NEW_GROUP = "a4d2c0ffee112233"
HOSTILE_GROUP, MAIN_GROUP = "badbadbadbadbad0", "3f1c0a9be27d4455"
RUNNING, DONE, DRY = "11111111-aaaa", "22222222-bbbb", "33333333-cccc"
POLICY = "44444444-dddd"
CONVERTING = "Converting byte[] to Kafka Connect data failed at offset 1042"
TRACE = """org.apache.kafka.connect.errors.DataException: Converting byte[] to Kafka Connect data failed
\tat org.apache.kafka.connect.json.JsonConverter.toConnectData(JsonConverter.java:331)
\tat org.apache.kafka.connect.runtime.WorkerSinkTask.convertValue(WorkerSinkTask.java:545)
\tat com.example.orders.PriceTransform.apply(PriceTransform.java:42)
\tat org.apache.kafka.connect.runtime.TransformationChain.apply(TransformationChain.java:54)
\tat java.base/java.lang.Thread.run(Thread.java:840)
Caused by: com.example.orders.NoPriceException: no price for article 4711
\tat com.example.orders.Prices.of(Prices.java:17)
\t... 12 more"""


def fill(engine: Engine, now_ms: int) -> None:
    """Rows for every page, as they stand at ``now_ms``."""
    with engine.begin() as connection:
        for part in (_groups, _signals, _states, _orders, _policies):
            part(connection, now_ms)


def many_groups(engine: Engine, count: int, now_ms: int) -> None:
    """So many more causes, all quiet."""
    rows = [_group(f"{number:016x}", now_ms - number - 90 * MINUTE_MS) for number in range(count)]
    with engine.begin() as connection:
        connection.execute(insert(schema.groups), rows)


def add(connection: Connection, table: Table, **values: object) -> None:
    """A row; columns that are not given are empty, 0, false or null."""
    assert values.keys() <= set(table.columns.keys())
    connection.execute(insert(table), empty_row(table) | values)  # the statement is compiled once


@cache
def empty_row(table: Table) -> MappingProxyType[str, object]:
    """Every column null, or empty, 0 or false where it is never null."""
    return MappingProxyType({column.name: _empty(column) for column in table.columns})


def _empty(column: Column[Any]) -> object:
    if column.nullable:
        return None
    if isinstance(column.type, LargeBinary):
        return b""
    if isinstance(column.type, Boolean):
        return False
    return "" if isinstance(column.type, Text) else 0


def _group(
    fingerprint: str,
    last_ms: int,
    records: int = 12,
    place: tuple[str, str, str, str] = ("dlq.orders", "orders", "connect", "orders-sink"),
    error: tuple[str, str] = ("org.apache.kafka.connect.errors.DataException", CONVERTING),
) -> dict[str, Any]:
    """A row of a cause; ``place`` is the topic, where it came from, the dialect and who consumed it."""
    dlq_topic, source_topic, dialect, consumer = place
    return {
        "fingerprint": fingerprint,
        "kafka_cluster": "default",
        "dlq_topic": dlq_topic,
        "dialect": dialect,
        "source_topic": source_topic,
        "consumer": consumer,
        "error_class": error[0],
        "message_pattern": "Converting byte[] to Kafka Connect data failed at offset #",
        "message": error[1],
        "records": records,
        "first_ms": last_ms - 20 * HOUR_MS,
        "last_ms": last_ms,
    }


def _groups(connection: Connection, now_ms: int) -> None:
    payments = ("dlq.payments", "payments", "spring", "billing")
    shipping = ("dlq.shipping", "shipping", "share_group", "shipping")
    streams = ("wordcount-dlq", "lines", "streams", "wordcount")
    mismatch = ("com.example.billing.CurrencyMismatchException", "expected EUR, got USD for invoice 88121")
    rejected = ("RejectedRecordException", "Record was rejected by the consumer.")
    unreadable = (
        "org.apache.kafka.common.errors.SerializationException",
        "Size of data received by LongDeserializer is not 8",
    )
    hostile = ("dlq.orders", HOSTILE, "connect", HOSTILE)

    def group(fingerprint: str, age_min: int, *more: Any) -> dict[str, Any]:  # noqa: ANN401 -- columns
        return _group(fingerprint, now_ms - age_min * MINUTE_MS, *more)

    rows = [
        group(MAIN_GROUP, 2, 20_412),
        group(NEW_GROUP, 5, 318, payments, mismatch) | {"first_ms": now_ms - 22 * MINUTE_MS},
        group("beef00112233aabb", 180, 41, shipping, rejected),
        group("cafe00112233aabb", 30, 7, streams, unreadable),
        group(HOSTILE_GROUP, 10, 12, hostile, ("com.evil." + HOSTILE, HOSTILE)),
    ]
    connection.execute(insert(schema.groups), rows)
    _samples(connection, now_ms)
    hour_s = now_ms // 1_000 // 3_600 * 3_600
    for number in range(20):
        at = {"fingerprint": MAIN_GROUP, "hour_s": hour_s - number * 3_600}
        add(connection, schema.group_trends, **at, records=(number * 7 % 11) * 40 + 12)
    add(connection, schema.group_trends, fingerprint=NEW_GROUP, hour_s=hour_s, records=318)


def _samples(connection: Connection, now_ms: int) -> None:
    def sample(fingerprint: str, offset: int, headers: list[list[str]], value: bytes | None) -> None:
        place = {"fingerprint": fingerprint, "dlq_topic": "dlq.orders", "offset": offset}
        sizes = {"key_bytes": -1, "value_bytes": -1 if value is None else len(value)}
        at = {"timestamp_ms": now_ms - offset * 1_000, "headers": json.dumps(headers)}
        add(connection, schema.samples, **place, **at, **sizes, value=value)

    for offset in (42, 43, 57):
        headers = [
            ["__connect.errors.topic", "orders"],
            ["__connect.errors.partition", str(offset % 3)],
            ["__connect.errors.offset", str(offset * 11)],
            ["__connect.errors.stage", "VALUE_CONVERTER"],
            ["__connect.errors.exception.stacktrace", TRACE],
            ["tenant", "acme" if offset % 2 else "globex"],
        ]
        sample(MAIN_GROUP, offset, headers, b'{"order": 17, "price": null}')
    sample(HOSTILE_GROUP, 1, [[HOSTILE, HOSTILE], ["long", "x" * 1_000_000]], None)


def _signals(connection: Connection, now_ms: int) -> None:
    orders = {"dlq_topic": "dlq.orders", "source_topic": "orders", "dialect": "connect"}
    payments = {"dlq_topic": "dlq.payments", "source_topic": "payments", "dialect": "spring"}
    task = {"application": "wordcount", "task": "0_1"}
    no_progress = {"elapsed_ms": 4_006, "message": "Task 0_1 did not make progress within 4006 ms."}
    producer = {"topic": "orders", "client_id": "checkout-1", "client": "java"}
    expired = "Expiring 3 record(s) for orders-0:120004 ms has passed since batch creation"
    parked = {"dlq_topic": "dlq.orders", "target_topic": "dlq.orders.parked", "outcome": "parked"}

    def outcome(order: str, name: str, reason: str = "") -> dict[str, str]:
        return {"order": order, "outcome": name, "outcome_reason": reason}

    counters: list[tuple[series.Series, int, dict[str, str], dict[str, object]]] = [
        (series.DEAD_LETTERS, 20_790, orders, {}),
        (series.DEAD_LETTERS, 318, payments, {}),
        (series.TASK_TIMEOUTS, 3, task, {**no_progress}),
        (series.DELIVERY_TIMEOUT_BATCHES, 7, producer, {"elapsed_ms": 120_004, "message": expired}),
        (series.DELIVERY_TIMEOUT_RECORDS, 21, producer, {}),
        (series.REDRIVE_RECORDS, 14, parked, {}),
        (series.REDRIVE_ORDERS, 640, outcome(RUNNING, "sent"), {}),
        (series.REDRIVE_ORDERS, 12, outcome(RUNNING, "bounced"), {}),
        (series.REDRIVE_ORDERS, 3, outcome(RUNNING, "skipped", "no_origin"), {}),
        (series.REDRIVE_ORDERS, 41, outcome(DONE, "sent"), {}),
    ]
    for number, (counter, value, labels, detail) in enumerate(counters, 1):
        named = {"name": counter.name, "labels": counter.key({"kafka_cluster": "default", **labels})}
        times = {"first_ms": now_ms - 5 * HOUR_MS, "last_ms": now_ms - 2 * MINUTE_MS}
        add(connection, schema.series, **named, **times, value=value, detail=json.dumps(detail))
        add(connection, schema.bucketed_series, id=number, **named)
        _buckets(connection, number, counter, value, now_ms // 1_000)


def _buckets(connection: Connection, number: int, counter: series.Series, value: int, now_s: int) -> None:
    width_s = TIERS[0].step_s

    def bucket(at_s: int, grown: int) -> dict[str, object]:
        return {"series": number, "tier": 0, "start_s": at_s // width_s * width_s, "value": grown}

    many = value > 100
    rows = [
        bucket(now_s - step * width_s, 1 + (step * 13 % 17) if many else 1)
        for step in range(0, 700, 3 if many else 130)
    ]
    if counter is series.REDRIVE_ORDERS:  # all at once, and so long ago that it has settled
        rows = [bucket(now_s - HOUR_MS // 1_000, value)]
    connection.execute(insert(schema.buckets), [empty_row(schema.buckets) | row for row in rows])


def _states(connection: Connection, now_ms: int) -> None:
    cluster = {"kafka_cluster": "default"}
    observed = {**cluster, "observed_at_ms": now_ms - 4_000}
    pipe = {"worker": "10.0.0.7:8083", "connector": "pipe", "task": "0"}
    counted = {"logged_total": 2, "logged_current": 1, "seen_total": 2, "seen_current": 1, "seen": True}
    times = {"first_ms": now_ms - 9 * HOUR_MS, "last_ms": now_ms - 17 * MINUTE_MS}
    given_up = "Graceful stop of task pipe-0 failed."
    add(connection, schema.abandoned, **cluster, **pipe, **counted, **times, message=given_up)
    add(connection, schema.instances, **observed, **pipe, abandoned=1)
    worker = {"worker": "10.0.0.7:8083", "connect_cluster": "http://10.0.0.7:8083"}
    task = {**observed, **worker, "counted": True, "state": "RUNNING", "judged": True}
    failed = dict.fromkeys(
        ("record_errors_total", "records_skipped_total", "dlq_produce_requests_total"), 20_412
    )
    failing = {**failed, "last_error_at_ms": now_ms - 2 * MINUTE_MS}
    stalled = {
        "stalled_since_ms": now_ms - 40 * MINUTE_MS,
        "stalled_because": "1 204 records of ledger-1 wait and its committed offset has not moved",
    }
    add(connection, schema.connect_tasks, **task, connector="orders-sink", task="0", **failing)
    add(connection, schema.connect_tasks, **task, connector="ledger-sink", task="1", **stalled)
    finding = {
        "kind": "dlq_compacted",
        "subject": "topic:dlq.payments",
        "message": "it is compacted: of dead letters with the same key only the last one stays",
        "change": "kafka-configs.sh --alter --topic dlq.payments --add-config cleanup.policy=delete",
    }
    add(connection, schema.findings, **observed, **finding, first_ms=now_ms - 26 * HOUR_MS)
    held = {"dlq.orders": 20_102, "dlq.payments": 318, "dlq.ledger": 0, "dlq.orders.parked": 14}
    for topic, records in held.items():
        queue = {"dlq_topic": topic, "records": records, "read": topic != "dlq.ledger", "partitions": 3}
        oldest_ms = now_ms - 5 * HOUR_MS if records else 0
        named = {"oldest_at_ms": oldest_ms, "named_by": "connector orders-sink"}
        add(connection, schema.dead_letter_topics, **observed, **queue, **named)
    for name, kind, up in (
        ("logs:/var/log/connect.log", "logs", True),
        ("streaming", "streaming", True),
        ("redrive-1", "redrive", True),
        ("connect:10.0.0.8:8083", "connect", False),
    ):
        source = {"name": name, "kind": kind, "up": up, "message": "" if up else "connection refused"}
        times = {"since_ms": now_ms - 12 * MINUTE_MS, "heartbeat_ms": now_ms + HOUR_MS}
        add(connection, schema.sources, **source, **times)
    batch = {"query_id": "q", "batch_id": 1, "duration_ms": 131, "records": 64, "lag_ms": 240}
    add(connection, schema.batches, **batch, committed_at_ms=now_ms - 700)


def _orders(connection: Connection, now_ms: int) -> None:
    at: dict[str, Any] = {"timestamp_ms": now_ms - HOUR_MS}
    moved = {"error_class": "org.apache.kafka.connect.errors.DataException", "skip_reason": "", **at}
    skipped = {"error_class": "", "skip_reason": "no_origin", **at}
    plan = Plan(
        to_move=20_100,
        at_most=20_112,
        read=20_430,
        bytes=38_000_000,
        targets={"orders": 20_100},
        to_park=12,
        park_reasons={"attempts_used_up": 11, "error_class_excluded": 1},
        skip_reasons={"no_origin": 3, "target_missing": 1},
        dropped_headers={"retry_topic-attempts": 20_100},
        estimated_ms=402_000,
        examples=(
            Example(partition=0, offset=42, target_topic="orders", target_partition=3, **moved),
            Example(partition=1, offset=7, target_topic="", target_partition=None, **skipped),
        ),
    )
    of_cause = {"dlq_topic": "dlq.orders", "selection": Selection(group=MAIN_GROUP)}
    for order, status, dry_run, age_ms in (
        (RUNNING, Status.RUNNING, False, 2 * MINUTE_MS),
        (DONE, Status.COMPLETED, False, 5 * HOUR_MS),
        (DRY, Status.COMPLETED, True, 3 * MINUTE_MS),
    ):
        request = OrderRequest(**of_cause, reason="converter fixed in 4.1", dry_run=dry_run)
        created_ms = now_ms - age_ms
        finished_ms = 0 if status is Status.RUNNING else created_ms + MINUTE_MS
        asked = {"id": order, "dlq_topic": "dlq.orders", "requested_by": "alice", "dry_run": dry_run}
        row = asked | {
            "request": request.model_dump_json(by_alias=True),
            "begin": json.dumps({0: 0, 1: 0}),
            "cut_off": json.dumps({0: 6_667, 1: 6_702}),
            "plan": plan.model_dump_json(),
            "status": status,
        }
        times = {"created_at_ms": created_ms, "finished_at_ms": finished_ms}
        add(connection, schema.redrive_orders, **row, **times)


def _policies(connection: Connection, now_ms: int) -> None:
    request = PolicyRequest(
        dlq_topics=(r"dlq\.orders",),
        filter='connector == "orders-sink"',
        exclude_error_classes=("org.apache.kafka.common.errors.SerializationException",),
        include_existing=True,
        limits=Limits(bytes_per_second=1_000_000),
        drop_headers=("x-retries", "y-*"),
        reason="the price service is away now and then",
    )
    row = {"version": 3, "request": request.model_dump_json(), "changed_by": "alice"}
    times = {"created_at_ms": now_ms - 26 * HOUR_MS, "changed_at_ms": now_ms - 2 * HOUR_MS}
    covered = {"positions": json.dumps({"dlq.orders": {"0": 6_667}}), "topic_ids": "{}"}
    add(connection, schema.redrive_policies, id=POLICY, **row, **times, **covered, enabled=True)
    for version, change in ((1, "created"), (2, "changed"), (3, "changed")):
        changed = row | {"version": version, "changed_at_ms": now_ms - (5 - version) * HOUR_MS}
        add(connection, schema.redrive_policy_changes, policy=POLICY, change=change, **changed)
