"""What goes over the wire."""

import dataclasses
import json
from typing import Any

from deadwatch.contract import events
from deadwatch.contract.events import Instance, Position, WorkerSnapshot, encode

ORIGIN: dict[str, Any] = {
    "source": "connect:http://c",
    "position": Position(5),
    "happened_at_ms": 5,
    "observed_at_ms": 6,
    "kafka_cluster": "prod",
}
SNAPSHOT = WorkerSnapshot(
    **ORIGIN,
    worker="w:8083",
    threads_known=True,
    instances=(Instance(connector="pipe", task="0", state="RUNNING", abandoned=1),),
)


def test_an_event_is_one_flat_json_object_keyed_by_source() -> None:
    key, value = encode(SNAPSHOT)
    assert key == b"connect:http://c"
    assert json.loads(value) == {
        "v": 1,
        "kind": "worker_snapshot",
        "source": "connect:http://c",
        "position": [5, 0, 0],
        "happened_at_ms": 5,
        "observed_at_ms": 6,
        "kafka_cluster": "prod",
        "worker": "w:8083",
        "threads_known": True,
        "instances": [{"connector": "pipe", "task": "0", "state": "RUNNING", "abandoned": 1, "trace": ""}],
    }


def test_half_a_surrogate_pair_is_replaced() -> None:
    event = dataclasses.replace(SNAPSHOT, source="connect:\ud800", worker="w\udfff")
    key, value = encode(event)
    assert (key, json.loads(value)["worker"]) == (b"connect:?", "w?")


def test_texts_are_cut() -> None:
    event = events.Quarantined(**ORIGIN, reason="r", excerpt="x" * 5_000)
    assert len(json.loads(encode(event)[1])["excerpt"]) == events.MAX_TEXT_CHARS


def test_one_name_has_one_type_in_all_kinds() -> None:
    """Spark reads all kinds with one schema."""
    fields = [field for kind in events.KINDS.values() for field in dataclasses.fields(kind)]
    types = {field.name: field.type for field in fields}
    assert [field.name for field in fields if types[field.name] != field.type] == []
