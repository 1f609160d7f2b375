"""Logs of real libraries in the layouts people use: each gives what has happened, and nothing else."""

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import pytest

from collector.contract.events import Event, Position
from collector.sources.log_memory import Memory
from collector.sources.log_scan import Scanner

CORPUS = Path(__file__).parents[1] / "data" / "corpus"
TRUTH = json.loads((CORPUS / "truth.json").read_text())
NAMES = ("kind", "client", "timeout")


def read(data: bytes) -> list[Event]:
    """Every event of a log that is complete."""
    memory, events = Memory(), list[Event]()
    while memory.offset < len(data):
        memory, found = Scanner().scan(memory, data[memory.offset :], final=True)
        events += [
            one.cause.event(
                source="log:x",
                position=Position(0, one.offset, one.ordinal),
                happened_at_ms=one.at_ms or 0,
                observed_at_ms=0,
                kafka_cluster="c",
            )
            for one in found
        ]
    return events


def counted(events: list[dict[str, object]]) -> Counter[tuple[object, ...]]:
    return Counter(tuple(event[name] for name in NAMES) for event in events)


@pytest.mark.parametrize("name", TRUTH)
def test_a_real_log_tells_what_has_happened(name: str) -> None:
    events = read((CORPUS / name).read_bytes())
    assert counted([{"kind": event.kind, **asdict(event)} for event in events]) == counted(
        TRUTH[name]["events"]
    )
    dated = not name.startswith(("logback", "kafka-python-default"))
    assert all(bool(event.happened_at_ms) == dated for event in events)


def test_every_log_has_its_truth_and_every_truth_a_log() -> None:
    assert {file.name for file in CORPUS.iterdir()} == {*TRUTH, "truth.json"}
    assert all(one["events"] for one in TRUTH.values())
