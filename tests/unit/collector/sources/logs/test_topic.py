"""A topic of log lines: what shippers send, where reading goes on, what went before it was read."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from zoneinfo import ZoneInfo

import pytest

from collector.positions import PositionsError
from collector.sources.logs.records import MAX_RECORD_CHARS, RawRecord
from collector.sources.logs.scan import Scanner
from collector.sources.logs.topic import LOOKUP_INTERVAL_MS, Extent, KafkaLogReader, LogTopicSource
from collector.sources.source import State
from deadwatch.contract.events import Event, Quarantined, TaskAbandoned
from tests.tables import named
from tests.unit.collector.sources.logs.scanning import DETECTING, following

AT_MS = 1_795_264_523_893
HEADER = "[2026-11-21 12:35:23,893] ERROR [c|task-{0}] Graceful stop of task c-{0} failed. (o.Worker:1104)"
TRACE = ("\tat o.Worker.stop(Worker.java:1104)", "Caused by: o.E: Graceful stop of task c-{0} failed.")

Value = str | bytes | None
Clock = Callable[[], int]


def looking_up() -> Clock:
    """A clock by which the time for another lookup has come at each poll."""
    return partial(next, count(AT_MS, LOOKUP_INTERVAL_MS))


@dataclass
class Topic(KafkaLogReader):
    """Partitions of values in place of Kafka's; a fetch gives ``batch`` of them at most."""

    partitions: dict[int, list[Value]] = field(default_factory=lambda: {0: []})
    topic_id: str = "first"
    first: dict[int, int] = field(default_factory=dict)
    batch: int = 3
    _at: dict[int, int] = field(default_factory=dict)

    def describe(self) -> Extent:
        bounds = {number: (self.first.get(number, 0), len(held)) for number, held in self.partitions.items()}
        return Extent(self.topic_id, bounds)

    def seek(self, offsets: Mapping[int, int]) -> None:
        self._at = dict(offsets)

    def read(self) -> list[RawRecord] | None:
        if any(at < self.first.get(number, 0) for number, at in self._at.items()):
            return None
        found = []
        for number, at in self._at.items():
            values = self.partitions[number][at : at + self.batch]
            self._at[number] = at + len(values)
            for offset, value in enumerate(values, at):
                raw = value.encode() if isinstance(value, str) else value
                found.append(RawRecord(number, offset, AT_MS, b"host", raw))
        return found

    def close(self) -> None:
        """Nothing is held."""


def source(
    topic: Topic, saved: State | None = None, clock: Clock = lambda: AT_MS, scanner: Scanner = DETECTING
) -> LogTopicSource:
    given = following(saved, worker="w:8083", scanner=scanner, clock=clock)
    return LogTopicSource("logs", topic, given)


def read_out(reading: LogTopicSource) -> tuple[list[Event], State | None]:
    """All events up to the end, and what was saved last, as JSON keeps it."""
    events, state = list[Event](), None
    while chunk := reading.poll():
        events += chunk.events
        state = json.loads(json.dumps(chunk.state))
    return events, state


def entry(task: int) -> list[str]:
    return [line.format(task) for line in (HEADER, *TRACE)]


def filebeat(line: str, file: str = "/a.log") -> str:
    at = "2026-11-21T13:00:00.000Z"
    return json.dumps({"@timestamp": at, "message": line, "log": {"file": {"path": file}}})


def fluent_bit(line: str, stream: str = "stdout") -> str:
    return json.dumps({"log": f"{line}\n", "stream": stream, "@timestamp": 1795264600.1})


def vector(line: str, file: str = "/a.log") -> str:
    return json.dumps({"file": file, "host": "h", "message": line, "source_type": "file"})


@pytest.mark.parametrize("shipped", [str, filebeat, fluent_bit, vector], ids=lambda shipper: shipper.__name__)
def test_an_entry_over_several_records_says_it_once(shipped: Callable[[str], str]) -> None:
    topic = Topic({0: [shipped(line) for task in range(5) for line in entry(task)]})
    events, _ = read_out(source(topic))
    told = [(one.task, one.worker) for one in events if isinstance(one, TaskAbandoned)]
    assert told == [(str(task), "w:8083") for task in range(5)]
    assert [one.position for one in events] == [(0, 3 * task, 0) for task in range(5)]
    assert {(one.source, one.happened_at_ms) for one in events} == {("log-topic:logs/0", AT_MS)}


def test_lines_of_two_files_do_not_continue_each_other() -> None:
    lines = zip(entry(1), entry(2), strict=True)
    topic = Topic({0: [vector(line, f"/{at}.log") for pair in lines for at, line in enumerate(pair)]})
    events, _ = read_out(source(topic))
    assert [one.task for one in events if isinstance(one, TaskAbandoned)] == ["1", "2"]


def test_names_of_any_length_are_not_saved_whole() -> None:
    long = json.dumps({"file": "f" * 100_000, "host": "h" * 100_000, "message": HEADER.format(1)})
    events, state = read_out(source(Topic({0: [long]})))
    assert len(events) == 1
    assert len(json.dumps(state)) < 10_000


def test_an_application_s_own_json_is_read_with_every_text_in_it() -> None:
    at, error = "2026-11-21T12:35:23.893Z", {"stack_trace": TRACE[1].format(7)}
    layout = {"@timestamp": at, "message": "stop", "error": error}
    (event,) = read_out(source(Topic({0: [json.dumps(layout)]})))[0]
    assert isinstance(event, TaskAbandoned)
    assert (event.task, event.happened_at_ms) == ("7", AT_MS)


def test_times_without_zone_are_of_the_zone_that_is_set() -> None:
    (event,) = read_out(source(Topic({0: [HEADER.format(1)]}), scanner=Scanner(ZoneInfo("Europe/Berlin"))))[0]
    assert event.happened_at_ms == AT_MS - 3_600_000


POISON: list[tuple[str, Value, str, str]] = [
    ("no value", None, "", "no_value"),
    ("not the JSON that was promised", "plain", "json", "not_json"),
    ("broken JSON", '{"message": ', "json", "not_json"),
    ("JSON that is no object", "[1]", "json", "not_json"),
    ("a record that is too long", "x" * (MAX_RECORD_CHARS + 1), "", "record_too_long"),
]


@pytest.mark.parametrize(("value", "form", "reason"), named(POISON))
def test_what_cannot_be_read_is_said_in_its_place_and_the_rest_goes_on(
    value: Value, form: str, reason: str
) -> None:
    topic = Topic({0: [value, filebeat(HEADER.format(1))]})
    unread, event = read_out(source(topic, scanner=Scanner(format=form)))[0]
    assert isinstance(unread, Quarantined)
    assert (unread.reason, unread.position, unread.source) == (reason, (0, 0, 0), "log-topic:logs/0")
    assert isinstance(event, TaskAbandoned)


@pytest.mark.parametrize(
    "value", [b"\xff\xfe\x00" * 9, b"", b"\n\n", b'{"log": "\\ud800"}', b'{"a":' * 5_000]
)
def test_odd_bytes_say_nothing_and_stop_nothing(value: bytes) -> None:
    (event,) = read_out(source(Topic({0: [value, HEADER.format(1)]})))[0]
    assert isinstance(event, TaskAbandoned)


@pytest.mark.parametrize("cut", range(1, 5))
def test_a_restart_at_any_place_loses_and_repeats_nothing(cut: int) -> None:
    values: list[Value] = [line for task in range(6) for line in entry(task)]
    topic = Topic({0: values, 1: [filebeat(line) for line in entry(9)]}, batch=2)
    whole, _ = read_out(source(topic))
    first = source(topic)
    chunks = [chunk for _ in range(cut) if (chunk := first.poll())]
    rest, _ = read_out(source(topic, json.loads(json.dumps(chunks[-1].state))))
    assert [*(event for chunk in chunks for event in chunk.events), *rest] == whole


def test_a_partition_that_is_added_is_found() -> None:
    now_ms, topic = [AT_MS], Topic({0: [HEADER.format(1)]})
    reading = source(topic, clock=lambda: now_ms[0])
    assert len(read_out(reading)[0]) == 1
    topic.partitions[1] = [HEADER.format(2)]
    assert read_out(reading)[0] == []
    now_ms[0] += LOOKUP_INTERVAL_MS
    (event,) = read_out(reading)[0]
    assert event.source == "log-topic:logs/1"


def test_records_that_went_unread_are_a_gap_counted_once_at_one_place() -> None:
    topic = Topic({0: [HEADER.format(number) for number in range(10)]}, batch=2)
    reading = source(topic)
    assert reading.poll() is not None
    chunk = reading.poll()
    assert chunk is not None
    saved = json.loads(json.dumps(chunk.state))
    for first in (6, 8):
        topic.first[0] = first
        gap, *events = read_out(source(topic, saved))[0]
        assert isinstance(gap, Quarantined)
        assert (gap.reason, gap.position) == ("records_deleted_unread", (0, 4, -1))
        assert gap.excerpt.startswith(f"{first - 4} offsets from 4 ")
        assert [one.position.offset for one in events] == list(range(first, 10))


def test_retention_that_overtakes_a_reader_is_a_gap_too() -> None:
    topic = Topic({0: [HEADER.format(number) for number in range(10)]}, batch=2)
    reading = source(topic)
    assert reading.poll() is not None
    topic.first[0] = 7
    assert reading.poll() is None
    gap, *events = read_out(reading)[0]
    assert (gap.kind, gap.position, len(events)) == ("quarantined", (0, 2, -1), 3)


@pytest.mark.parametrize("held", [1, 9], ids=["with less in it", "with more in it"])
def test_a_topic_that_was_made_anew_is_read_from_its_beginning(held: int) -> None:
    topic = Topic({0: [HEADER.format(number) for number in range(4)]})
    reading = source(topic, clock=looking_up())
    read_out(reading)
    topic.partitions, topic.topic_id = {0: [HEADER.format(number) for number in range(held)]}, "second"
    anew, *events = read_out(reading)[0]
    assert isinstance(anew, Quarantined)
    assert (anew.reason, anew.position) == ("topic_recreated", (1, 0, -1))
    assert [one.position for one in events] == [(1, offset, 0) for offset in range(held)]


def test_a_partition_that_has_lost_its_last_records_is_read_on_from_its_end() -> None:
    topic = Topic({0: [HEADER.format(number) for number in range(4)]})
    reading = source(topic, clock=looking_up())
    read_out(reading)
    del topic.partitions[0][2:]
    (cut,), _ = read_out(reading)
    assert isinstance(cut, Quarantined)
    assert (cut.reason, cut.position) == ("topic_truncated", (1, 0, -1))
    topic.partitions[0].append(HEADER.format(9))
    (event,), _ = read_out(reading)
    assert event.position == (1, 2, 0), "another record has this offset now"


def test_a_partition_without_leader_keeps_its_place() -> None:
    topic = Topic({0: [HEADER.format(1)], 1: [HEADER.format(2)]})
    reading = source(topic, clock=looking_up())
    assert len(read_out(reading)[0]) == 2
    away = topic.partitions.pop(1)
    assert read_out(reading)[0] == []
    topic.partitions[1] = away
    assert read_out(reading)[0] == []


def test_a_failure_in_the_middle_changes_nothing() -> None:
    class Failing(Topic):
        failures = 1

        def read(self) -> list[RawRecord] | None:
            found = super().read()
            if self.failures:
                self.failures -= 1
                raise RuntimeError("lost on the way")
            return found

    reading = source(Failing({0: [HEADER.format(1)]}))
    with pytest.raises(RuntimeError):
        reading.poll()
    assert len(read_out(reading)[0]) == 1


def test_a_position_that_is_none_is_refused() -> None:
    with pytest.raises(PositionsError, match="log-topic:logs"):
        source(Topic(), {"0": {"offset": "far"}})
