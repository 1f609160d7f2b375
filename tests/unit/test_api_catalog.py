"""The catalogue is the promise; the store's series are what it stands on."""

import re

import pytest

from api.metrics import catalog
from api.metrics.catalog import Kind, Metric
from api.metrics.samples import READERS, TIMED_READERS
from streaming.store import series

BY_NAME = {metric.name: metric for metric in catalog.ALL}
CLUSTER = "kafka_cluster"
PROMISED = {
    "dead_letter_queue_records_total": (
        *(CLUSTER, "dlq_topic", "source_topic", "dialect", "consumergroup", "connector", "error_class"),
    ),
    "dead_letter_queue_backlog_records": (CLUSTER, "dlq_topic"),
    "dead_letter_queue_oldest_record_timestamp_seconds": (CLUSTER, "dlq_topic"),
    "share_group_dead_letter_queue_record_count": (CLUSTER, "consumergroup", "broker"),
    "share_group_dead_letter_queue_produce_requests_total": (CLUSTER, "consumergroup", "broker"),
    "share_group_dead_letter_queue_failed_produce_requests_total": (CLUSTER, "consumergroup", "broker"),
    "share_group_dead_letters_lost_total": (CLUSTER, "consumergroup"),
    "connect_abandoned_tasks": (CLUSTER, "worker", "connector", "task"),
    "connect_abandoned_tasks_total": (CLUSTER, "worker", "connector", "task"),
    "connect_abandoned_connectors": (CLUSTER, "worker", "connector"),
    "connect_abandoned_connectors_total": (CLUSTER, "worker", "connector"),
    "connect_abandoned_disagreement": (CLUSTER, "worker", "connector", "task", "figure"),
    "connect_task_state": (CLUSTER, "worker", "connector", "task", "state"),
    "connect_task_stalled": (CLUSTER, "connector", "task"),
    "connect_task_record_failures_total": (CLUSTER, "worker", "connector", "task"),
    "connect_task_record_errors_total": (CLUSTER, "worker", "connector", "task"),
    "connect_task_records_skipped_total": (CLUSTER, "worker", "connector", "task"),
    "connect_task_retries_total": (CLUSTER, "worker", "connector", "task"),
    "connect_task_errors_logged_total": (CLUSTER, "worker", "connector", "task"),
    "connect_task_deadletterqueue_produce_requests_total": (CLUSTER, "worker", "connector", "task"),
    "connect_task_deadletterqueue_produce_failures_total": (CLUSTER, "worker", "connector", "task"),
    "connect_task_last_error_timestamp_seconds": (CLUSTER, "worker", "connector", "task"),
    "task_timeouts_total": (CLUSTER, "application", "task"),
    "task_timers": (CLUSTER, "application"),
    "tasks_corrupted_total": (CLUSTER, "application", "task"),
    "stream_thread_deaths_total": (CLUSTER, "application", "decision"),
    "delivery_timeout_batches_total": (CLUSTER, "topic", "client_id", "client"),
    "delivery_timeout_records_total": (CLUSTER, "topic", "client_id", "client"),
    "client_timeouts_total": (CLUSTER, "client_id", "kind"),
    "retry_backoff_misconfigured_total": (CLUSTER, "client_id"),
    "findings": (CLUSTER, "kind", "subject"),
    "collector_dead_letter_queue_records_total": (CLUSTER, "collector"),
    "collector_dead_letter_queue_produce_requests_total": (CLUSTER, "collector"),
    "collector_dead_letter_queue_failed_produce_requests_total": (CLUSTER, "collector"),
    "collector_dead_letters_lost_total": (CLUSTER, "collector"),
    "collector_abandoned_tasks": (CLUSTER, "collector", "task"),
    "collector_abandoned_tasks_total": (CLUSTER, "collector", "task"),
    "collector_abandoned_connectors": (CLUSTER, "collector", "connector"),
    "collector_abandoned_connectors_total": (CLUSTER, "collector", "connector"),
    "redrive_records_total": (CLUSTER, "dlq_topic", "target_topic", "outcome"),
    "redrive_jobs": ("status",),
    "redrive_parked_backlog_records": (CLUSTER, "dlq_topic"),
    "events_total": ("source", "kind"),
    "quarantined_total": ("source", "reason"),
    "records_read_total": (),
    "records_missed_total": (CLUSTER, "topic", "reason"),
    "source_up": ("source", "kind"),
    "pipeline_lag_seconds": (),
    "batch_duration_seconds": (),
    "batch_phase_duration_seconds": ("phase",),
    "batch_failures_total": ("cause",),
    "stream_behind_records": ("topic",),
    "stream_records_per_second": (),
    "cardinality_limited_total": ("series",),
    "buckets_shared_total": ("series",),
    "store_up": (),
    "build_info": ("version",),
}
"""The names and labels that users hold on to; a change here is a change of the promise."""


def test_the_catalogue_keeps_the_promise() -> None:
    assert {name: metric.labels for name, metric in BY_NAME.items()} == {
        f"deadwatch_{name}": labels for name, labels in PROMISED.items()
    }
    assert len(catalog.ALL) == len(BY_NAME)


def test_every_metric_of_the_module_is_in_the_list() -> None:
    assert {m.name for m in vars(catalog).values() if isinstance(m, Metric)} == set(BY_NAME)


def test_every_series_has_one_metric_with_its_labels() -> None:
    on_series = {m.series.name: m for m in catalog.ALL if m.series is not None}
    too_many = {series.REDRIVE_ORDERS, series.REDRIVE_GROUPS}  # for labels
    exported = [one for one in series.ALL if one not in too_many]
    assert {one.name: one.labels for one in exported} == {name: m.labels for name, m in on_series.items()}


def test_every_metric_is_read_exactly_once() -> None:
    completed = [*(one.metrics for one in READERS), *(one.metrics for one in TIMED_READERS)]
    read = [metric.name for metrics in completed for metric in metrics]
    assert sorted([*read, catalog.STORE_UP.name, catalog.BUILD_INFO.name]) == sorted(BY_NAME)


@pytest.mark.parametrize("metric", catalog.ALL, ids=lambda metric: metric.name)
def test_a_name_follows_the_conventions_and_a_help_says_what_to_make_of_it(metric: Metric) -> None:
    assert re.fullmatch(r"deadwatch_[a-z_]+", metric.name)
    assert metric.name.endswith("_total") == (metric.kind is Kind.COUNTER)
    assert len(metric.help.split()) >= 10 or metric is catalog.BUILD_INFO
    if metric.kind is Kind.COUNTER:
        assert re.search(r"\b0: .*\b(More|No growth)\b", metric.help)


@pytest.mark.parametrize(
    ("seeds_name", "metric"),
    [
        ("DeadLetterQueueRecordCount", catalog.DEAD_LETTERS),
        (
            "kafka.server:type=ShareGroupMetrics,name=DeadLetterQueueFailedProduceRequestsPerSec",
            catalog.SHARE_FAILED_REQUESTS,
        ),
        ("kafka.connect:type=connect-worker-metrics abandoned-tasks-current", catalog.ABANDONED_TASKS),
        ("kafka.connect:type=connect-worker-metrics abandoned-tasks-total", catalog.ABANDONED_TASKS_TOTAL),
        ("kafka.connect:type=abandoned-connector-metrics current", catalog.ABANDONED_CONNECTORS),
        ("DeadLetterQueueRecordCount", catalog.COLLECTOR_DEAD_LETTERS),
        ("DeadLetterQueueTotalProduceRequestsPerSec", catalog.COLLECTOR_DEAD_LETTER_REQUESTS),
        ("DeadLetterQueueFailedProduceRequestsPerSec", catalog.COLLECTOR_DEAD_LETTER_FAILED_REQUESTS),
        ("abandoned-tasks-current", catalog.COLLECTOR_ABANDONED_TASKS),
        ("task.timeout.ms", catalog.TASK_TIMEOUTS),
    ],
)
def test_a_metric_is_found_by_the_name_that_kafka_s_proposals_give_it(
    seeds_name: str, metric: Metric
) -> None:
    assert seeds_name in metric.seeds_name
