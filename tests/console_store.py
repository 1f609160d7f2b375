"""A store as a day of trouble leaves it, hostile texts among the rest; for the console's pages."""

import json
from typing import Any

from sqlalchemy import Boolean, Column, Connection, Engine, LargeBinary, Table, Text, insert

from streaming.redrive.order import Limits, Order, OrderRequest, Selection, Status
from streaming.redrive.plan import Example, Plan
from streaming.redrive.policy import PolicyRequest
from streaming.store import schema, series
from streaming.store.buckets import TIERS

HOUR_MS, MINUTE_MS = 3_600_000, 60_000
SCRIPT = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
HOSTILE = f"{SCRIPT}\u202egnp.exe \x1b[31mred\x1b[0m {{{{7*7}}}} ' \" `"
HOSTILE_GROUP, MAIN_GROUP = "badbadbadbadbad0", "3f1c0a9be27d4455"
RUNNING, DONE, DRY = "11111111-aaaa", "22222222-bbbb", "33333333-cccc"
POLICY = "44444444-dddd"
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
    """Everything that a page can show, at ``now_ms``."""
    with engine.begin() as connection:
        for part in (_groups, _signals, _states, _orders, _policies):
            part(connection, now_ms)


def many_groups(engine: Engine, count: int, now_ms: int) -> None:
    """As many causes more, quiet ones."""
    rows = [_group(f"{number:016x}", now_ms, number + 90 * MINUTE_MS) for number in range(count)]
    with engine.begin() as connection:
        connection.execute(insert(schema.groups), rows)


def add(connection: Connection, table: Table, **values: object) -> None:
    """A row; columns that are not given are empty, 0, false or null."""
    assert values.keys() <= set(table.columns.keys())
    connection.execute(insert(table).values(empty_row(table) | values))


def empty_row(table: Table) -> dict[str, object]:
    """Every column null, or empty, 0 or false where it is never null."""
    return {column.name: _empty(column) for column in table.columns}


def _empty(column: Column[Any]) -> object:
    if column.nullable:
        return None
    if isinstance(column.type, LargeBinary):
        return b""
    if isinstance(column.type, Boolean):
        return False
    return "" if isinstance(column.type, Text) else 0


def _group(fingerprint: str, now_ms: int, age_ms: int, **more: Any) -> dict[str, Any]:  # noqa: ANN401 -- columns
    return {
        "fingerprint": fingerprint,
        "kafka_cluster": "default",
        "dlq_topic": "dlq.orders",
        "dialect": "connect",
        "source_topic": "orders",
        "consumer": "orders-sink",
        "error_class": "org.apache.kafka.connect.errors.DataException",
        "message_pattern": "Converting byte[] to Kafka Connect data failed at offset #",
        "message": "Converting byte[] to Kafka Connect data failed at offset 1042",
        "records": 12,
        "first_ms": now_ms - age_ms - 20 * HOUR_MS,
        "last_ms": now_ms - age_ms,
    } | more


def _groups(connection: Connection, now_ms: int) -> None:
    rows = [
        _group(MAIN_GROUP, now_ms, 2 * MINUTE_MS, records=20_412),
        _group(
            "a4d2c0ffee112233",
            now_ms,
            5 * MINUTE_MS,
            first_ms=now_ms - 22 * MINUTE_MS,
            dlq_topic="dlq.payments",
            source_topic="payments",
            dialect="spring",
            consumer="billing",
            error_class="com.example.billing.CurrencyMismatchException",
            message="expected EUR, got USD for invoice 88121",
            records=318,
        ),
        _group(
            "beef00112233aabb",
            now_ms,
            3 * HOUR_MS,
            dialect="share_group",
            consumer="shipping",
            dlq_topic="dlq.shipping",
            source_topic="shipping",
            error_class="RejectedRecordException",
            message="Record was rejected by the consumer.",
            records=41,
        ),
        _group(
            "cafe00112233aabb",
            now_ms,
            30 * MINUTE_MS,
            dialect="streams",
            consumer="wordcount",
            dlq_topic="wordcount-dlq",
            source_topic="lines",
            error_class="org.apache.kafka.common.errors.SerializationException",
            message="Size of data received by LongDeserializer is not 8",
            records=7,
        ),
        _group(
            HOSTILE_GROUP,
            now_ms,
            10 * MINUTE_MS,
            error_class="com.evil." + HOSTILE,
            message=HOSTILE,
            source_topic=HOSTILE,
            consumer=HOSTILE,
        ),
    ]
    connection.execute(insert(schema.groups), rows)
    _samples(connection, now_ms)
    hour_s = now_ms // 1_000 // 3_600 * 3_600
    for number in range(20):
        records = (number * 7 % 11) * 40 + 12
        add(
            connection,
            schema.group_trends,
            fingerprint=MAIN_GROUP,
            hour_s=hour_s - number * 3_600,
            records=records,
        )


def _samples(connection: Connection, now_ms: int) -> None:
    for offset in (42, 43, 57):
        headers = [
            ["__connect.errors.topic", "orders"],
            ["__connect.errors.partition", str(offset % 3)],
            ["__connect.errors.offset", str(offset * 11)],
            ["__connect.errors.stage", "VALUE_CONVERTER"],
            ["__connect.errors.exception.stacktrace", TRACE],
            ["tenant", "acme" if offset % 2 else "globex"],
        ]
        _sample(connection, MAIN_GROUP, offset, now_ms, headers, b'{"order": 17, "price": null}')
    _sample(connection, HOSTILE_GROUP, 1, now_ms, [[HOSTILE, HOSTILE], ["long", "x" * 1_000_000]], None)


def _sample(  # noqa: PLR0917 -- a row
    connection: Connection,
    fingerprint: str,
    offset: int,
    now_ms: int,
    headers: list[list[str]],
    value: bytes | None,
) -> None:
    add(
        connection,
        schema.samples,
        fingerprint=fingerprint,
        dlq_topic="dlq.orders",
        offset=offset,
        timestamp_ms=now_ms - offset * 1_000,
        headers=json.dumps(headers),
        value=value,
        key_bytes=-1,
        value_bytes=-1 if value is None else len(value),
    )


def _signals(connection: Connection, now_ms: int) -> None:
    told: list[tuple[series.Series, int, dict[str, str], dict[str, object]]] = [
        (
            series.DEAD_LETTERS,
            20_790,
            {"dlq_topic": "dlq.orders", "source_topic": "orders", "dialect": "connect"},
            {},
        ),
        (
            series.DEAD_LETTERS,
            318,
            {"dlq_topic": "dlq.payments", "source_topic": "payments", "dialect": "spring"},
            {},
        ),
        (
            series.TASK_TIMEOUTS,
            3,
            {"application": "wordcount", "task": "0_1"},
            {"elapsed_ms": 4_006, "message": "Task 0_1 did not make progress within 4006 ms."},
        ),
        (
            series.DELIVERY_TIMEOUT_BATCHES,
            7,
            {"topic": "orders", "client_id": "checkout-1", "client": "java"},
            {
                "elapsed_ms": 120_004,
                "message": "Expiring 3 record(s) for orders-0:120004 ms has passed since batch creation",
            },
        ),
        (
            series.DELIVERY_TIMEOUT_RECORDS,
            21,
            {"topic": "orders", "client_id": "checkout-1", "client": "java"},
            {},
        ),
        (
            series.REDRIVE_RECORDS,
            14,
            {"dlq_topic": "dlq.orders", "target_topic": "dlq.orders.parked", "outcome": "parked"},
            {},
        ),
        (series.REDRIVE_ORDERS, 640, {"order": RUNNING, "outcome": "sent", "outcome_reason": ""}, {}),
        (series.REDRIVE_ORDERS, 12, {"order": RUNNING, "outcome": "bounced", "outcome_reason": ""}, {}),
        (
            series.REDRIVE_ORDERS,
            3,
            {"order": RUNNING, "outcome": "skipped", "outcome_reason": "no_origin"},
            {},
        ),
        (series.REDRIVE_ORDERS, 41, {"order": DONE, "outcome": "sent", "outcome_reason": ""}, {}),
    ]
    for number, (counted, value, labels, detail) in enumerate(told):
        key = counted.key({"kafka_cluster": "default", **labels})
        times = {"first_ms": now_ms - 5 * HOUR_MS, "last_ms": now_ms - 2 * MINUTE_MS}
        add(
            connection,
            schema.series,
            name=counted.name,
            labels=key,
            value=value,
            detail=json.dumps(detail),
            **times,
        )
        add(connection, schema.bucketed_series, id=number + 1, name=counted.name, labels=key)
        if counted is series.REDRIVE_ORDERS:  # all at once, and so long ago that it has settled
            width_s = TIERS[0].step_s
            start_s = (now_ms - HOUR_MS) // 1_000 // width_s * width_s
            add(connection, schema.buckets, series=number + 1, tier=0, start_s=start_s, value=value)
        else:
            _buckets(connection, number + 1, now_ms // 1_000, value)


def _buckets(connection: Connection, number: int, now_s: int, value: int) -> None:
    width = TIERS[0].step_s
    for step in range(0, 700, 3 if value > 100 else 130):
        start_s = (now_s - step * width) // width * width
        grown = 1 + (step * 13 % 17) if value > 100 else 1
        add(connection, schema.buckets, series=number, tier=0, start_s=start_s, value=grown)


def _states(connection: Connection, now_ms: int) -> None:
    seen = {"kafka_cluster": "default", "observed_at_ms": now_ms - 4_000}
    add(
        connection,
        schema.abandoned,
        kafka_cluster="default",
        worker="10.0.0.7:8083",
        connector="pipe",
        task="0",
        logged_total=2,
        logged_current=1,
        seen_total=2,
        seen_current=1,
        seen=True,
        first_ms=now_ms - 9 * HOUR_MS,
        last_ms=now_ms - 17 * MINUTE_MS,
        message="Graceful stop of task pipe-0 failed.",
    )
    task = {"worker": "10.0.0.7:8083", "connect_cluster": "http://10.0.0.7:8083", "counted": True}
    add(
        connection,
        schema.connect_tasks,
        **seen,
        **task,
        connector="orders-sink",
        task="0",
        state="RUNNING",
        record_errors_total=20_412,
        records_skipped_total=20_412,
        dlq_produce_requests_total=20_412,
        last_error_at_ms=now_ms - 2 * MINUTE_MS,
        judged=True,
    )
    add(
        connection,
        schema.connect_tasks,
        **seen,
        **task,
        connector="ledger-sink",
        task="1",
        state="RUNNING",
        judged=True,
        stalled_since_ms=now_ms - 40 * MINUTE_MS,
        stalled_because="1 204 records of ledger-1 wait and its committed offset has not moved",
    )
    add(
        connection,
        schema.findings,
        **seen,
        kind="dlq_compacted",
        subject="topic:dlq.payments",
        message="it is compacted: of dead letters with the same key only the last one stays",
        change="kafka-configs.sh --alter --topic dlq.payments --add-config cleanup.policy=delete",
        first_ms=now_ms - 26 * HOUR_MS,
    )
    held = {"dlq.orders": 20_102, "dlq.payments": 318, "dlq.ledger": 0, "dlq.orders.parked": 14}
    for topic, records in held.items():
        add(
            connection,
            schema.dead_letter_topics,
            **seen,
            dlq_topic=topic,
            partitions=3,
            records=records,
            read=topic != "dlq.ledger",
            oldest_at_ms=now_ms - 5 * HOUR_MS if records else 0,
            named_by="connector orders-sink",
        )
    for name, kind, up in (
        ("logs:/var/log/connect.log", "logs", True),
        ("streaming", "streaming", True),
        ("redrive-1", "redrive", True),
        ("connect:10.0.0.8:8083", "connect", False),
    ):
        add(
            connection,
            schema.sources,
            name=name,
            kind=kind,
            up=up,
            message="" if up else "connection refused",
            since_ms=now_ms - 12 * MINUTE_MS,
            heartbeat_ms=now_ms + HOUR_MS,
        )
    add(
        connection,
        schema.batches,
        query_id="q",
        batch_id=1,
        committed_at_ms=now_ms - 700,
        duration_ms=131,
        records=64,
        lag_ms=240,
    )


def _orders(connection: Connection, now_ms: int) -> None:
    plan = Plan(
        to_move=20_100,
        at_most=20_100,
        read=20_430,
        bytes=38_000_000,
        targets={"orders": 20_100},
        to_park=12,
        skip_reasons={"no_origin": 3, "target_missing": 1},
        estimated_ms=402_000,
        examples=(
            Example(
                partition=0,
                offset=42,
                timestamp_ms=now_ms - HOUR_MS,
                error_class="org.apache.kafka.connect.errors.DataException",
                target_topic="orders",
                target_partition=3,
                skip_reason="",
            ),
            Example(
                partition=1,
                offset=7,
                timestamp_ms=now_ms - HOUR_MS,
                error_class="",
                target_topic="",
                target_partition=None,
                skip_reason="no_origin",
            ),
        ),
    )
    for order, status, dry, age_ms in (
        (RUNNING, Status.RUNNING, False, 2 * MINUTE_MS),
        (DONE, Status.COMPLETED, False, 5 * HOUR_MS),
        (DRY, Status.COMPLETED, True, 3 * MINUTE_MS),
    ):
        request = OrderRequest(
            dlq_topic="dlq.orders",
            selection=Selection(group=MAIN_GROUP),
            reason="converter fixed in 4.1",
            dry_run=dry,
        )
        made = Order(
            id=order,
            request=request,
            requested_by="alice",
            created_at_ms=now_ms - age_ms,
            begin={0: 0, 1: 0},
            cut_off={0: 6_667, 1: 6_702},
        )
        add(
            connection,
            schema.redrive_orders,
            id=order,
            dlq_topic="dlq.orders",
            request=request.model_dump_json(by_alias=True),
            begin=json.dumps(made.begin),
            cut_off=json.dumps(made.cut_off),
            plan=plan.model_dump_json(),
            dry_run=dry,
            requested_by="alice",
            status=status,
            created_at_ms=made.created_at_ms,
            finished_at_ms=0 if status is Status.RUNNING else made.created_at_ms + MINUTE_MS,
        )


def _policies(connection: Connection, now_ms: int) -> None:
    request = PolicyRequest(
        dlq_topics=(r"dlq\.orders",),
        filter='connector == "orders-sink"',
        exclude_error_classes=("org.apache.kafka.common.errors.SerializationException",),
        include_existing=True,
        limits=Limits(bytes_per_second=1_000_000),
        reason="the price service is away now and then",
    )
    row = {"version": 3, "request": request.model_dump_json(), "changed_by": "alice"}
    add(
        connection,
        schema.redrive_policies,
        id=POLICY,
        **row,
        enabled=True,
        positions=json.dumps({"dlq.orders": {"0": 6_667}}),
        created_at_ms=now_ms - 26 * HOUR_MS,
        changed_at_ms=now_ms - 2 * HOUR_MS,
    )
    for version, change in ((1, "created"), (2, "changed"), (3, "changed")):
        add(
            connection,
            schema.redrive_policy_changes,
            policy=POLICY,
            change=change,
            **row | {"version": version},
            changed_at_ms=now_ms - (5 - version) * HOUR_MS,
        )
