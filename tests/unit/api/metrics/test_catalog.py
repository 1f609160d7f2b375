"""The catalogue is the promise; the store's series are what it stands on."""

import re

import pytest

from api.metrics import catalog
from api.metrics.catalog import Kind, Metric
from api.metrics.samples import READERS
from deadwatch.store import series

BY_NAME = {metric.name: metric for metric in catalog.ALL}
CLUSTER = "kafka_cluster"
PROMISED = {
    (CLUSTER, "dlq_topic", "source_topic", "dialect", "consumergroup", "connector", "error_class"): (
        "dead_letter_queue_records_total",
    ),
    (CLUSTER, "dlq_topic"): (
        "dead_letter_queue_backlog_records",
        "dead_letter_queue_oldest_record_timestamp_seconds",
        "redrive_parked_backlog_records",
    ),
    (CLUSTER, "consumergroup", "broker"): (
        "share_group_dead_letter_queue_record_count",
        "share_group_dead_letter_queue_produce_requests_total",
        "share_group_dead_letter_queue_failed_produce_requests_total",
    ),
    (CLUSTER, "dlq_topic", "shelf"): ("dead_letter_queue_waiting_records",),
    (CLUSTER, "consumergroup"): ("share_group_dead_letters_lost_total",),
    (CLUSTER, "worker", "connector", "task"): (
        "connect_abandoned_tasks",
        "connect_abandoned_tasks_total",
        "connect_task_record_failures_total",
        "connect_task_record_errors_total",
        "connect_task_records_skipped_total",
        "connect_task_retries_total",
        "connect_task_errors_logged_total",
        "connect_task_deadletterqueue_produce_requests_total",
        "connect_task_deadletterqueue_produce_failures_total",
        "connect_task_last_error_timestamp_seconds",
    ),
    (CLUSTER, "worker", "connector"): ("connect_abandoned_connectors", "connect_abandoned_connectors_total"),
    (CLUSTER, "worker", "connector", "task", "figure"): ("connect_abandoned_disagreement",),
    (CLUSTER, "worker", "connector", "task", "state"): ("connect_task_state",),
    (CLUSTER, "worker", "connector", "state"): ("connect_connector_state",),
    (CLUSTER, "connector", "task"): ("connect_task_stalled", "connect_task_retriable_exceptions_total"),
    (CLUSTER, "application", "task"): ("task_timeouts_total", "tasks_corrupted_total"),
    (CLUSTER, "application"): ("task_timers",),
    (CLUSTER, "application", "task", "reason"): ("stream_records_dropped_total",),
    (CLUSTER, "application", "decision"): ("stream_thread_deaths_total",),
    (CLUSTER, "topic", "client_id", "client"): (
        "delivery_timeout_batches_total",
        "delivery_timeout_records_total",
    ),
    (CLUSTER, "client_id", "kind"): ("client_timeouts_total",),
    (CLUSTER, "client_id"): ("retry_backoff_misconfigured_total",),
    (CLUSTER, "kind", "subject"): ("findings",),
    (CLUSTER, "collector"): (
        "collector_dead_letter_queue_records_total",
        "collector_dead_letter_queue_produce_requests_total",
        "collector_dead_letter_queue_failed_produce_requests_total",
        "collector_dead_letters_lost_total",
    ),
    (CLUSTER, "collector", "task"): ("collector_abandoned_tasks", "collector_abandoned_tasks_total"),
    (CLUSTER, "collector", "connector"): (
        "collector_abandoned_connectors",
        "collector_abandoned_connectors_total",
    ),
    (CLUSTER, "dlq_topic", "target_topic", "outcome"): ("redrive_records_total",),
    ("status",): ("redrive_jobs", "redrive_stuck_jobs"),
    ("source", "kind"): ("events_total", "source_up"),
    ("source", "reason"): ("quarantined_total",),
    (): (
        "records_read_total",
        "pipeline_lag_seconds",
        "batch_duration_seconds",
        "stream_records_per_second",
        "store_up",
    ),
    (CLUSTER, "topic", "reason"): ("records_missed_total",),
    ("phase",): ("batch_phase_duration_seconds",),
    ("cause",): ("batch_failures_total",),
    ("topic",): ("stream_behind_records",),
    ("series",): ("cardinality_limited_total", "buckets_shared_total"),
    ("version",): ("build_info",),
}
"""The labels and names that users hold on to; a change here is a change of the promise."""


def test_the_catalogue_keeps_the_promise() -> None:
    assert {name: metric.labels for name, metric in BY_NAME.items()} == {
        f"deadwatch_{name}": labels for labels, names in PROMISED.items() for name in names
    }
    assert len(catalog.ALL) == len(BY_NAME)


def test_every_series_has_one_metric_with_its_labels() -> None:
    on_series = {m.series.name: m for m in catalog.ALL if m.series is not None}
    too_many = {series.REDRIVE_ORDERS, series.REDRIVE_GROUPS}  # for labels
    exported = [one for one in series.ALL if one not in too_many]
    assert {one.name: one.labels for one in exported} == {name: m.labels for name, m in on_series.items()}


def test_a_scrape_begins_with_the_metrics_that_have_a_name_in_the_code() -> None:
    named = (*catalog.observed.OBSERVED_METRICS, *catalog.pipeline.PIPELINE_METRICS)
    assert catalog.ALL[: len(named)] == named


def test_every_metric_is_read_exactly_once() -> None:
    read = [metric.name for reader in READERS for metric in reader.metrics]
    assert sorted([*read, catalog.STORE_UP.name, catalog.BUILD_INFO.name]) == sorted(BY_NAME)


@pytest.mark.parametrize("metric", catalog.ALL, ids=lambda metric: metric.name)
def test_a_name_follows_the_conventions_and_a_help_says_what_to_make_of_it(metric: Metric) -> None:
    assert re.fullmatch(r"deadwatch_[a-z_]+", metric.name)
    assert metric.name.endswith("_total") == (metric.kind is Kind.COUNTER)
    assert len(metric.help.split()) >= 10 or metric is catalog.BUILD_INFO
    if metric.kind is Kind.COUNTER:
        assert re.search(r"\b0: .*\b(More|No growth)\b", metric.help)
