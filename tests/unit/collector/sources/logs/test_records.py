"""Log records into causes: entries and single lines, one resource and several, within bounds."""

import pytest

from collector.sources.logs.records import MAX_RESOURCES, MAX_STREAMS, LogRecord, Resources, scan
from collector.sources.logs.scan import Found

HIT = "Task 1_0 did not make progress within 4004 ms. Adjust `task.timeout.ms` if needed."
CLIENT = "app-7f99e2d8-5383-481a-8dd1-773528d54f71"
LOST = "[2026-11-21 12:35:23,893] WARN Failed to write to DLQ, proceeding to ARCHIVED regardless. (x.Y)"


def record(
    text: str, *, resource: str = "r", stream: str = "s", thread: str = "", at_ms: int = 0
) -> LogRecord:
    return LogRecord(resource, stream, thread, text, at_ms)


def hits(*records: LogRecord) -> list[Found]:
    resources: Resources = {}
    hits = list[Found]()
    for one in records:
        resources, causes = scan(resources, one, 0)
        hits += causes
    return hits


def found(*records: LogRecord) -> list[tuple[str, ...]]:
    return [hit.cause.identity for hit in hits(*records)]


def test_a_hit_that_several_loggers_tell_of_is_one() -> None:
    repeated = [record(HIT, stream=stream, thread=f"{CLIENT}-StreamThread-1", at_ms=9) for stream in "abc"]
    assert found(*repeated) == [("task_timeout", CLIENT, "1_0", "4004")]


@pytest.mark.parametrize("another", [record(HIT, resource="a"), record(HIT, at_ms=60_000)])
def test_the_same_hit_in_two_resources_or_much_later_is_two(another: LogRecord) -> None:
    assert len(found(record(HIT), another)) == 2


@pytest.mark.parametrize("text", [HIT, "nothing of note"])
def test_a_time_beyond_the_calendar_stops_nothing(text: str) -> None:
    beyond = record(text, at_ms=2**62)
    assert len(found(beyond, record(HIT, resource="another"))) == (2 if text == HIT else 1)


def test_lines_of_a_stack_trace_belong_to_the_record_before() -> None:
    lines = ("send failed", f"Caused by: x.Y: {HIT}", "\tat x.Y.z(Y.java:1)", f"Caused by: x.Z: {HIT}")
    assert len(found(*(record(line, at_ms=100_000 * at) for at, line in enumerate(lines)))) == 1


def test_a_line_without_time_continues_an_entry_of_a_stream_of_lines() -> None:
    header = f"[2026-11-21 12:35:23,893] ERROR stream-thread [{CLIENT}-StreamThread-1] died (x.Y)"
    (hit,) = found(record(header), record(f"x.StreamsException: {HIT}"), record(f"x.Again: {HIT}"))
    assert hit == ("task_timeout", CLIENT, "1_0", "4004")


def test_a_line_that_needs_the_next_one_waits_for_it() -> None:
    resources, causes = scan({}, record(LOST), 0)
    assert causes == []
    _, causes = scan(resources, record("x.Exception: share group: g1."), 0)
    (loss,) = causes
    event = loss.cause.event
    assert getattr(event, "keywords", {})["consumergroup"] == "g1"


def test_what_is_remembered_is_bounded() -> None:
    resources: Resources = {}
    for number in range(MAX_RESOURCES + 1):
        resources, _ = scan(resources, record("x", resource=str(number)), 0)
    for number in range(MAX_STREAMS + 1):
        resources, _ = scan(resources, record("x", resource="last", stream=str(number)), 0)
    assert len(resources) == MAX_RESOURCES
    assert len(resources["last"].streams) == MAX_STREAMS
    assert "0" not in resources
    assert "0" not in resources["last"].streams
    assert resources["last"].memory.entry is None


def test_lines_that_say_nothing_change_nothing_of_what_the_others_say() -> None:
    header = f"[2026-11-21 12:35:23,893] ERROR stream-thread [{CLIENT}-StreamThread-1] died (x.Y)"
    quiet = "[2026-11-21 12:35:24,000] INFO nothing (x.Y)"
    entry = [record(header), record("\tat x.Y.z(Y.java:1)"), record(f"Caused by: {HIT}"), record("\tat x.Z")]
    alone = [record(quiet), record("\tat x.Q")]
    (hit,) = hits(*alone, *entry, *alone)
    assert (hit.cause.identity, hit.at_ms) == (("task_timeout", CLIENT, "1_0", "4004"), 1_795_264_523_893)
