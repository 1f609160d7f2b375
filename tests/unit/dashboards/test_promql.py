"""Expressions are made from the catalogue, or not at all."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from api.metrics import catalog
from dashboards.panels import Column, rows
from dashboards.promql import Expr, PromqlError, Scope

SCOPE = Scope({"job": "$job", "kafka_cluster": "$kafka_cluster"})
STATE = 'deadwatch_source_up{job=~"$job"}'


def test_a_gauge_is_read_once_for_all_replicas() -> None:
    assert SCOPE.gauge(catalog.SOURCE_UP).text == f"max by (job, namespace, source, kind) ({STATE})"


def test_a_matcher_is_used_where_the_metric_has_its_label() -> None:
    narrowed = SCOPE.narrowed(dlq_topic="$topic")
    assert narrowed.selector(catalog.DEAD_LETTER_BACKLOG, kafka_cluster="c") == (
        'deadwatch_dead_letter_queue_backlog_records{job=~"$job", kafka_cluster="c", dlq_topic=~"$topic"}'
    )
    assert SCOPE.selector(catalog.REDRIVE_JOBS, status=("A", "B")).endswith('status=~"A|B"}')


def test_growth_of_a_window_that_has_ended_is_read_with_all_its_parts_as_of_then() -> None:
    text = SCOPE.grown(catalog.DEAD_LETTERS, "1h30m", offset="1d").text
    assert set(re.findall(r"offset (\w+)", text)) == {"1d", "91800000ms"}
    assert text.count("[1h30m] offset 1d") == 3
    assert text.count("offset 91800000ms") == 1
    with pytest.raises(PromqlError, match="one is no duration"):
        SCOPE.grown(catalog.DEAD_LETTERS, offset="1d")


def test_nothing_is_0_only_while_every_installation_is_read_whole() -> None:
    assert SCOPE.or_zero(SCOPE.gauge(catalog.TASK_TIMERS).sum()).text.endswith(
        'or ((min(max by (job, namespace) (deadwatch_store_up{job=~"$job"})) == 1) * 0)'
    )


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (
            lambda: SCOPE.gauge(replace(catalog.SOURCE_UP, name="deadwatch_x")),
            "deadwatch_x is not in the cat",
        ),
        (lambda: SCOPE.gauge(catalog.SOURCE_UP, topik="x"), "deadwatch_source_up has no label topik"),
        (lambda: SCOPE.gauge(catalog.SOURCE_UP).sum("topik"), "has no label topik"),
        (lambda: SCOPE.narrowed(topic="x").gauge(catalog.SOURCE_UP), "source_up has no label topic"),
        (lambda: SCOPE.gauge(catalog.DEAD_LETTERS), "is a counter: its rate or growth says something"),
        (lambda: SCOPE.rate(catalog.SOURCE_UP), "is no counter"),
        (lambda: SCOPE.or_zero(SCOPE.gauge(catalog.SOURCE_UP)), "a single number can be 0"),
        (lambda: SCOPE.gauge(catalog.SOURCE_UP).minus(Expr("1")), "has job, kind, namespace, source"),
        (lambda: SCOPE.gauge(catalog.SOURCE_UP).and_(Expr("1"), "job"), "'1' has no label job"),
        (
            lambda: SCOPE.gauge(catalog.SOURCE_UP).beside(SCOPE.gauge(catalog.SOURCE_UP)),
            "one would hide the other",
        ),
        (
            lambda: rows("T", "t.", ("source",), Column("C", SCOPE.gauge(catalog.SOURCE_UP).sum("kind"))),
            "has no label source",
        ),
    ],
)
def test_what_the_catalogue_does_not_have_is_refused(make: Callable[[], object], complaint: str) -> None:
    with pytest.raises(PromqlError, match=complaint):
        make()
