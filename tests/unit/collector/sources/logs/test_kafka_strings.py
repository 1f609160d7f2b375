"""Every string that Kafka and its clients are known to log about timeouts, dead letters and abandonment.

A row is a string as it stands in a log, with the events it must give, or why it deliberately gives none.
"""

import json
from dataclasses import asdict
from typing import Final

import pytest

from collector.sources.logs.scan import MESSAGES, TRIGGERS
from deadwatch.contract.events import KINDS
from tests.unit.collector.sources.logs.kafka_strings.abandoned import ABANDONED
from tests.unit.collector.sources.logs.kafka_strings.delivery_timeouts import BACKOFF, DELIVERY_TIMEOUTS
from tests.unit.collector.sources.logs.kafka_strings.share_groups import SHARE_GROUPS
from tests.unit.collector.sources.logs.kafka_strings.stream_drops import STREAM_DROPS
from tests.unit.collector.sources.logs.kafka_strings.string import AT, Facts, String
from tests.unit.collector.sources.logs.kafka_strings.task_timeouts import TASK_TIMEOUTS
from tests.unit.collector.sources.logs.scanning import read

ALL: Final = (*SHARE_GROUPS, *TASK_TIMEOUTS, *DELIVERY_TIMEOUTS, *BACKOFF, *ABANDONED, *STREAM_DROPS)

OF_LOGS: Final = set(KINDS) - {
    "worker_snapshot",
    "broker_snapshot",
    "dead_letter_topics_snapshot",
    "findings_snapshot",
    "connect_tasks_snapshot",
    "collector_snapshot",
    "redrive_outcome",
    "redrive_written",
    "redrive_handled",
    "source_status",
    "quarantined",
}


def facts(log: str) -> list[Facts]:
    """The events of a whole log."""
    return [{"kind": event.kind, **asdict(event)} for event in read(log.encode())]


def in_json(text: str) -> str:
    """Each entry of the text as an object; of an entry's first line the time is taken away."""
    entries: list[list[str]] = []
    for line in text.split("\n"):
        if line.startswith(AT) or not entries:
            entries.append([line.removeprefix(f"{AT} ")])
        else:
            entries[-1].append(line)
    objects = ({"@timestamp": "2026-11-21T12:35:23.893Z", "message": "\n".join(lines)} for lines in entries)
    return "".join(f"{json.dumps(one)}\n" for one in objects)


def expect(events: list[Facts], string: String) -> None:
    assert [event["kind"] for event in events] == [event["kind"] for event in string.events]
    for event, expected in zip(events, string.events, strict=True):
        assert {name: event[name] for name in expected} == expected


@pytest.mark.parametrize("string", ALL, ids=lambda string: f"{string.section}: {string.name}")
def test_a_string_gives_its_events_and_no_others_also_in_json(string: String) -> None:
    assert bool(string.events) != bool(string.because)
    expect(facts(f"{string.text}\n"), string)
    if not string.text.startswith("%"):  # librdkafka's own lines are known by their beginning
        expect(facts(in_json(string.text)), string)


def test_every_trigger_has_a_string_that_speaks() -> None:
    speaking = "\n".join(string.text for string in ALL if string.events).encode()
    assert [trigger for trigger in TRIGGERS if trigger not in speaking] == []
    assert MESSAGES.search(speaking)


def test_every_kind_of_event_that_logs_can_give_has_a_string() -> None:
    assert {event["kind"] for string in ALL for event in string.events} == OF_LOGS
