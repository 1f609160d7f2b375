"""What a source is to the runtime that polls it, how it reads Kafka and fails, and when it publishes a whole
snapshot.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from kafka import KafkaConsumer
from kafka.errors import KafkaError, KafkaTimeoutError, NodeNotReadyError, RequestTimedOutError

from collector.settings import DEFAULT_NAME
from deadwatch.contract.event import field_values
from deadwatch.contract.events import Event, Position
from deadwatch.runtime.kafka import KafkaConnection, create_no_topics
from deadwatch.runtime.kafka_topics import TIMEOUT_MS

E = TypeVar("E", bound=Event)
T = TypeVar("T")

MAX_BYTES: Final = 850_000
"""How large the items of one event may be as JSON: just below what a broker takes by default."""

State = Mapping[str, Any]
"""What a source saves, as a JSON object."""

TIMEOUTS: Final = (KafkaTimeoutError, RequestTimedOutError, NodeNotReadyError)
"""NodeNotReadyError: no connection to a broker came about within the time of the call."""


class SourceDownError(Exception):
    """The source cannot be read now; the text says what to do and stays the same while the reason does."""


class SourceTimeoutError(SourceDownError):
    """A call has not come back in time; ``call`` names it. It counts towards ``task_timeout_ms``."""

    def __init__(self, call: str, text: str) -> None:
        super().__init__(text)
        self.call = call


@dataclass(frozen=True, slots=True)
class Chunk:
    """The result of one poll.

    ``state`` is saved once the events are committed. ``trouble`` is what the source could not read.
    With ``more`` the source is polled again at once, once it has ``ended`` not any more.
    """

    events: tuple[Event, ...]
    state: State
    trouble: str = ""
    more: bool = False
    ended: bool = False


class Source(Protocol):
    """Something to poll; only its own thread calls it. A poll that raises has changed nothing."""

    name: str
    """The ``source`` of its events; carries no secret."""
    kind: str
    """``log``, ``connect``, ``connect_tasks``, ``broker``, ``dead_letter_topics`` or ``receiver``."""
    poll_interval_ms: int
    """How long to wait after a poll without ``more``."""

    def poll(self) -> Chunk | None:
        """The next chunk, None if nothing is new. Raises ``SourceDownError``."""

    def close(self) -> None:
        """Close files and connections."""


def down(call: str, text: str, error: KafkaError) -> SourceDownError:
    """The error to raise for ``error``; a timeout names the ``call`` that timed out."""
    return SourceTimeoutError(call, text) if isinstance(error, TIMEOUTS) else SourceDownError(text)


class Consumer(KafkaConsumer):  # type: ignore[misc]  # kafka-python has no types
    """Reads committed records; it joins no group, commits nothing and creates no topic.

    When it cannot reach the cluster it ends its thread, which kafka-python 3.0.12 leaks.
    """

    def __init__(self, connection: KafkaConnection, **options: object) -> None:
        try:
            super().__init__(
                **connection.kafka_python(),
                group_id=None,
                enable_auto_commit=False,
                isolation_level="read_committed",
                bootstrap_timeout_ms=TIMEOUT_MS,
                request_timeout_ms=TIMEOUT_MS,
                **options,
            )
        except KafkaError:
            if hasattr(self, "_client"):
                self._client.close()
            raise
        create_no_topics(self)


@dataclass(frozen=True, slots=True)
class Publishing:
    """What a source is given: what it has ``saved``, by its name, and how to publish."""

    saved: Callable[[str], State | None]
    kafka_cluster: str
    heartbeat_interval_ms: int
    clock: Callable[[], int]
    collector: str = DEFAULT_NAME
    """Files of one path on several machines are told apart by the collector that reads them."""


class Snapshots:
    """Makes snapshots of a source's content, or of each of its parts, at every change and as a heartbeat.

    Positions are times in ms that only grow, also over restarts: they go on from what was ``saved``.
    """

    def __init__(self, source: str, publishing: Publishing) -> None:
        self.saved: State = publishing.saved(source) or {}
        self._source = source
        self._publishing = publishing
        self._position_ms = int(self.saved.get("position_ms", 0))
        self._latest: dict[str, tuple[int, object]] = {}

    def due(self, make: Callable[..., E], part: str = "", /, **content: object) -> tuple[E, ...]:
        """The snapshot that ``make`` makes of ``content``; none if nothing is due."""
        now_ms = self._publishing.clock()
        latest_ms, latest = self._latest.get(part, (None, None))
        heartbeat_ms = self._publishing.heartbeat_interval_ms
        if latest_ms is not None and latest == content and 0 <= now_ms - latest_ms < heartbeat_ms:
            return ()
        self._latest[part] = now_ms, content
        self._position_ms = max(now_ms, self._position_ms + 1)
        snapshot = make(
            source=self._source,
            position=Position(self._position_ms),
            happened_at_ms=now_ms,
            observed_at_ms=now_ms,
            kafka_cluster=self._publishing.kafka_cluster,
            **content,
        )
        return (snapshot,)

    @staticmethod
    def fitting(items: Sequence[T], most: int) -> tuple[T, ...]:
        """The first of the items, which are dataclasses, at most so many, that fit into one snapshot."""
        kept, size = list[T](), 0
        for item in items[:most]:
            text = json.dumps(field_values(item), ensure_ascii=False, separators=(",", ":"))
            size += len(text.encode(errors="replace")) + 1
            if size > MAX_BYTES:
                break
            kept.append(item)
        return tuple(kept)

    def forget(self, part: str = "") -> None:
        """Forget what was published of the content, or of a part of it: the next snapshot is due at once."""
        self._latest.pop(part, None)

    def chunk(self, events: tuple[Event, ...], troubles: Sequence[str] = (), **more: object) -> Chunk | None:
        """What a poll comes to, None if nothing is due or wrong; ``more`` is saved beside the position."""
        if not events and not troubles:
            return None
        return Chunk(events, {**self.state(), **more}, "; ".join(troubles))

    def state(self) -> dict[str, int]:
        """The state to save with the snapshot."""
        return {"position_ms": self._position_ms}
