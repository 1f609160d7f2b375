"""A scrape says what the store says, in both formats, completely or not at all."""

import json
import re

import httpx2
import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text
from sqlalchemy import Engine, Table, TextClause, text, update

from api.metrics import catalog
from deadwatch.runtime.version import VERSION
from deadwatch.store import schema, series
from deadwatch.store.write.progress import BEHIND_FOR, DEAD_LETTERS, EVENTS, LOOKED_AT
from tests.unit.api.conftest import Add

OPENMETRICS = {"Accept": "application/openmetrics-text;version=1.0.0"}
WORKER = "127.0.0.1:8083"
BUILD = f'deadwatch_build_info{{version="{VERSION}"}} 1.0'


def samples_of(answer: httpx2.Response) -> list[str]:
    return [line for line in answer.text.splitlines() if line and not line.startswith("#")]


def openmetrics_families(body: str) -> list[Metric]:
    return [*openmetrics.text_string_to_metric_families(body)]  # type: ignore[no-untyped-call]  # the library's


def value(answer: httpx2.Response, name: str) -> list[float]:
    families = parse_text(answer.text)
    return [sample.value for family in families for sample in family.samples if sample.name == name]


@pytest.fixture
def filled(add_row: Add, add_series: Add, now_ms: int) -> None:
    add_series(series.TASK_TIMEOUTS, 2, kafka_cluster="c", application="wordcount", task="0_1")
    instance = {"kafka_cluster": "c", "worker": WORKER, "connector": "pipe", "task": "0"}
    add_row(schema.abandoned, **instance, logged_total=1, logged_current=1, seen_total=1, seen=True)
    add_row(schema.abandoned, **{**instance, "task": ""}, logged_total=1, logged_current=1)
    add_row(schema.instances, **instance, state="RUNNING")
    add_row(schema.instances, **{**instance, "task": ""}, state="RUNNING")
    add_row(schema.instances, **{**instance, "task": "1"})
    add_row(
        schema.instances,
        **{**instance, "connector": "of a cluster that is away"},
        state="FAILED",
        source="gone",
    )
    add_row(schema.sources, name="gone", kind="connect", heartbeat_ms=now_ms)
    queue = {"kafka_cluster": "c", "source": "s"}
    add_row(
        schema.dead_letter_topics, **queue, dlq_topic="dlq.a", partitions=2, records=7, oldest_at_ms=1_500
    )
    add_row(schema.dead_letter_topics, **queue, dlq_topic="dlq.empty", partitions=1)
    add_row(schema.dead_letter_topics, **queue, dlq_topic="dlq.not-made-yet", named_by="share group g")
    add_row(schema.dead_letter_topics, **queue, dlq_topic="dlq.a.parked", partitions=1, records=4)
    meters = {"records": 1, "records_total": 10, "produce_requests_total": 3}
    add_row(schema.share_groups, kafka_cluster="c", consumergroup="g", broker="b:1", **meters)
    add_row(schema.findings, kafka_cluster="c", kind="dlq_compacted", subject="topic:dlq.a", first_ms=1)
    add_row(schema.sources, name="kafka", kind="kafka", up=True, heartbeat_ms=now_ms)
    add_row(schema.batches, query_id="old", committed_at_ms=1, lag_ms=99_000)
    add_row(schema.batches, query_id="new", committed_at_ms=2, lag_ms=250, duration_ms=130)


HANGS = {EVENTS: (600_009, 20), DEAD_LETTERS: (9, 20)}
LAGS: dict[str, tuple[dict[str, tuple[int, int]], dict[str, int], float]] = {
    "the stream that is further behind counts": ({EVENTS: (9, 20), DEAD_LETTERS: (5, 7_200_000)}, {}, 7_200),
    "a name of an earlier version does not": ({"deadwatch-failures": (8, 99_000), EVENTS: (9, 20)}, {}, 0.02),
    "a stream that has read all is not behind": (
        {EVENTS: (9, 20), DEAD_LETTERS: (9, 7_200_000)},
        {"": 9, EVENTS: 5_000, DEAD_LETTERS: 5_000},
        5,
    ),
    "one that has not for long is": (
        {EVENTS: (9, 20), DEAD_LETTERS: (9, 7_200_000)},
        {"": 9, EVENTS: 5_000, DEAD_LETTERS: 8_000_000},
        7_200,
    ),
    "one that hangs falls behind with the time": (
        HANGS,
        {"": 600_009, EVENTS: 0, DEAD_LETTERS: 700_000},
        600.02,
    ),
    "so does one that has hung since the start": (HANGS, {"": 600_009, EVENTS: 0}, 600.02),
    "one that rests does not": (HANGS, {"": 600_009, EVENTS: 0, DEAD_LETTERS: 0}, 0),
    "old records since the last look came since then": (
        {EVENTS: (2_009, 20), DEAD_LETTERS: (2_009, 7_200_000)},
        {"": 9, EVENTS: 0, DEAD_LETTERS: 0},
        2,
    ),
}
"""When each query has committed and with which lag; when the last look was, and how long each was behind
then; and the lag that is told.
"""


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(("batches", "looks", "lag_s"), LAGS.values(), ids=LAGS)
def test_the_lag_is_that_of_the_stream_that_is_furthest_behind(
    client: httpx2.Client,
    add_row: Add,
    batches: dict[str, tuple[int, int]],
    looks: dict[str, int],
    lag_s: float,
) -> None:
    for name, (at_ms, lag_ms) in batches.items():
        add_row(schema.batches, query_id=name, committed_at_ms=at_ms, lag_ms=lag_ms, duration_ms=9)
    for stream, found_ms in looks.items():
        figure = BEHIND_FOR if stream else LOOKED_AT
        add_row(schema.stream_figures, name=figure, subject=stream, value=found_ms)
    answer = client.get("/metrics")
    assert value(answer, "deadwatch_pipeline_lag_seconds") == [lag_s]
    assert value(answer, "deadwatch_batch_duration_seconds") == [0.009]


PIPE = 'connector="pipe",kafka_cluster="c"'
ON_WORKER = 'worker="127.0.0.1:8083"'
IN_C = f'kafka_cluster="c",task="0",{ON_WORKER}'
GROUP = 'broker="b:1",consumergroup="g",kafka_cluster="c"'
GOLDEN = [
    'deadwatch_dead_letter_queue_backlog_records{dlq_topic="dlq.a",kafka_cluster="c"} 7.0',
    'deadwatch_dead_letter_queue_backlog_records{dlq_topic="dlq.empty",kafka_cluster="c"} 0.0',
    'deadwatch_dead_letter_queue_oldest_record_timestamp_seconds{dlq_topic="dlq.a",kafka_cluster="c"} 1.5',
    'deadwatch_dead_letter_queue_waiting_records{dlq_topic="dlq.a",kafka_cluster="c",shelf="active"} 7.0',
    'deadwatch_dead_letter_queue_waiting_records{dlq_topic="dlq.empty",kafka_cluster="c",shelf="active"} 0.0',
    f"deadwatch_share_group_dead_letter_queue_record_count{{{GROUP}}} 10.0",
    f"deadwatch_share_group_dead_letter_queue_produce_requests_total{{{GROUP}}} 3.0",
    f"deadwatch_share_group_dead_letter_queue_failed_produce_requests_total{{{GROUP}}} 0.0",
    f'deadwatch_connect_abandoned_tasks{{{PIPE},task="0",{ON_WORKER}}} 0.0',
    f'deadwatch_connect_abandoned_tasks_total{{{PIPE},task="0",{ON_WORKER}}} 1.0',
    f"deadwatch_connect_abandoned_connectors{{{PIPE},{ON_WORKER}}} 1.0",
    f"deadwatch_connect_abandoned_connectors_total{{{PIPE},{ON_WORKER}}} 1.0",
    f'deadwatch_connect_abandoned_disagreement{{connector="pipe",figure="current",{IN_C}}} -1.0',
    f'deadwatch_connect_abandoned_disagreement{{connector="pipe",figure="total",{IN_C}}} 0.0',
    f'deadwatch_connect_task_state{{{PIPE},state="RUNNING",task="0",{ON_WORKER}}} 1.0',
    f'deadwatch_connect_connector_state{{{PIPE},state="RUNNING",{ON_WORKER}}} 1.0',
    'deadwatch_task_timeouts_total{application="wordcount",kafka_cluster="c",task="0_1"} 2.0',
    'deadwatch_findings{kafka_cluster="c",kind="dlq_compacted",subject="topic:dlq.a"} 1.0',
    'deadwatch_redrive_parked_backlog_records{dlq_topic="dlq.a",kafka_cluster="c"} 4.0',
    'deadwatch_source_up{kind="connect",source="gone"} 0.0',
    'deadwatch_source_up{kind="kafka",source="kafka"} 1.0',
    "deadwatch_pipeline_lag_seconds 0.25",
    "deadwatch_batch_duration_seconds 0.13",
    "deadwatch_store_up 1.0",
    BUILD,
]


@pytest.mark.usefixtures("filled")
def test_prometheus_text(client: httpx2.Client) -> None:
    answer = client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert samples_of(answer) == GOLDEN
    assert list(parse_text(answer.text))


TEXT, OPEN = "text/plain; version=0.0.4", "application/openmetrics-text; version=1.0.0"
ACCEPTED = {
    "": TEXT,
    "*/*": TEXT,
    "text/plain;version=1.x": TEXT,
    "application/openmetrics-text": OPEN,
    "application/openmetrics-text; version=1.0.0; q=0.5, text/plain;version=0.0.4": OPEN,
    "application/openmetrics-text;version=0.0.1,application/openmetrics-text;version=1.0.0": OPEN,
    "application/openmetrics-text;version=0.0.1": TEXT,
    "application/openmetrics-text;version=7.0.1": TEXT,
    "application/openmetrics-text;version=abc": TEXT,
    'application/openmetrics-text;version="1.0.0",;;=': TEXT,
}


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(("accept", "kind"), ACCEPTED.items())
def test_whatever_a_scraper_accepts_it_gets_one_of_two_formats(
    client: httpx2.Client, accept: str, kind: str
) -> None:
    answer = client.get("/metrics", headers={"Accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (200, f"{kind}; charset=utf-8")
    assert answer.text.endswith("# EOF\n") == (kind == OPEN)


@pytest.mark.usefixtures("filled")
def test_openmetrics(client: httpx2.Client) -> None:
    answer = client.get("/metrics", headers=OPENMETRICS)
    assert samples_of(answer) == GOLDEN
    assert answer.text.endswith("# EOF\n")
    families = openmetrics_families(answer.text)
    assert {family.documentation for family in families} == {metric.help for metric in catalog.ALL}
    types = {family.name: family.type for family in families}
    assert types["deadwatch_task_timeouts"] == "counter"
    assert types["deadwatch_build"] == "info"
    assert (types["deadwatch_connect_abandoned_tasks"], types["deadwatch_connect_abandoned_tasks_total"]) == (
        "gauge",
        "unknown",
    )


@pytest.mark.parametrize("exists", [True, False], ids=["empty store", "no store"])
def test_every_metric_is_named_even_without_samples(
    client: httpx2.Client, request: pytest.FixtureRequest, *, exists: bool
) -> None:
    if exists:
        request.getfixturevalue("store")
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert samples_of(answer) == [f"deadwatch_store_up {float(exists)}", BUILD]
    types = {"counter": "counter", "gauge": "gauge", "info": "gauge"}
    for metric in catalog.ALL:
        assert (
            f"# HELP {metric.name} {metric.help}\n# TYPE {metric.name} {types[metric.kind]}\n" in answer.text
        )


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("table", "withheld"),
    [
        (schema.abandoned, "connect_abandoned"),
        (schema.instances, "connect_((task|connector)_state|abandoned_.*)"),
        (schema.findings, "deadwatch_findings"),
        (schema.sources, "source_up|connect_(task|connector)_state"),
        (schema.series, "task_timeouts|parked_backlog|waiting_records"),
    ],
    ids=lambda value: str(getattr(value, "name", value)),
)
def test_what_cannot_be_read_is_withheld_and_the_rest_goes_on(
    client: httpx2.Client, store: Engine, table: Table, withheld: str
) -> None:
    with store.begin() as connection:
        connection.execute(text(f"DROP TABLE {table.name}"))
    expected = [line for line in GOLDEN if not re.search(withheld, line)]
    assert len(expected) < len(GOLDEN)
    expected[-2] = "deadwatch_store_up 0.0"
    assert samples_of(client.get("/metrics")) == expected


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    "labels", ["", "{", "[]", '{"task":"0_1"}', '{"a":"","b":"","c":""}', text("CAST(x'ff' AS TEXT)")]
)
def test_one_damaged_row_withholds_its_whole_family(
    client: httpx2.Client, store: Engine, add_series: Add, labels: str | TextClause
) -> None:
    add_series(series.CLIENT_TIMEOUTS, 5, client_id="a")
    add_series(series.TASK_TIMEOUTS, 7, application="whole")
    broken = schema.series.c.labels.contains("wordcount")
    with store.begin() as connection:
        connection.execute(update(schema.series).where(broken).values(labels=labels))
    answer = client.get("/metrics")
    assert value(answer, "deadwatch_task_timeouts_total") == []
    assert value(answer, "deadwatch_client_timeouts_total") == [5]
    assert value(answer, "deadwatch_store_up") == [0]


@pytest.mark.usefixtures("filled")
def test_another_schema_version_is_not_read(client: httpx2.Client, store: Engine) -> None:
    with store.begin() as connection:
        connection.exec_driver_sql("UPDATE deadwatch_version SET version_num = '9999'")
    assert samples_of(client.get("/metrics")) == ["deadwatch_store_up 0.0", BUILD]


TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def test_a_trace_of_what_was_counted_is_an_exemplar_of_openmetrics_alone(
    client: httpx2.Client, add_series: Add, now_ms: int
) -> None:
    detail = {"trace_id": TRACE, "span_id": SPAN, "traced_ms": now_ms + 7}
    add_series(series.DEAD_LETTERS, 3, detail=detail, dlq_topic="dlq.a")
    add_series(series.DEAD_LETTERS, 4, dlq_topic="dlq.b")
    for broken in ({"trace_id": 7}, {"trace_id": "x", "span_id": SPAN, "traced_ms": 1}, {"trace_id": TRACE}):
        add_series(series.DEAD_LETTERS, 5, detail=broken, dlq_topic=f"dlq.c-{len(str(broken))}")
    answer = client.get("/metrics", headers=OPENMETRICS)
    told = {
        sample.labels["dlq_topic"]: sample.exemplar
        for family in openmetrics_families(answer.text)
        for sample in family.samples
        if sample.name == "deadwatch_dead_letter_queue_records_total"
    }
    exemplar = told.pop("dlq.a")
    assert exemplar is not None
    assert exemplar.labels == {"trace_id": TRACE, "span_id": SPAN}
    assert (exemplar.value, str(exemplar.timestamp)) == (1, "1800000000.007000000")
    assert [*told.values()] == [None] * 4
    plain = client.get("/metrics")
    assert TRACE not in plain.text
    assert sum(value(plain, "deadwatch_dead_letter_queue_records_total")) == 22


HOSTILE = {
    "quotes": 'a"b\\c',
    "newlines": "a\nb",
    "a whole fake sample": 'x"} 1\ndeadwatch_store_up 0\n',
    "NUL": "a\x00b",
    "carriage return": "a\rb",
    "half a surrogate pair": "a\ud800b",
    "astral": "a😀b",
    "a megabyte": "x" * 1_000_000,
    "empty": "",
}


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("accept", [{}, OPENMETRICS], ids=["text", "openmetrics"])
def test_no_label_value_breaks_a_scrape(
    client: httpx2.Client, add_row: Add, name: str, accept: dict[str, str]
) -> None:
    labels = json.dumps({"kafka_cluster": "c", "client_id": name})
    add_row(schema.series, name="retry_backoff_misconfigured", labels=labels, value=3)
    answer = client.get("/metrics", headers=accept)
    families = openmetrics_families(answer.text) if accept else parse_text(answer.text)
    found = [s for family in families for s in family.samples if "misconfigured" in s.name]
    assert [(s.value, s.labels["kafka_cluster"]) for s in found] == [(3, "c")]
    assert len(answer.content) < 20_000
    assert "\ndeadwatch_store_up 1.0\n" in answer.text
