"""Logs of real libraries in the layouts people use: each gives what has happened, and nothing else."""

import json
from collections import Counter
from dataclasses import asdict

import pytest

from tests.paths import DATA
from tests.unit.collector.sources.logs.scanning import read

CORPUS = DATA / "corpus"
TRUTH = json.loads((CORPUS / "truth.json").read_text())
NAMES = ("kind", "client", "timeout")


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
