"""Every counter that the store keeps, with its labels: those of ``contract.signals``, and others.

A series is one row of ``schema.series``: a name from here, and a value for each of its labels. The api builds
its metrics from this list and adds nothing to it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from deadwatch.contract import signals
from deadwatch.contract.signals.signal import Signal

_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Series:
    """A counter and its labels, in the order of its key."""

    name: str
    labels: tuple[str, ...]

    def key(self, values: Mapping[str, str]) -> str:
        """The canonical JSON object for the column ``labels``; a missing label is empty."""
        return _encode({label: values.get(label, "") for label in self.labels})


CLUSTER: Final = "kafka_cluster"


@cache
def of(signal: Signal) -> Series:
    """The series that counts the events of a signal."""
    return Series(signal.series, (CLUSTER, *signal.labels))


DEAD_LETTERS: Final = Series(
    "dead_letters",
    (CLUSTER, "dlq_topic", "source_topic", "dialect", "consumergroup", "connector", "error_class"),
)
TASK_TIMEOUTS: Final = of(signals.TASK_TIMEOUTS)
DELIVERY_TIMEOUT_BATCHES: Final = of(signals.DELIVERY_TIMEOUT_BATCHES)
DELIVERY_TIMEOUT_RECORDS: Final = of(signals.DELIVERY_TIMEOUT_RECORDS)
CLIENT_TIMEOUTS: Final = of(signals.CLIENT_TIMEOUTS)
SHARE_DEAD_LETTERS_LOST: Final = of(signals.SHARE_DEAD_LETTERS_LOST)
REDRIVE_RECORDS: Final = Series("redrive_records", (CLUSTER, "dlq_topic", "target_topic", "outcome"))
REDRIVE_ORDERS: Final = Series("redrive_orders", ("order", "outcome", "outcome_reason"))
REDRIVE_GROUPS: Final = Series("redrive_groups", ("dlq_topic", "fingerprint", "outcome"))
REDRIVES: Final = (REDRIVE_RECORDS, REDRIVE_ORDERS, REDRIVE_GROUPS)
"""What the outcomes of redrives add to."""
EVENTS: Final = Series("events", ("source", "kind"))
QUARANTINED: Final = Series("quarantined", ("source", "reason"))
RECORDS_READ: Final = Series("records_read", ())
RECORDS_MISSED: Final = Series("records_missed", (CLUSTER, "topic", "reason"))
BATCH_FAILURES: Final = Series("batch_failures", ("cause",))
CARDINALITY_LIMITED: Final = Series("cardinality_limited", ("series",))
BUCKETS_SHARED: Final = Series("buckets_shared", ("series",))

ALL: Final = tuple(
    dict.fromkeys(
        (*(value for value in list(vars().values()) if isinstance(value, Series)), *map(of, signals.ALL))
    )
)
