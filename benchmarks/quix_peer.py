"""Quix Streams counts the events: run by an interpreter with ``quix.lock``, prints seconds and totals.

python -m benchmarks.quix_peer state|sink SERVERS TOPIC RECORDS FILE

``state`` is how its users count: a stateful function keeps the totals of each key in its state store, with a
changelog in Kafka, and a sink puts what has changed into SQLite. ``sink`` leaves its state alone: the loop of
the other peers counts in the sink, and Quix Streams only reads and parses.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from quixstreams import Application, State
from quixstreams.dataframe import StreamingDataFrame
from quixstreams.sinks import BaseSink

from benchmarks.loop import COMMIT_EVERY, SERIES, Loop, closed, opened

PUT: Final = "INSERT OR REPLACE INTO series VALUES (?, ?, ?, ?, ?)"


def counted(event: Mapping[str, Any], state: State) -> list[list[Any]]:
    """The rows that an event changes, as they are now; none of a copy."""
    mark = state.get("mark")
    if mark is not None and event["position"] <= mark:
        return []
    state.set("mark", event["position"])
    kind, happened_ms = event["kind"], event["happened_at_ms"]
    rows = [_grown(state, ("events", event["source"], kind), 1, happened_ms)]
    for name, labels in SERIES[kind]:
        grows = event["records"] if name == "delivery_timeout_records" else 1
        key = (name, event["source"], *(event[label] for label in labels))
        rows.append(_grown(state, key, grows, happened_ms))
    return rows


def _grown(state: State, key: tuple[str, ...], value: int, happened_ms: int) -> list[Any]:
    name, labels = key[0], json.dumps(key[1:])
    total, first_ms, last_ms = state.get(name + labels) or (0, happened_ms, happened_ms)
    row = [total + value, min(first_ms, happened_ms), max(last_ms, happened_ms)]
    state.set(name + labels, row)
    return [name, labels, *row]


class Sink(BaseSink):  # type: ignore[misc]  # Quix Streams is not in our environment
    """Hands over what has come whenever Quix Streams commits; ends the application after ``records``."""

    def __init__(
        self, app: Application, commit: Callable[[list[tuple[Any, Any, Any]]], None], records: int
    ) -> None:
        super().__init__()
        self._app, self._commit, self._left = app, commit, records
        self._waiting: list[tuple[Any, Any, Any]] = []
        self.began_s = self.ended_s = 0.0

    def add(self, value: object, partition: int, offset: int, **_others: object) -> None:
        """One record, by the names of ``BaseSink``."""
        if not self.began_s:
            self.began_s = time.perf_counter()
        self._waiting.append((partition, offset, value))

    def flush(self) -> None:
        if not self._waiting:
            return
        self._commit(self._waiting)
        self._left -= len(self._waiting)
        self._waiting.clear()
        self.ended_s = time.perf_counter()
        if self._left <= 0:
            self._app.stop()


def main() -> None:
    """Count, and say what it came to."""
    how, servers, topic, records, file = sys.argv[1:]
    app = Application(
        broker_address=servers,
        consumer_group=f"bench-{Path(file).stem}",
        auto_offset_reset="earliest",
        commit_every=COMMIT_EVERY,
        commit_interval=1,
        loglevel="ERROR",
        state_dir=Path(file).with_suffix(".state"),
        consumer_extra_config={"fetch.min.bytes": 1_000_000, "queued.min.messages": 500_000},
    )
    run = _in_state if how == "state" else _in_sink
    seconds, totals = run(app, app.dataframe(app.topic(topic, value_deserializer="json")), int(records), file)
    print(json.dumps({"seconds": seconds, "totals": totals}))


def _in_state(
    app: Application, events: StreamingDataFrame, records: int, file: str
) -> tuple[float, dict[str, int]]:
    connection = opened(Path(file))

    def commit(waiting: list[tuple[Any, Any, Any]]) -> None:
        changed = {(row[0], row[1]): row for _, _, rows in waiting for row in rows}
        connection.execute("BEGIN")
        connection.executemany(PUT, list(changed.values()))
        connection.execute("COMMIT")

    rows = events.apply(counted, stateful=True)
    return _seconds(app, rows, Sink(app, commit, records)), closed(connection)


def _in_sink(
    app: Application, events: StreamingDataFrame, records: int, file: str
) -> tuple[float, dict[str, int]]:
    loop = Loop(Path(file), lambda value: value)  # Quix Streams has parsed it, with orjson

    def commit(waiting: list[tuple[Any, Any, Any]]) -> None:
        loop.add(waiting)
        loop.commit()

    return _seconds(app, events, Sink(app, commit, records)), loop.close()


def _seconds(app: Application, events: StreamingDataFrame, sink: Sink) -> float:
    events.sink(sink)
    app.run()
    return sink.ended_s - sink.began_s


if __name__ == "__main__":
    main()
