"""The tables of the first version that has landed.

They are written out because the schema goes on changing: stores of older versions are upgraded from here, a
damaged store of an older version is restored into one that is made from here, and ``make migration``
compares.
"""

from typing import Any

from alembic import op

from deadwatch.store.columns import columns

revision = "0001"
down_revision = None

OPTIONS: dict[str, dict[str, Any]] = {
    "audit": {"sqlite_autoincrement": True},
    "buckets": {"sqlite_with_rowid": False},
}
TABLES = """
abandoned: *kafka_cluster *worker *connector *task logged_total:n logged_current:n seen_total:n
    seen_current:n seen:flag first_ms:n last_ms:n message
audit: *number:serial at_ms:n who role token action subject why outcome request_id address
batches: *query_id batch_id:n committed_at_ms:n duration_ms:n records:n lag_ms:n
bucketed_series: *id:int name labels
collector_counts: *kafka_cluster *collector *name *subject started_at_ms:n current:n counted:n total:n
    observed_at_ms:n
connect_tasks: *kafka_cluster *worker *connector *task source connect_cluster state counted:flag
    started_at_ms:n records:n record_failures:n record_errors:n records_skipped:n retries:n errors_logged:n
    dlq_produce_requests:n dlq_produce_failures:n record_failures_total:n record_errors_total:n
    records_skipped_total:n retries_total:n errors_logged_total:n dlq_produce_requests_total:n
    dlq_produce_failures_total:n last_error_at_ms:n judged:flag stalled_since_ms:n stalled_because
    observed_at_ms:n
dead_letter_groups: *fingerprint kafka_cluster dlq_topic dialect source_topic consumer error_class
    message_pattern message records:n first_ms:n last_ms:n
dead_letter_topics: *kafka_cluster *dlq_topic source partitions:n records:n oldest_at_ms:n named_by
    read:flag observed_at_ms:n
findings: *kafka_cluster *kind *subject source message change first_ms:n observed_at_ms:n
instances: *kafka_cluster *worker *connector *task state abandoned:n observed_at_ms:n
leases: *name epoch:n beats:n ttl_ms:n holder process
marks: *source epoch:n offset:n ordinal:n
offsets: *topic *partition:n next_offset:n
read_topics: *topic topic_id
redrive_orders: *id dlq_topic request begin cut_off plan dry_run:flag requested_by idempotency_key status
    status_reason created_at_ms:n finished_at_ms:n worker epoch:n expires_at_ms:n policy waiting:n
    sent_before:n bounced_before:n
redrive_policies: *id version:n request enabled:flag changed_by created_at_ms:n changed_at_ms:n positions
    last_topic failures:n status_reason next_at_ms:n
redrive_policy_changes: *policy *version:n change request changed_by changed_at_ms:n
redrive_written: *kafka_cluster *target_topic *partition:n *first_offset:n end_offset:n order_id
    written_at_ms:n
series: *name *labels value:n first_ms:n last_ms:n detail
share_groups: *kafka_cluster *consumergroup *broker started_at_ms:n records:n produce_requests:n
    failed_produce_requests:n records_total:n produce_requests_total:n failed_produce_requests_total:n
    observed_at_ms:n
share_returns: *kafka_cluster *dlq_topic *fingerprint *source_topic *partition:n *first_offset:n
    end_offset:n read_at_ms:n
sources: *name kind up:flag message since_ms:n heartbeat_ms:n
stream_figures: *name *subject value:n
task_timers: *kafka_cluster *streams_client *task *thread application said_by call since_ms:n heard_ms:n
    deadline_ms:n running:flag message
tokens: *id name role digest created_by created_at_ms:n expires_at_ms:n revoked_at_ms:n revoked_by
    used_at_ms:n
buckets: *series:int>bucketed_series.id *tier:small *start_s:n value:n
dead_letter_group_notes: *fingerprint>dead_letter_groups.fingerprint version:n owner comment archive_reason
    archived_at_ms:n archived_records:n changed_by changed_at_ms:n
dead_letter_group_trends: *fingerprint>dead_letter_groups.fingerprint *hour_s:n records:n
dead_letter_samples: *fingerprint>dead_letter_groups.fingerprint *dlq_topic *partition:n *offset:n
    timestamp_ms:n headers key:nullable value:nullable key_bytes:n value_bytes:n
"""


def upgrade() -> None:
    """Create the tables of version 0001."""
    for table in TABLES.replace("\n    ", " ").strip().splitlines():
        name, words = table.split(": ")
        op.create_table(name, *columns(words), **OPTIONS.get(name, {}))
    op.create_index("audit_by_action", "audit", ["action", "number"])
    op.create_index("audit_by_time", "audit", ["at_ms"])
    op.create_index("audit_by_who", "audit", ["who", "number"])
    op.create_index("bucketed_series_by_name", "bucketed_series", ["name", "labels"], unique=True)
    op.create_index("dead_letter_groups_by_first", "dead_letter_groups", ["first_ms", "fingerprint"])
    op.create_index("dead_letter_groups_by_last", "dead_letter_groups", ["last_ms", "fingerprint"])
    op.create_index("dead_letter_groups_by_records", "dead_letter_groups", ["records", "fingerprint"])
    op.create_index("redrive_orders_by_creation", "redrive_orders", ["created_at_ms", "id"])
    op.create_index("redrive_orders_by_policy", "redrive_orders", ["policy", "created_at_ms", "id"])
    op.create_index("redrive_orders_by_status", "redrive_orders", ["status", "created_at_ms"])
    op.create_index("dead_letter_group_trends_by_hour", "dead_letter_group_trends", ["hour_s"])
