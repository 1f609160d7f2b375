"""Layouts people use: where their entries begin, when they were written, what libraries say in them."""

from dataclasses import asdict
from datetime import UTC
from zoneinfo import ZoneInfo

import pytest
from pydantic import ValidationError

from collector.dialects import layout, librdkafka
from collector.settings import LogSettings
from collector.sources.log_memory import Memory
from collector.sources.log_scan import Scanner

AT_MS = 1_795_242_991_123

ENTRIES = {
    "Kafka's log4j2 and log4j 1": "[2026-11-21 06:36:31,123] INFO x (kafka.Kafka)",
    "log4j 1 without brackets": "2026-11-21 06:36:31,123 INFO x",
    "Spring Boot": "2026-11-21T06:36:31.123Z  INFO 1 --- [main] c.e.X : msg",
    "Spring Boot in another zone": "2026-11-21T07:36:31.123+01:00  INFO 1 --- [app] [main] c.e.X : msg",
    "Spring Boot before 3": "2026-11-21 06:36:31.123  INFO 1 --- [           main] c.e.X : msg",
    "Python": "2026-11-21 06:36:31,123 INFO kafka.producer.kafka x",
    "librdkafka": "%3|1795242991.123|FAIL|rdkafka#producer-2| [thrd:b/1]: b/1: Connect failed",
    "NUL bytes left by truncation": "\0\0\0[2026-11-21 06:36:31,123] INFO x",
}
UNDATED = {
    "Logback": "06:36:31.123 [main] INFO c.e.X -- msg",
    "Python without a format": "ERROR:kafka.producer.sender:<Sender client_id=orders>: Uncaught error",
    "no such day": "[2026-02-30 06:36:31,123] INFO x",
    "beyond the calendar": "9999-12-31T23:59:59.000-01:00 INFO x",
    "before the calendar": "0001-01-01T00:00:00.000+01:00 INFO x",
}


@pytest.mark.parametrize("line", ENTRIES.values(), ids=ENTRIES)
def test_an_entry_begins_with_its_time(line: str) -> None:
    assert layout.HEADER.match(line.encode())
    assert layout.time_ms(line, UTC) == AT_MS


@pytest.mark.parametrize("line", UNDATED.values(), ids=UNDATED)
def test_an_entry_may_have_no_time(line: str) -> None:
    assert layout.HEADER.match(line.encode())
    assert layout.time_ms(line, UTC) is None


@pytest.mark.parametrize(
    "line", ["\tat a.B.c(B.java:1)", "Caused by: x", "12:30 no header", "%d items|1", ""]
)
def test_other_lines_go_on_with_an_entry(line: str) -> None:
    assert layout.HEADER.match(line.encode()) is None


PREFIX = "%4|1795270518.795|REQTMOUT|orders#producer-1| [thrd:b:1/bootstrap]: b:1/bootstrap: "
LIBRDKAFKA: list[tuple[str, list[dict[str, object]]]] = [
    (
        PREFIX + "Timed out 1 in-flight, 0 retry-queued, 0 out-queue, 0 partially-sent requests",
        [{"client": "librdkafka", "client_id": "orders", "timeout": "request"}],
    ),
    (PREFIX + "Timed out ApiVersionRequest in flight (after 1004ms, timeout #0)", []),
    (
        "%4|1795270518.795|MAXPOLL|billing#consumer-2| [thrd:main]: Application maximum poll interval"
        " (2000ms) exceeded by 120ms (adjust max.poll.interval.ms for long-running message"
        " processing): leaving group",
        [{"client_id": "billing", "timeout": "poll"}],
    ),
    (
        "%7|1795270518.795|TIMEOUT|rdkafka#producer-3| [thrd:b:1/1]: b:1/1: t-x [4]: timed out 2+3 message(s)"
        " (MsgId 1..5): message.timeout.ms exceeded",
        [{"client": "librdkafka", "client_id": "rdkafka", "topic": "t-x", "partition": 4, "records": 5}],
    ),
]


@pytest.mark.parametrize(("line", "expected"), LIBRDKAFKA)
def test_what_librdkafka_says(line: str, expected: list[dict[str, object]]) -> None:
    _, found = Scanner().scan(Memory(), f"{line}\n".encode())
    told = [
        asdict(
            one.cause.event(
                source="s", position=(0, 0, 0), happened_at_ms=0, observed_at_ms=0, kafka_cluster="c"
            )
        )
        for one in found
    ]
    assert [
        {name: event[name] for name in row} for event, row in zip(told, expected, strict=True)
    ] == expected
    assert all(one.at_ms == 1_795_270_518_795 for one in found)


def test_every_trigger_of_librdkafka_is_in_a_line_it_writes() -> None:
    lines = " ".join(line for line, _ in LIBRDKAFKA)
    assert [trigger for trigger in librdkafka.TRIGGERS if trigger not in lines] == []


def test_kafka_pythons_missing_metadata_in_its_own_log() -> None:
    data = (
        b"2026-11-21 14:17:03,374 ERROR root send failed\nTraceback (most recent call last):\n"
        b"kafka.errors.KafkaTimeoutError: KafkaTimeoutError: Failed to update metadata after 2.0 secs.\n"
    )
    _, (found,) = Scanner().scan(Memory(), data)
    assert found.cause.identity == (
        "client_timeout",
        "metadata",
        "Failed to update metadata after 2.0 secs.",
    )
    assert (found.offset, found.at_ms) == (0, 1_795_270_623_374)


ODD = r"^<(?P<time>\d\d/\d\d/\d{4} \d\d:\d\d:\d\d\.\d{3})>"
ODD_TIME = "%d/%m/%Y %H:%M:%S.%f"


@pytest.mark.parametrize(
    ("form", "line"),
    [
        ("text", "<21/11/2026 07:36:31.123> Graceful stop of task x-0 failed.\n"),
        (
            "cri",
            "2026-11-21T06:36:31.123Z stdout F <21/11/2026 07:00:00.000> Graceful stop of task x-0 failed.\n",
        ),
    ],
)
def test_a_configured_layout_tells_entries_and_times(form: str, line: str) -> None:
    logs = LogSettings.model_validate({"path": "x", "entry_pattern": ODD, "time_format": ODD_TIME})
    before = "[2026-11-21 06:36:31,123] no entry by that layout\n"
    scanner = Scanner(ZoneInfo("Europe/Berlin"), format=form, layout=logs.layout())
    memory, (found,) = scanner.scan(Memory(), (before + line).encode())
    assert (found.offset, found.at_ms) == (len(before), AT_MS)
    assert memory.entry is not None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"entry_pattern": ODD}, "go together"),
        ({"time_format": ODD_TIME}, "go together"),
        ({"entry_pattern": "(?P<time>", "time_format": ODD_TIME}, "no regular expression"),
        ({"entry_pattern": r"\d+", "time_format": ODD_TIME}, "named group for the time"),
        ({"entry_pattern": r"(?P<time>\d*)", "time_format": ODD_TIME}, "matches an empty line"),
        ({"entry_pattern": ODD, "time_format": "%H:%M:%S"}, "must tell year"),
        ({"entry_pattern": ODD, "time_format": "%b %d %H:%M:%S"}, "must tell year"),
        ({"format": "xml"}, "auto"),
    ],
)
def test_a_layout_that_cannot_work_is_refused(given: dict[str, str], expected: str) -> None:
    with pytest.raises(ValidationError, match=expected):
        LogSettings.model_validate({"path": "x", **given})
