"""Quix Streams counts the events: run by an interpreter with ``quix.lock``, prints seconds and totals.

python -m benchmarks.quix_peer SERVERS TOPIC RECORDS FILE
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from quixstreams import Application
from quixstreams.sinks import BaseSink

from benchmarks.loop import COMMIT_EVERY, Loop


class Counter(BaseSink):  # type: ignore[misc]  # Quix Streams is not in our environment
    """Counts what has come whenever Quix Streams commits; ends the application after ``records``."""

    def __init__(self, app: Application, loop: Loop, records: int) -> None:
        super().__init__()
        self._app, self._loop, self._left = app, loop, records
        self._waiting: list[tuple[Any, Any, Any]] = []
        self.began_s = self.ended_s = 0.0

    def add(self, value: object, partition: int, offset: int, **_others: object) -> None:
        """One record, by the names of ``BaseSink``."""
        if not self.began_s:
            self.began_s = time.perf_counter()
        self._waiting.append((partition, offset, value))

    def flush(self) -> None:
        """One transaction."""
        if not self._waiting:
            return
        self._left -= self._loop.add(self._waiting)
        self._waiting.clear()
        self._loop.commit()
        self.ended_s = time.perf_counter()
        if self._left <= 0:
            self._app.stop()


def main() -> None:
    """Count, and say what it came to."""
    servers, topic, records, file = sys.argv[1:]
    app = Application(
        broker_address=servers,
        consumer_group=f"bench-{Path(file).stem}",
        auto_offset_reset="earliest",
        commit_every=COMMIT_EVERY,
        commit_interval=1,
        loglevel="ERROR",
        consumer_extra_config={"fetch.min.bytes": 1_000_000, "queued.min.messages": 500_000},
    )
    loop = Loop(Path(file), lambda value: value)  # Quix Streams has parsed it, with orjson
    counter = Counter(app, loop, int(records))
    app.dataframe(app.topic(topic, value_deserializer="json")).sink(counter)
    app.run()
    print(json.dumps({"seconds": counter.ended_s - counter.began_s, "totals": loop.close()}))


if __name__ == "__main__":
    main()
