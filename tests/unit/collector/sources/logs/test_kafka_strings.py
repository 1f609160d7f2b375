"""Every string that Kafka and its clients are known to log about timeouts, dead letters and abandonment.

They are in ``kafka_strings``, by subject: the name of a string, then the string as it stands in a log, one or
more entries, then each event that it must give, or why it deliberately gives none.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from collector.sources.logs.lines import MESSAGES, TRIGGERS
from deadwatch.contract.events import KINDS
from tests.unit.collector.sources.logs.scanning import read

Facts = Mapping[str, object]

AT: Final = "[2026-11-21 12:35:23,893]"
GIVES, NOTHING = "=> ", "nothing: "


class String(NamedTuple):
    name: str
    text: str
    events: list[Facts]


def strings(file: Path) -> Iterator[String]:
    about, *blocks = file.read_text().rstrip("\n").split("\n\n")
    assert GIVES not in about, f"{file.name} begins with what it is about"
    for block in blocks:
        name, *lines = block.split("\n")
        text = [line for line in lines if not line.startswith(GIVES)]
        given = [line.removeprefix(GIVES) for line in lines[len(text) :]]
        assert text, f"{name} is a name without a string"
        assert given, f"{name} gives neither events nor nothing"
        nothing = len(given) == 1 and given[0].startswith(NOTHING)
        events = [] if nothing else [json.loads(event) for event in given]
        yield String(f"{file.stem}: {name}", "\n".join(text), events)


FILES: Final = sorted((Path(__file__).parent / "kafka_strings").glob("*.txt"))
ALL: Final = [string for file in FILES for string in strings(file)]

NOT_OF_LOGS: Final = {"quarantined", "source_status"}
"""Nor are snapshots, and what redrives tell of."""


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


@pytest.mark.parametrize("string", ALL, ids=lambda string: string.name)
def test_a_string_gives_its_events_and_no_others_also_in_json(string: String) -> None:
    expect(facts(f"{string.text}\n"), string)
    if not string.text.startswith("%"):  # librdkafka's own lines are known by their beginning
        expect(facts(in_json(string.text)), string)


def test_every_trigger_has_a_string_that_speaks() -> None:
    speaking = "\n".join(string.text for string in ALL if string.events).encode()
    assert [trigger for trigger in TRIGGERS if trigger not in speaking] == []
    assert MESSAGES.search(speaking)


def test_every_kind_of_event_that_logs_can_give_has_a_string() -> None:
    of_others = {kind for kind in KINDS if kind.endswith("_snapshot") or kind.startswith("redrive_")}
    given = {event["kind"] for string in ALL for event in string.events}
    assert given == set(KINDS) - of_others - NOT_OF_LOGS
