"""The publisher: it alone publishes events, and it alone saves positions, after the commit and never before.

Between the sources and it there is one queue, and a limit for each source in it. A source that has reached
its limit waits; it delays no other source.

Everything is published in order: in one transaction, or in several if that is too much for one or a broker
refuses one of the records.
What cannot be sent is kept and retried, with backoff (KIP-580). A transaction whose outcome is unknown is
sent again: its events carry their positions, and readers drop what they have counted.

A record that is refused for what it is would be refused for ever: it is found by halving, and skipped. Its
event is replaced by one that reports this, and the event itself becomes a dead letter. What a source could
not read becomes a dead letter beside its event.
"""

import logging
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Final

from kafka.errors import KafkaError

from collector.positions import Positions, PositionsError
from collector.publish.dead_letters import DeadLetter, DeadLetterWriter
from collector.publish.producer import FencedError, KafkaEventProducer, Record, RecordRefusedError, Retries
from collector.sources.source import State
from collector.telemetry import SILENT, Telemetry
from deadwatch.contract.events import Event, Quarantined, encode
from deadwatch.contract.quarantine import Context
from deadwatch.contract.topics import LOG_TOPIC
from deadwatch.runtime.health import unheard
from deadwatch.runtime.logs import Scope, log_context

log = logging.getLogger(__name__)

NAME: Final = "publisher"
"""Its name in log lines, and among abandoned tasks (KIP-611)."""

MAX_EVENTS: Final = 5_000
"""A transaction takes no further chunk once it has so many events."""

MOST_EVENTS: Final = 10_000
"""Of one transaction: it has to end within ``delivery_timeout_ms``, however large a chunk is."""

CHUNKS_PER_SOURCE: Final = 4

MAX_EVENT_BYTES: Final = 900_000
"""Just below what a broker takes by default; a larger event is not tried."""

EVENT_TOO_LARGE: Final = "event_too_large"
EVENT_REFUSED: Final = "event_refused"
EXCERPT_BYTES: Final = 200


@dataclass(frozen=True, slots=True)
class QueuedChunk:
    """Events, and the states to save, None to delete, once they are committed; then ``sent`` is called."""

    events: tuple[Event, ...]
    states: Mapping[str, State | None]
    sent: Callable[[], None] = field(compare=False)


ChunkQueue = queue.SimpleQueue[QueuedChunk]


class BoundedChannel:
    """The access of one source to the queue."""

    def __init__(self, chunks: ChunkQueue) -> None:
        self._chunks = chunks
        self._room = threading.Semaphore(CHUNKS_PER_SOURCE)

    def offer(
        self,
        events: tuple[Event, ...],
        states: Mapping[str, State | None],
        stop: threading.Event | None = None,
    ) -> bool:
        """Whether the queue took the chunk. With ``stop``, wait for room until that is set."""
        while not self._room.acquire(blocking=stop is not None, timeout=None if stop is None else 0.1):
            if stop is None or stop.is_set():
                return False
        self._chunks.put(QueuedChunk(events, states, self._room.release))
        return True


_WAKE_UP: Final = QueuedChunk((), {}, lambda: None)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """``record`` is None once nothing can be published in the place of the event."""

    event: Event
    record: Record | None
    dead_letter: DeadLetter | None = None


def outgoing(event: Event, topic: str) -> Outgoing:
    """An event as a record for ``topic``, with its dead letter if it needs one."""
    key, value = encode(event)
    if len(value) > MAX_EVENT_BYTES:
        why = f"it has {len(value)} bytes"
        return passed_over(Outgoing(event, (key, value)), topic, why, EVENT_TOO_LARGE)
    dead_letter = _unread(event) if isinstance(event, Quarantined) else None
    return Outgoing(event, (key, value), dead_letter)


def passed_over(sent: Outgoing, topic: str, why: str, reason: str = EVENT_REFUSED) -> Outgoing:
    """What replaces an event that no broker takes: that it was skipped; nothing if that is refused too."""
    event, (key, value) = sent.event, sent.record or (b"", b"")
    log.error("An event of %s is passed over: %s", event.source, why)
    if isinstance(event, Quarantined):
        return replace(sent, record=None)
    common = {field.name: getattr(event, field.name) for field in fields(Event)}
    instead = Quarantined(**common, reason=reason, excerpt=value[:EXCERPT_BYTES].decode(errors="replace"))
    dead_letter = DeadLetter(Context(topic=topic, delivery_count=1, message=why), key, value)
    return Outgoing(instead, encode(instead), dead_letter)


def _unread(event: Quarantined) -> DeadLetter:
    """The dead letter of input that a source skipped, with the place that the source gives it."""
    topic, partition = event.source, event.position.epoch
    if event.source.startswith(LOG_TOPIC):
        topic, _, number = event.source.removeprefix(LOG_TOPIC).rpartition("/")
        partition = int(number)
    offset = event.position.offset
    context = Context(topic=topic, partition=partition, offset=offset, delivery_count=1, message=event.reason)
    return DeadLetter(context, event.source.encode(), event.excerpt.encode(errors="replace"))


@dataclass(eq=False, repr=False)
class Delivery:
    """Used by one thread; ``topic`` and ``kafka`` are named in messages."""

    connect: Callable[[], KafkaEventProducer]
    topic: str
    kafka: str
    retries: Retries
    telemetry: Telemetry = SILENT
    _producer: KafkaEventProducer | None = field(default=None, init=False)
    _trouble: str = field(default="", init=False)

    def send(self, events: Sequence[Event]) -> list[Outgoing] | None:
        """What was committed for each event; None when stopped before all was committed."""
        parts = [events[start : start + MOST_EVENTS] for start in range(0, len(events), MOST_EVENTS)]
        waiting = [[outgoing(event, self.topic) for event in part] for part in reversed(parts)]
        done, failures = list[Outgoing](), 0
        while waiting:
            part = waiting.pop()
            try:
                self._transact(part)
            except RecordRefusedError as error:
                self.close()
                middle = len(part) // 2
                waiting += (
                    [part[middle:], part[:middle]]
                    if middle
                    else [[passed_over(part[0], self.topic, str(error.args[0]))]]
                )
            except KafkaError as error:
                self.close()
                self._note(str(error))
                waiting.append(part)
                failures += 1
                if self.retries.stopping.wait(self.retries.delay_s(failures)):
                    return None
            else:
                done += part
                failures = 0
        return done

    def close(self) -> None:
        """Close the connection if it is open."""
        if self._producer is not None:
            self._producer.close()
            self._producer = None

    def _transact(self, part: Sequence[Outgoing]) -> None:
        records = [sent.record for sent in part if sent.record is not None]
        if not records:
            return
        with self.telemetry.publishing(self.topic, len(records)):
            if self._producer is None:
                self._producer = self.connect()
            self._producer.transact(records)
        self._note("")

    def _note(self, trouble: str) -> None:
        """Log trouble, or its end, once at each change."""
        if trouble and not self._trouble:
            log.error("Cannot publish to Kafka at %s (%s); nothing is lost, retrying", self.kafka, trouble)
        if self._trouble and not trouble:
            log.info("Publishing to Kafka at %s again", self.kafka)
        self._trouble = trouble


@dataclass(eq=False, repr=False)
class Publisher:
    """Publishes chunks until it is stopped and has no more; ``failure`` is why it ended before.

    ``stopping`` is the same event that ``delivery`` and ``dead_letters`` wait on.
    """

    chunks: ChunkQueue
    positions: Positions
    delivery: Delivery
    dead_letters: DeadLetterWriter
    stopping: threading.Event
    published: Callable[[], None] = unheard
    failure: str = field(default="", init=False)
    ended: threading.Event = field(default_factory=threading.Event, init=False)

    def start(self) -> threading.Thread:
        """Run in a thread of its own."""
        thread = threading.Thread(target=self.run, name=NAME, daemon=True)
        thread.start()
        return thread

    def stop(self) -> None:
        """Publish what is in the queue, then end."""
        self.stopping.set()
        self.chunks.put(_WAKE_UP)

    @log_context(NAME, Scope.TASK, 1)
    def run(self) -> None:
        """Publish until stopped, fenced, or unable to save."""
        try:
            while (chunks := self._gather()) and self._publish(chunks):
                pass
        except FencedError:
            self.failure = "another collector with the same name has taken over; give each its own name"
        except PositionsError as error:
            self.failure = str(error)
        except Exception as error:  # a process loop: nobody may wait for a publisher that is gone
            log.exception("Publishing failed")
            self.failure = f"publishing failed: {error!r}"
        finally:
            self.delivery.close()
            self.dead_letters.close()
            self.ended.set()

    def _gather(self) -> list[QueuedChunk]:
        """The chunks in the queue, waiting for a first one; none once stopped."""
        gathered, events = list[QueuedChunk](), 0
        with suppress(queue.Empty):
            while events < MAX_EVENTS:
                gathered.append(self.chunks.get(block=not gathered and not self.stopping.is_set()))
                events += len(gathered[-1].events)
        return gathered

    def _publish(self, chunks: list[QueuedChunk]) -> bool:
        """Whether the chunks are published; they are not only if stopped while Kafka cannot be reached."""
        events = [event for chunk in chunks for event in chunk.events]
        done = self.delivery.send(events)
        if done is None:
            log.warning("%d events are not published; they are read again at the next start", len(events))
            return False
        self.dead_letters.write([sent.dead_letter for sent in done if sent.dead_letter is not None])
        self.positions.save({source: state for chunk in chunks for source, state in chunk.states.items()})
        if events:
            self.published()
        for chunk in chunks:
            chunk.sent()
        return True
