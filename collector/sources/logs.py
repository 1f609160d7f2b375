"""The log source: follows a file, and publishes what the scanner finds in it.

A file is read from its beginning the first time it is seen. Its position is (number of the file under this
name, offset of the entry, ordinal of the cause in it).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from collector.contract.events import Event, Position
from collector.positions import PositionsError
from collector.sources.log_file import FollowedFile
from collector.sources.log_memory import Memory
from collector.sources.log_scan import Found, Scanner
from collector.sources.source import Chunk, State


@dataclass(frozen=True, slots=True)
class Place:
    """Where a source stands: which file of its name, and what the scanner knows there."""

    inode: int | None = None
    epoch: int = 0
    memory: Memory = field(default_factory=Memory)

    def next_file(self, inode: int | None) -> "Place":
        """The beginning of the next file of the name."""
        return Place(inode, self.epoch + 1, self.memory.next_file())


_PLACES = TypeAdapter(Place)


class LogSource:
    """Follows one file; ``worker`` names the Connect worker that writes it, "" to learn it from the log."""

    kind = "log"

    def __init__(
        self,
        path: Path,
        *,
        saved: State | None,
        zone: tzinfo,
        worker: str,
        kafka_cluster: str,
        poll_interval_ms: int,
        clock: Callable[[], int],
    ) -> None:
        self.name = f"log:{path}"
        self.poll_interval_ms = poll_interval_ms
        self._file = FollowedFile(path)
        self._scanner = Scanner(zone)
        self._kafka_cluster = kafka_cluster
        self._clock = clock
        self._place = _named(Place() if saved is None else _restored(self.name, saved), worker)

    def poll(self) -> Chunk | None:
        """The next block of the file, None at its end."""
        inode, another = self._file.open(self._place.inode, self._place.memory.offset)
        place = self._place.next_file(inode) if another else replace(self._place, inode=inode)
        block = self._file.read(place.memory.offset, self._scanner.max_line_bytes)
        memory, found = self._scanner.scan(place.memory, block)
        if memory.offset == place.memory.offset and not another:
            return self._at_end(replace(place, memory=memory), block)
        return self._chunk(place.epoch, found, replace(place, memory=memory))

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _at_end(self, place: Place, block: bytes) -> Chunk | None:
        """Go on to the next file once this one has a successor and nothing more was written to it."""
        self._place = place
        if place.inode is None or not self._file.replaced(place.inode):
            return None
        if self._file.read(place.memory.offset, len(block) + 1) != block:
            return None
        memory, found = self._scanner.scan(place.memory, block, final=True)
        self._file.close()
        return self._chunk(place.epoch, found, replace(place, memory=memory).next_file(None))

    def _chunk(self, epoch: int, found: list[Found], place: Place) -> Chunk:
        self._place = place
        now_ms = self._clock()
        events = tuple(self._event(one, epoch, now_ms) for one in found)
        return Chunk(events, _PLACES.dump_python(place, mode="json"), more=True)

    def _event(self, found: Found, epoch: int, now_ms: int) -> Event:
        return found.cause.event(
            source=self.name,
            position=Position(epoch, found.offset, found.ordinal),
            happened_at_ms=now_ms if found.at_ms is None else found.at_ms,
            observed_at_ms=now_ms,
            kafka_cluster=self._kafka_cluster,
        )


def _restored(name: str, saved: State) -> Place:
    try:
        return _PLACES.validate_python(saved)
    except ValidationError:
        raise PositionsError(
            f"the position of {name} is not one; restore the positions, or give the collector another name"
        ) from None


def _named(place: Place, worker: str) -> Place:
    known = place.memory.worker
    name = worker or ("" if known.named_by_setting else known.name)
    named = replace(known, name=name, named_by_setting=bool(worker))
    return replace(place, memory=replace(place.memory, worker=named))
