"""The store's tables: a summary of bounded size. Kafka is the truth, no table has a row for every record.

Times are milliseconds since the epoch; texts are never null, "" is "not known". The same tables serve SQLite
and PostgreSQL. A change here needs a migration: ``make migration NAME=...``.

This module is a table: its length is the number of tables.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
)

CONNECT_ERRORS = (
    "record_failures",
    "record_errors",
    "records_skipped",
    "retries",
    "errors_logged",
    "dlq_produce_requests",
    "dlq_produce_failures",
)
"""What the bean ``task-error-metrics`` counts."""

CONNECT_COUNTERS = ("records", *CONNECT_ERRORS)
"""What begins anew with a task: one that is less than it was gives its restart away."""

metadata = MetaData()


def _text(name: str, *, key: bool = False) -> Column[str]:
    return Column(name, Text, primary_key=key, nullable=False)


def _integer(name: str, *, key: bool = False) -> Column[int]:
    return Column(name, BigInteger, primary_key=key, autoincrement=False, nullable=False)


batches = Table(
    "batches",
    metadata,
    _text("query_id", key=True),  # of the checkpoint: a new checkpoint is a new query
    _integer("batch_id"),  # the last one applied
    _integer("committed_at_ms"),
    _integer("duration_ms"),
    _integer("records"),
    _integer("lag_ms"),  # from the newest event's observation to the commit
)

offsets = Table(
    "offsets",  # where a query without checkpoint goes on
    metadata,
    _text("topic", key=True),
    _integer("partition", key=True),
    _integer("next_offset"),
)

read_topics = Table(
    "read_topics",  # a topic made anew under its old name has another id
    metadata,
    _text("topic", key=True),
    _text("topic_id"),
)

marks = Table(
    "marks",  # the highest position counted of every source of events
    metadata,
    _text("source", key=True),
    _integer("epoch"),
    _integer("offset"),
    _integer("ordinal"),
)

series = Table(
    "series",
    metadata,
    _text("name", key=True),  # of streaming.store.series
    _text("labels", key=True),  # Series.key
    _integer("value"),
    _integer("first_ms"),
    _integer("last_ms"),
    _text("detail"),  # JSON object: facts of the latest event that counted
)

abandoned = Table(
    "abandoned",  # two evidences beside each other: the worker's log, and its threads
    metadata,
    _text("kafka_cluster", key=True),
    _text("worker", key=True),
    _text("connector", key=True),
    _text("task", key=True),  # "": the connector itself
    _integer("logged_total"),
    _integer("logged_current"),
    _integer("seen_total"),
    _integer("seen_current"),
    Column("seen", Boolean, nullable=False),  # whether a snapshot with threads ever covered the worker
    _integer("first_ms"),
    _integer("last_ms"),
    _text("message"),  # the latest log line
)

instances = Table(
    "instances",  # the latest snapshot of every worker
    metadata,
    _text("kafka_cluster", key=True),
    _text("worker", key=True),
    _text("connector", key=True),
    _text("task", key=True),
    _text("state"),
    _integer("abandoned"),
    _integer("observed_at_ms"),
)

share_groups = Table(
    "share_groups",  # the meters of every broker: as last seen, and added up over its restarts
    metadata,
    _text("kafka_cluster", key=True),
    _text("consumergroup", key=True),
    _text("broker", key=True),
    _integer("started_at_ms"),  # of the broker: its meters count from there
    _integer("records"),
    _integer("produce_requests"),
    _integer("failed_produce_requests"),
    _integer("records_total"),
    _integer("produce_requests_total"),
    _integer("failed_produce_requests_total"),
    _integer("observed_at_ms"),
)

connect_tasks = Table(
    "connect_tasks",  # the latest snapshot of every Connect cluster, and its errors added up over restarts
    metadata,
    _text("kafka_cluster", key=True),
    _text("worker", key=True),
    _text("connector", key=True),
    _text("task", key=True),
    _text("source"),  # who told it last
    _text("connect_cluster"),
    _text("state"),  # "": it no longer runs there
    Column("counted", Boolean, nullable=False),  # whether its beans have ever been told
    _integer("started_at_ms"),  # of the worker: this and the next as last seen
    *(_integer(name) for name in CONNECT_COUNTERS),
    *(_integer(f"{name}_total") for name in CONNECT_ERRORS),
    _integer("last_error_at_ms"),
    Column("judged", Boolean, nullable=False),  # whether it is known that it gets on
    _integer("stalled_since_ms"),  # 0: it does, or is not judged
    _text("stalled_because"),
    _integer("observed_at_ms"),
)

dead_letter_topics = Table(
    "dead_letter_topics",  # the latest snapshot, also of topics that are not read
    metadata,
    _text("kafka_cluster", key=True),
    _text("dlq_topic", key=True),
    _text("source"),  # who told it last: a topic goes when that one no longer tells it
    _integer("partitions"),
    _integer("records"),
    _integer("oldest_at_ms"),  # 0: it is empty
    _text("named_by"),
    Column("read", Boolean, nullable=False),
    _integer("observed_at_ms"),
)

findings = Table(
    "findings",  # the latest snapshot of every source that tells of them
    metadata,
    _text("kafka_cluster", key=True),
    _text("kind", key=True),
    _text("subject", key=True),
    _text("source"),  # who told it last: a finding goes when that one no longer tells it
    _text("message"),
    _text("change"),
    _integer("first_ms"),  # since when it lasts
    _integer("observed_at_ms"),
)

task_timers = Table(
    "task_timers",  # of Streams tasks; one that has ended stays for a day
    metadata,
    _text("kafka_cluster", key=True),
    _text("streams_client", key=True),
    _text("task", key=True),  # "": the log named no more than the thread
    _text("thread", key=True),  # "" where the task is named
    _text("application"),
    _text("said_by"),  # the thread that spoke last
    _text("call"),  # what timed out first; "" is not known
    _integer("since_ms"),
    _integer("heard_ms"),
    _integer("deadline_ms"),  # 0: not told
    Column("running", Boolean, nullable=False),
    _text("message"),
)

collector_counts = Table(
    "collector_counts",  # what collectors count of themselves, added up over their restarts
    metadata,
    _text("kafka_cluster", key=True),
    _text("collector", key=True),
    _text("name", key=True),
    _text("subject", key=True),  # a source, or ""
    _integer("started_at_ms"),  # of the process that said so last
    _integer("current"),
    _integer("counted"),  # by that process
    _integer("total"),
    _integer("observed_at_ms"),
)

groups = Table(
    "dead_letter_groups",
    metadata,
    _text("fingerprint", key=True),
    _text("kafka_cluster"),
    _text("dlq_topic"),  # of the latest record
    _text("dialect"),
    _text("source_topic"),
    _text("consumer"),  # connector, share group or application
    _text("error_class"),
    _text("message_pattern"),
    _text("message"),  # of the latest record
    _integer("records"),
    _integer("first_ms"),
    _integer("last_ms"),
    Index("dead_letter_groups_by_last", "last_ms", "fingerprint"),
    Index("dead_letter_groups_by_first", "first_ms", "fingerprint"),
    Index("dead_letter_groups_by_records", "records", "fingerprint"),
)

samples = Table(
    "dead_letter_samples",  # the newest few of every group
    metadata,
    Column(
        "fingerprint",
        Text,
        ForeignKey("dead_letter_groups.fingerprint", ondelete="CASCADE"),
        primary_key=True,
    ),
    _text("dlq_topic", key=True),
    _integer("partition", key=True),
    _integer("offset", key=True),
    _integer("timestamp_ms"),
    _text("headers"),  # JSON list of [name, text], each cut
    Column("key", LargeBinary),  # null where the record has none; cut
    Column("value", LargeBinary),  # null where the record has none; cut
    _integer("key_bytes"),  # whole length; -1 for null
    _integer("value_bytes"),
)

group_notes = Table(
    "dead_letter_group_notes",  # what people say of a group; one row for each they said something of
    metadata,
    Column(
        "fingerprint",
        Text,
        ForeignKey("dead_letter_groups.fingerprint", ondelete="CASCADE"),
        primary_key=True,
    ),
    _integer("version"),  # counts the changes from 1
    _text("owner"),
    _text("comment"),
    _text("archive_reason"),
    _integer("archived_at_ms"),  # 0: it is not
    _integer("archived_records"),  # the group had then: with more it is back
    _text("changed_by"),
    _integer("changed_at_ms"),
)

group_trends = Table(
    "dead_letter_group_trends",  # records of every group by the hour, for a day
    metadata,
    Column(
        "fingerprint",
        Text,
        ForeignKey("dead_letter_groups.fingerprint", ondelete="CASCADE"),
        primary_key=True,
    ),
    _integer("hour_s", key=True),  # seconds since the epoch
    _integer("records"),
    Index("dead_letter_group_trends_by_hour", "hour_s"),
)

sources = Table(
    "sources",
    metadata,
    _text("name", key=True),
    _text("kind"),
    Column("up", Boolean, nullable=False),
    _text("message"),
    _integer("since_ms"),  # of the present state
    _integer("heartbeat_ms"),
)

leases = Table(
    "leases",  # who writes: one row for streaming
    metadata,
    _text("name", key=True),
    _integer("epoch"),  # grows with every owner: a late write of an earlier one is refused
    _integer("beats"),  # grows while the owner lives
    _integer("ttl_ms"),  # without a beat for longer, the owner is gone
    _text("holder"),  # for people
    _text("process"),  # Owner.token; "": nobody holds it
)

bucketed_series = Table(
    "bucketed_series",  # series that have buckets: a number for each, so that a bucket is small
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    _text("name"),
    _text("labels"),
    Index("bucketed_series_by_name", "name", "labels", unique=True),
)

buckets = Table(
    "buckets",  # what series grew by in a time: 10 s for 6 h, 1 min for 7 days, 1 h for a year
    metadata,
    Column(
        "series",
        Integer,
        ForeignKey("bucketed_series.id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("tier", SmallInteger, primary_key=True, autoincrement=False),  # index in buckets.TIERS
    _integer("start_s", key=True),  # seconds since the epoch
    _integer("value"),
    sqlite_with_rowid=False,
)

stream_figures = Table(
    "stream_figures",  # what the query says of its own work now
    metadata,
    _text("name", key=True),  # of streaming.store.stream_figures
    _text("subject", key=True),
    _integer("value"),
)

redrive_orders = Table(
    "redrive_orders",  # what was asked for; what was moved is in Kafka, and counted in series
    metadata,
    _text("id", key=True),
    _text("dlq_topic"),
    _text("request"),  # JSON of streaming.redrive.order.OrderRequest
    _text("begin"),  # JSON: first offsets at its creation, by partition
    _text("cut_off"),  # JSON: end offsets at its creation, by partition
    _text("plan"),  # JSON: what the scan at its creation has shown
    Column("dry_run", Boolean, nullable=False),  # nobody moves anything for it
    _text("requested_by"),
    _text("idempotency_key"),  # "": none was given
    _text("status"),
    _text("status_reason"),
    _integer("created_at_ms"),
    _integer("finished_at_ms"),  # 0: it is not
    _text("worker"),  # who holds it; "": nobody
    _integer("epoch"),  # how often it was claimed
    _integer("expires_at_ms"),  # of the claim
    _text("policy"),  # "": somebody asked for it
    _integer("waiting"),  # records that are put off, as its worker said last
    _integer("sent_before"),  # this and the next: as counted when it was resumed last
    _integer("bounced_before"),
    Index("redrive_orders_by_policy", "policy", "created_at_ms", "id"),
    Index("redrive_orders_by_creation", "created_at_ms", "id"),
    Index("redrive_orders_by_status", "status", "created_at_ms"),
)

redrive_written = Table(
    "redrive_written",  # where redrives wrote lately: by these offsets a share group's returns are told
    metadata,
    _text("kafka_cluster", key=True),
    _text("target_topic", key=True),
    _integer("partition", key=True),
    _integer("first_offset", key=True),
    _integer("end_offset"),  # left out
    _text("order_id"),
    _integer("written_at_ms"),
)

redrive_handled = Table(
    "redrive_handled",  # dead letters that were moved or parked; kept by a backfill, as orders are
    metadata,
    _text("dlq_topic", key=True),
    _text("dlq_topic_id", key=True),  # Kafka's: one that was made anew is another one; "": it has none
    _integer("partition", key=True),
    _integer("block", key=True),  # of 65 536 offsets
    _text("outcome", key=True),  # sent, parked
    Column("offsets", LargeBinary, nullable=False),  # streaming.redrive.handled: a bit for each, compressed
)

share_returns = Table(
    "share_returns",  # origins of dead letters of share groups that were read before the range they are in
    metadata,
    _text("kafka_cluster", key=True),
    _text("dlq_topic", key=True),
    _text("fingerprint", key=True),  # the group of dead letters that they are in
    _text("source_topic", key=True),
    _integer("partition", key=True),
    _integer("first_offset", key=True),
    _integer("end_offset"),  # left out
    _integer("read_at_ms"),
)

redrive_policies = Table(
    "redrive_policies",  # standing orders, and how far each has looked
    metadata,
    _text("id", key=True),
    _integer("version"),  # counts the changes from 1
    _text("request"),  # JSON of streaming.redrive.policy.PolicyRequest
    Column("enabled", Boolean, nullable=False),
    _text("changed_by"),
    _integer("created_at_ms"),
    _integer("changed_at_ms"),
    _text("positions"),  # JSON: by topic and partition, the first offset that no order of it has covered
    _text("last_topic"),  # the next one has its turn
    _integer("failures"),  # in a row
    _text("status_reason"),  # why it makes no order; "": nothing keeps it
    _integer("next_at_ms"),  # it is not looked at before
)

redrive_policy_changes = Table(
    "redrive_policy_changes",  # who made what of a policy, also of those that were deleted
    metadata,
    _text("policy", key=True),
    _integer("version", key=True),
    _text("change"),  # created, changed, deleted
    _text("request"),
    _text("changed_by"),
    _integer("changed_at_ms"),
)

tokens = Table(
    "tokens",  # who may call the api; a token itself is nowhere
    metadata,
    _text("id", key=True),  # part of the token: it may be shown
    _text("name"),
    _text("role"),  # viewer, operator, admin
    _text("digest"),  # HMAC-SHA-256 of the token, hexadecimal
    _text("created_by"),
    _integer("created_at_ms"),
    _integer("expires_at_ms"),  # 0: never
    _integer("revoked_at_ms"),  # 0: it is not
    _text("revoked_by"),
    _integer("used_at_ms"),  # about when it was used last; 0: never
)

audit = Table(
    "audit",  # who did what, when, why, and how it went; only its retention deletes
    metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    _integer("at_ms"),
    _text("who"),
    _text("role"),  # "": none
    _text("token"),  # its id; "": none
    _text("action"),
    _text("subject"),
    _text("why"),
    _text("outcome"),
    _text("request_id"),
    _text("address"),
    Index("audit_by_time", "at_ms"),
    Index("audit_by_who", "who", "number"),
    Index("audit_by_action", "action", "number"),
    sqlite_autoincrement=True,  # a number that was deleted is not given again
)
