"""Every counter the store keeps, declared once with its labels.

A series is one row of ``schema.series``: a name from here and a value for each of its labels. ``api`` builds
its metrics from this list and adds nothing to it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Series:
    """A counter and the labels that tell its rows apart, in their order."""

    name: str
    labels: tuple[str, ...]

    def key(self, values: Mapping[str, str]) -> str:
        """The canonical JSON object that stands in the column ``labels``; a missing label is empty."""
        return _encode({label: values.get(label, "") for label in self.labels})


CLUSTER: Final = "kafka_cluster"

DEAD_LETTERS: Final = Series(
    "dead_letters",
    (CLUSTER, "dlq_topic", "source_topic", "dialect", "consumergroup", "connector", "error_class"),
)
TASK_TIMEOUTS: Final = Series("task_timeouts", (CLUSTER, "application", "task"))
TASKS_CORRUPTED: Final = Series("tasks_corrupted", (CLUSTER, "application", "task"))
STREAM_THREAD_DEATHS: Final = Series("stream_thread_deaths", (CLUSTER, "application", "decision"))
DELIVERY_TIMEOUT_BATCHES: Final = Series(
    "delivery_timeout_batches", (CLUSTER, "topic", "client_id", "client")
)
DELIVERY_TIMEOUT_RECORDS: Final = Series(
    "delivery_timeout_records", (CLUSTER, "topic", "client_id", "client")
)
CLIENT_TIMEOUTS: Final = Series("client_timeouts", (CLUSTER, "client_id", "kind"))
RETRY_BACKOFF_MISCONFIGURED: Final = Series("retry_backoff_misconfigured", (CLUSTER, "client_id"))
SHARE_DEAD_LETTERS_LOST: Final = Series("share_dead_letters_lost", (CLUSTER, "consumergroup"))
REDRIVE_RECORDS: Final = Series("redrive_records", (CLUSTER, "dlq_topic", "target_topic", "outcome"))
REDRIVE_ORDERS: Final = Series("redrive_orders", ("order", "outcome", "outcome_reason"))
REDRIVE_GROUPS: Final = Series("redrive_groups", ("dlq_topic", "fingerprint", "outcome"))
EVENTS: Final = Series("events", ("source", "kind"))
QUARANTINED: Final = Series("quarantined", ("source", "reason"))
RECORDS_READ: Final = Series("records_read", ())
RECORDS_MISSED: Final = Series("records_missed", (CLUSTER, "topic", "reason"))
BATCH_FAILURES: Final = Series("batch_failures", ("cause",))
CARDINALITY_LIMITED: Final = Series("cardinality_limited", ("series",))
BUCKETS_SHARED: Final = Series("buckets_shared", ("series",))

ALL: Final = (
    DEAD_LETTERS,
    TASK_TIMEOUTS,
    TASKS_CORRUPTED,
    STREAM_THREAD_DEATHS,
    DELIVERY_TIMEOUT_BATCHES,
    DELIVERY_TIMEOUT_RECORDS,
    CLIENT_TIMEOUTS,
    RETRY_BACKOFF_MISCONFIGURED,
    SHARE_DEAD_LETTERS_LOST,
    REDRIVE_RECORDS,
    REDRIVE_ORDERS,
    REDRIVE_GROUPS,
    EVENTS,
    QUARANTINED,
    RECORDS_READ,
    RECORDS_MISSED,
    BATCH_FAILURES,
    CARDINALITY_LIMITED,
    BUCKETS_SHARED,
)
