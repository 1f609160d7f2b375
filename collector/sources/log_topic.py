"""The source of a Kafka topic of log lines, as shippers fill it: every partition, from its beginning.

No group is joined: where it stands is kept with what is known there, and saved once the events are committed.
The events of a partition are a source of their own, at (incarnation of the topic, offset of the record,
ordinal in it): a restart changes nothing. A topic that is made anew begins its next incarnation.

Records that went before they were read (retention, a topic deleted) are a gap: said, and counted once.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, Protocol

from pydantic import TypeAdapter, ValidationError

from collector.contract.events import Event, Position, Quarantined
from collector.contract.topics import LOG_TOPIC, log_partition
from collector.dialects.cause import Cause
from collector.dialects.connect import Worker
from collector.positions import PositionsError
from collector.sources.log_block import EXCERPT_BYTES, Found
from collector.sources.log_envelope import RawRecord, line_of
from collector.sources.log_json import text_of
from collector.sources.log_memory import Memory
from collector.sources.log_scan import Scanner
from collector.sources.logs import believed
from collector.sources.otlp_scan import Resource, scan
from collector.sources.source import Chunk, State

GAP: Final = "records_deleted_unread"
RECREATED: Final = "topic_recreated"
BEFORE_THE_RECORD: Final = -1
"""The ordinal of what was found before a record was read."""

LOOK_EVERY_MS: Final = 10_000
"""How often partitions are looked up: new ones are found, and a topic that was made anew."""


@dataclass(frozen=True, slots=True)
class Stand:
    """Where reading a partition goes on, and what is known there.

    ``topic_id`` tells the topic from another one of its name; ``epoch`` counts those.
    """

    topic_id: str
    epoch: int = 0
    offset: int = 0
    resources: Mapping[str, Resource] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Extent:
    """What a topic is now: its id, and the first and the next offset of each partition that has a leader."""

    topic_id: str
    bounds: Mapping[int, tuple[int, int]]


class TopicReader(Protocol):
    """Reads a topic; failures are ``SourceDownError``."""

    def look(self) -> Extent:
        """The topic as it is."""

    def seek(self, offsets: Mapping[int, int]) -> None:
        """Go on at these offsets, one for each partition to read."""

    def read(self) -> list[RawRecord] | None:
        """Some records, in the order of each partition; None when an offset is no longer there."""

    def close(self) -> None:
        """Let go of the connections."""


_STANDS = TypeAdapter(dict[int, Stand])


class LogTopicSource:
    """Follows one topic; ``worker`` names the Connect worker that writes it, "": learnt from the lines."""

    kind = "log"

    def __init__(
        self,
        topic: str,
        reader: TopicReader,
        *,
        saved: State | None,
        scanner: Scanner,
        worker: str,
        kafka_cluster: str,
        poll_interval_ms: int,
        clock: Callable[[], int],
    ) -> None:
        self.name = f"{LOG_TOPIC}{topic}"
        self.poll_interval_ms = poll_interval_ms
        self._topic = topic
        self._reader = reader
        self._json_only = scanner.format == "json"
        self._as_it_is = scanner.format not in {"", "json"}
        self._scanner = replace(scanner, format="") if self._json_only else scanner
        self._new = Resource(Memory(worker=Worker(name=worker, named_by_setting=bool(worker))))
        self._kafka_cluster = kafka_cluster
        self._clock = clock
        self._stands = {} if saved is None else _restored(self.name, saved)
        self._looked_ms: int | None = None

    def poll(self) -> Chunk | None:
        """The next records, None when there are none now. After a failure all is looked up anew."""
        now_ms, looked_ms, self._looked_ms = self._clock(), self._looked_ms, None
        stands, events = dict(self._stands), list[Event]()
        if looked_ms is None or not 0 <= now_ms - looked_ms < LOOK_EVERY_MS:
            looked_ms = now_ms
            events += self._align(stands, now_ms)
        records = self._reader.read()
        for record in records or ():
            events += self._read(stands, record, now_ms)
        self._looked_ms = None if records is None else looked_ms
        if not records and stands == self._stands:
            return None
        self._stands = stands
        return Chunk(tuple(events), _STANDS.dump_python(stands, mode="json"), more=bool(records))

    def close(self) -> None:
        """Let go of the connections."""
        self._reader.close()

    def _align(self, stands: dict[int, Stand], now_ms: int) -> Iterator[Event]:
        """Put stands and reader where the topic is to be read on; the gaps that were found.

        A gap's position depends on where reading stood, not on when it was found.
        """
        extent = self._reader.look()
        for number, (first, end) in extent.bounds.items():
            stood = stands.get(number, Stand(extent.topic_id, offset=first))
            stands[number], trouble = _placed(stood, extent.topic_id, first, end)
            if trouble is not None:
                epoch = stands[number].epoch
                offset = stood.offset if epoch == stood.epoch else 0
                yield self._event(trouble, number, Position(epoch, offset, BEFORE_THE_RECORD), None, now_ms)
        self._reader.seek({number: stands[number].offset for number in extent.bounds})

    def _read(self, stands: dict[int, Stand], raw: RawRecord, now_ms: int) -> Iterator[Event]:
        """What a record says; its partition stands behind it."""
        stand, line = stands[raw.partition], line_of(raw, json_only=self._json_only, as_it_is=self._as_it_is)
        resources, found = stand.resources, list[Found]()
        if line.record is not None:
            resources, found = scan(resources, line.record, now_ms, scanner=self._scanner, new=self._new)
        stands[raw.partition] = replace(stand, offset=raw.offset + 1, resources=resources)
        causes = [(one.cause, one.at_ms) for one in found]
        if line.trouble:
            excerpt = text_of((raw.value or b"")[:EXCERPT_BYTES])
            causes.append((_trouble(line.trouble, excerpt), raw.at_ms))
        for ordinal, (cause, at_ms) in enumerate(causes):
            position = Position(stand.epoch, raw.offset, ordinal)
            yield self._event(cause, raw.partition, position, at_ms, now_ms)

    def _event(
        self, cause: Cause, partition: int, position: Position, at_ms: int | None, now_ms: int
    ) -> Event:
        return cause.event(
            source=log_partition(self._topic, partition),
            position=position,
            happened_at_ms=believed(at_ms, now_ms),
            observed_at_ms=now_ms,
            kafka_cluster=self._kafka_cluster,
        )


def _placed(stand: Stand, topic_id: str, first: int, end: int) -> tuple[Stand, Cause | None]:
    """Where to go on in a partition that holds ``[first, end)``, and what was missed on the way."""
    if stand.topic_id != topic_id or stand.offset > end:
        begun = Stand(topic_id, stand.epoch + 1, first)
        return begun, _trouble(RECREATED, f"read up to offset {stand.offset}; begun anew at {first}")
    if stand.offset < first:
        gone = f"{first - stand.offset} offsets from {stand.offset} were gone before they were read"
        return replace(stand, offset=first), _trouble(GAP, gone)
    return stand, None


def _trouble(reason: str, excerpt: str) -> Cause:
    return Cause(partial(Quarantined, reason=reason, excerpt=excerpt), identity=(reason,))


def _restored(name: str, saved: State) -> dict[int, Stand]:
    try:
        return _STANDS.validate_python(saved)
    except ValidationError:
        raise PositionsError(
            f"the position of {name} is not one; restore the positions, or give the collector another name"
        ) from None
