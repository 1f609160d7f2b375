"""The store's tables: a summary of bounded size. Kafka is the truth, no table has a row for every record.

Times are milliseconds since the epoch; texts are never null, "" is "not known". The same tables serve SQLite
and PostgreSQL. ``store.columns`` says how a column is written. A change here needs a migration:
``make migration NAME=...``.
"""

from typing import Any, Final

from sqlalchemy import Index, MetaData, Table

from deadwatch.store.columns import columns

metadata = MetaData()


def _table(name: str, words: str, *indexes: Index, **options: Any) -> Table:  # noqa: ANN401 -- of a dialect
    return Table(name, metadata, *columns(words), *indexes, **options)


# Streaming: what it has read, who writes, and how the parts of the service are.

batches = _table(
    "batches",
    "*query_id "  # the name of the query; "": a backfill
    "batch_id:n "  # how many were merged before the last one
    "committed_at_ms:n duration_ms:n records:n "
    "lag_ms:n",  # from the newest event's observation to the commit
)
offsets = _table("offsets", "*topic *partition:n next_offset:n")  # where the query goes on
read_topics = _table("read_topics", "*topic topic_id")  # a topic made anew under its old name has another id
marks = _table("marks", "*source epoch:n offset:n ordinal:n")  # the highest position counted of a source
stream_figures = _table("stream_figures", "*name *subject value:n")  # of store.write.progress
sources = _table(
    "sources",
    "*name kind up:flag message "
    "since_ms:n "  # of the present state
    "heartbeat_ms:n",
)
leases = _table(
    "leases",  # who writes: one row for streaming; and who has displaced its last owner
    "*name "
    "epoch:n "  # grows with every owner: a late write of an earlier one is refused
    "beats:n "  # grows while the owner lives
    "ttl_ms:n "  # without a beat for longer, the owner is gone
    "holder "  # for people
    "process",  # Owner.token; "": nobody holds it
)

# Counters: totals, and what they grew by in a time.

series = _table(
    "series",
    "*name "  # of deadwatch.store.series
    "*labels "  # Series.key
    "value:n first_ms:n last_ms:n "
    "detail",  # JSON object: facts of the latest event that counted
)
bucketed_series = _table(
    "bucketed_series",  # series that have buckets: a number for each, so that a bucket is small
    "*id:int name labels",
    Index("bucketed_series_by_name", "name", "labels", unique=True),
)
buckets = _table(
    "buckets",  # what series grew by in a time: 10 s for 6 h, 1 min for 7 days, 1 h for a year
    "*series:int>bucketed_series.id "
    "*tier:small "  # index in buckets.TIERS
    "*start_s:n "  # seconds since the epoch
    "value:n",
    sqlite_with_rowid=False,
)

# Groups of dead letters: their cause, newest records, trends and notes.

groups = _table(
    "dead_letter_groups",
    "*fingerprint kafka_cluster "
    "dlq_topic "  # of the latest record
    "dialect source_topic "
    "consumer "  # connector, share group or application
    "error_class message_pattern "
    "message "  # of the latest record
    "records:n first_ms:n last_ms:n",
    Index("dead_letter_groups_by_last", "last_ms", "fingerprint"),
    Index("dead_letter_groups_by_first", "first_ms", "fingerprint"),
    Index("dead_letter_groups_by_records", "records", "fingerprint"),
)
samples = _table(
    "dead_letter_samples",  # the newest few of every group
    "*fingerprint>dead_letter_groups.fingerprint *dlq_topic *partition:n *offset:n timestamp_ms:n "
    "headers "  # JSON list of [name, text], each cut
    "key:nullable value:nullable "  # null where the record has none; cut
    "key_bytes:n value_bytes:n",  # whole length; -1 for null
)
group_notes = _table(
    "dead_letter_group_notes",  # notes of people; one row for each group with a note
    "*fingerprint>dead_letter_groups.fingerprint "
    "version:n "  # counts the changes from 1
    "owner comment archive_reason "
    "archived_at_ms:n "  # 0: it is not
    "archived_records:n "  # the group had then: with more it is back
    "changed_by changed_at_ms:n",
)
group_trends = _table(
    "dead_letter_group_trends",  # records of every group by the hour, for a day
    "*fingerprint>dead_letter_groups.fingerprint *hour_s:n records:n",  # seconds since the epoch
    Index("dead_letter_group_trends_by_hour", "hour_s"),
)

# States: the latest snapshot of everything that is watched, and totals followed over restarts.

CONNECT_ERRORS: Final = (
    *("record_failures", "record_errors", "records_skipped", "retries", "errors_logged"),
    *("dlq_produce_requests", "dlq_produce_failures"),
)
"""What the bean ``task-error-metrics`` counts."""
CONNECT_COUNTERS: Final = ("records", *CONNECT_ERRORS)
"""What begins anew with a task: one that is less than it was gives its restart away."""

abandoned = _table(
    "abandoned",  # two sources of evidence: the worker's log, and its threads
    "*kafka_cluster *worker *connector "
    "*task "  # "": the connector itself
    "logged_total:n logged_current:n seen_total:n seen_current:n "
    "seen:flag "  # whether a snapshot with threads ever covered the worker
    "first_ms:n last_ms:n "
    "message",  # the latest log line
)
instances = _table(
    "instances",  # the latest snapshot of every worker
    "*kafka_cluster *worker *connector *task state abandoned:n observed_at_ms:n "
    "source "  # who observed it
    "state_since_ms:n "  # when it was first observed in this state
    "trace",  # why it is FAILED
)
connect_tasks = _table(
    "connect_tasks",  # the latest snapshot of every Connect cluster, and its errors added up over restarts
    "*kafka_cluster *worker *connector *task "
    "source "  # the last reporter
    "connect_cluster "
    "state "  # "": it no longer runs there
    "counted:flag "  # whether its beans have ever been reported
    "started_at_ms:n "  # of the worker: this and the next as last seen
    + " ".join(f"{name}:n" for name in (*CONNECT_COUNTERS, *(f"{name}_total" for name in CONNECT_ERRORS)))
    + " last_error_at_ms:n "
    "judged:flag "  # whether its progress is known
    "stalled_since_ms:n "  # 0: it makes progress, or is not judged
    "stalled_because observed_at_ms:n",
)
share_groups = _table(
    "share_groups",  # the meters of every broker: as last seen, and added up over its restarts
    "*kafka_cluster *consumergroup *broker "
    "started_at_ms:n "  # of the broker: its meters count from there
    "records:n produce_requests:n failed_produce_requests:n "
    "records_total:n produce_requests_total:n failed_produce_requests_total:n",
)
dead_letter_topics = _table(
    "dead_letter_topics",  # the latest snapshot, also of topics that are not read
    "*kafka_cluster *dlq_topic "
    "source "  # the last reporter: without the topic in its snapshot the row is deleted
    "partitions:n records:n "
    "oldest_at_ms:n "  # 0: it is empty
    "named_by read:flag observed_at_ms:n",
)
findings = _table(
    "findings",  # the latest snapshot of every source that reports them
    "*kafka_cluster *kind *subject "
    "source "  # the last reporter: without the finding in its snapshot the row is deleted
    "message change "
    "first_ms:n "  # since when it lasts
    "observed_at_ms:n",
)
task_timers = _table(
    "task_timers",  # of Streams tasks; one that has ended stays for a day
    "*kafka_cluster *streams_client "
    "*task "  # "": the log named no more than the thread
    "*thread "  # "" where the task is named
    "application "
    "said_by "  # the thread of the last line
    "call "  # what timed out first; "" is not known
    "since_ms:n heard_ms:n "
    "deadline_ms:n "  # 0: unknown
    "running:flag message",
)
collector_counts = _table(
    "collector_counts",  # what collectors count of themselves, added up over their restarts
    "*kafka_cluster *collector *name "
    "*subject "  # a source, or ""
    "started_at_ms:n "  # of the last process that reported it
    "current:n "
    "counted:n "  # by that process
    "total:n",
)

# Redrives: orders, policies, and what orders have moved.

redrive_orders = _table(
    "redrive_orders",  # what was requested; what was moved is in Kafka, and counted in series
    "*id dlq_topic "
    "dlq_topic_id "  # Kafka's, at its creation; "": not known
    "request "  # JSON of deadwatch.orders.order.OrderRequest
    "begin cut_off "  # JSON, by partition: the first offset at its creation, and where it ends
    "plan "  # JSON: what the scan at its creation has shown
    "dry_run:flag "  # nobody moves anything for it
    "requested_by "
    "idempotency_key "  # "": none was given
    "status status_reason created_at_ms:n "
    "finished_at_ms:n "  # 0: it is not
    "worker "  # who holds it, or let go of it with a transaction left open; "": nobody
    "epoch:n "  # how often it was claimed
    "expires_at_ms:n "  # of the claim
    "policy "  # "": somebody requested it
    "waiting:n "  # records that wait, as its worker last reported
    "proceeded_at_ms:n "  # its last transaction, as its worker last reported; 0: none
    "sent_before:n bounced_before:n",  # as counted when it was resumed last
    Index("redrive_orders_by_policy", "policy", "created_at_ms", "id"),
    Index("redrive_orders_by_creation", "created_at_ms", "id"),
    Index("redrive_orders_by_status", "status", "created_at_ms"),
)
redrive_policies = _table(
    "redrive_policies",  # standing orders, and how far each has looked
    "*id "
    "version:n "  # counts the changes from 1
    "request "  # JSON of deadwatch.orders.policy.PolicyRequest
    "enabled:flag changed_by created_at_ms:n changed_at_ms:n "
    "positions "  # JSON: by topic and partition, the first offset that no order of it has covered
    "topic_ids "  # JSON: Kafka's id of each of these topics, where it is known; "": of none
    "last_topic "  # the next one has its turn
    "failures:n "  # in a row
    "status_reason "  # what keeps it from orders, or topics from theirs; "": nothing
    "next_at_ms:n",  # it is not evaluated before
)
redrive_policy_changes = _table(
    "redrive_policy_changes",  # who made what of a policy, also of those that were deleted
    "*policy *version:n "
    "change "  # created, changed, deleted
    "request changed_by changed_at_ms:n",
)
redrive_written = _table(
    "redrive_written",  # ranges that redrives wrote lately, without their ends: they identify share returns
    "*kafka_cluster *target_topic *partition:n *first_offset:n end_offset:n order_id written_at_ms:n",
)
redrive_handled = _table(
    "redrive_handled",  # dead letters that were moved or parked; kept by a backfill, as orders are
    "*dlq_topic "
    "*dlq_topic_id "  # Kafka's: one that was made anew is another one; "": it has none
    "*partition:n "
    "*block:n "  # of 65 536 offsets
    "*outcome "  # sent, parked
    "offsets:bytes",  # deadwatch.orders.handled: a bit for each, compressed
)
redrive_ends = _table(
    "redrive_ends",  # how far events must be read to know all that orders of a topic have done
    "*dlq_topic *partition:n end_offset:n",  # of the topic of our events; the end is left out
)
share_returns = _table(
    "share_returns",  # origins of dead letters of share groups that were read before the range they are in
    "*kafka_cluster *dlq_topic "
    "*fingerprint "  # the group of dead letters that they are in
    "*source_topic *partition:n *first_offset:n "
    "end_offset:n read_at_ms:n",  # the end is left out
)

# The api: its tokens and its audit.

tokens = _table(
    "tokens",  # who may call the api; a token itself is nowhere
    "*id "  # part of the token: it may be shown
    "name "
    "role "  # viewer, operator, admin
    "digest "  # HMAC-SHA-256 of the token, hexadecimal
    "created_by created_at_ms:n "
    "expires_at_ms:n revoked_at_ms:n "  # 0: never
    "revoked_by used_at_ms:n",  # about when it was used last; 0: never
)
audit = _table(
    "audit",  # who did what, when, why, and how it went; only its retention deletes
    "*number:serial at_ms:n who "
    "role token "  # "": none; the token's id
    "action subject why outcome request_id address",
    Index("audit_by_time", "at_ms"),
    Index("audit_by_who", "who", "number"),
    Index("audit_by_action", "action", "number"),
    sqlite_autoincrement=True,  # a number that was deleted is not given again
)
