"""Layouts people use: where their entries begin, and when they were written."""

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest
from pydantic import ValidationError

from collector.settings import LogSettings
from collector.sources.logs import layout
from collector.sources.logs.scan import Memory, Scanner

AT_MS = 1_795_242_991_123

ENTRIES = {
    "Kafka's log4j2 and log4j 1": "[2026-11-21 06:36:31,123] INFO x (kafka.Kafka)",
    "log4j 1 without brackets": "2026-11-21 06:36:31,123 INFO x",
    "Spring Boot": "2026-11-21T06:36:31.123Z  INFO 1 --- [main] c.e.X : msg",
    "Spring Boot in another zone": "2026-11-21T07:36:31.123+01:00  INFO 1 --- [app] [main] c.e.X : msg",
    "Spring Boot in colours": "\x1b[2m2026-11-21T06:36:31.123Z\x1b[0;39m \x1b[32m INFO\x1b[0;39m 1 --- x",
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
    "no such zone": "2026-11-21 06:36:31,123456+9999 INFO x",
    "more minutes than an hour has": "2026-11-21T06:36:31.123+12:60 INFO x",
}


@pytest.mark.parametrize("name", [*ENTRIES, *UNDATED])
def test_an_entry_begins_with_its_time_or_has_none(name: str) -> None:
    line = {**ENTRIES, **UNDATED}[name]
    assert layout.HEADER.match(line.encode())
    assert layout.time_ms(line, UTC) == (AT_MS if name in ENTRIES else None)


@pytest.mark.parametrize(
    "line",
    [
        "\tat a.B.c(B.java:1)",
        "Caused by: x",
        "12:30 no header",
        "%d items|1",
        "",
        "\t2026-11-21 06:36:31,123 not at its beginning",
        "2026-11-21 06:36:31,123tail",
    ],
)
def test_other_lines_go_on_with_an_entry(line: str) -> None:
    assert layout.HEADER.match(line.encode()) is None


@pytest.mark.parametrize(
    ("header", "zone", "expected"),
    [
        ("2026-11-21T06:36:31.123Z INFO x", "Asia/Tokyo", AT_MS),
        ("2026-11-21T06:36:31.123456+02:00 INFO x", "UTC", AT_MS - 7_200_000),
        ("2026-11-21T06:36:31,123456789+0200 INFO x", "UTC", AT_MS - 7_200_000),
        ("[2026-11-21 06:36:31,123 +0200] ERROR x", "UTC", AT_MS - 7_200_000),
        ("2026-11-21 06:36:31,123 -10000 records", "UTC", AT_MS),
        ("2026-11-21 06:36:31,123 -1299 records", "UTC", AT_MS),
        ("[2026-11-21 06:36:31,123] ERROR x", "Europe/Berlin", AT_MS - 3_600_000),
        ("2026-11-21 06:36:31 x", "UTC", AT_MS - 123),
        ("no time", "UTC", None),
    ],
)
def test_the_zone_is_that_of_the_source_where_the_entry_has_none(
    header: str, zone: str, expected: int | None
) -> None:
    assert layout.time_ms(header, ZoneInfo(zone)) == expected


ODD = r"^<(?P<time>\d\d/\d\d/\d{4} \d\d:\d\d:\d\d\.\d+)>"
ODD_TIME = "%d/%m/%Y %H:%M:%S.%f"


@pytest.mark.parametrize(
    ("form", "line"),
    [
        ("text", "<21/11/2026 07:36:31.123> Graceful stop of task x-0 failed.\n"),
        (
            "cri",
            "2026-11-21T06:36:31.123Z stdout F <21/11/2026 07:00:00.0> Graceful stop of task x-0 failed.\n",
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
