"""The log source: follows a file, and publishes what the scanner finds in it.

A file is read from its beginning the first time it is seen. Its position is (number of the file under this
name, offset of the entry, ordinal of the cause in it). Gzip files and standard input (``-``) are read once;
offsets are those of the text. A time more than a day ahead of our clock is not believed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from collector.contract.events import Event, Position, Quarantined
from collector.dialects.cause import Cause
from collector.positions import PositionsError
from collector.sources.log_block import Found
from collector.sources.log_memory import Memory
from collector.sources.log_once import STDIN, reader
from collector.sources.log_scan import Scanner
from collector.sources.source import Chunk, State

AHEAD_AT_MOST_MS: Final = 86_400_000
LOG_FILE_GONE: Final = "log_file_gone"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a source stands: which file of its name, what the scanner knows there, whether it is done.

    ``tail`` tells the bytes before this place.
    """

    inode: int | None = None
    epoch: int = 0
    memory: Memory = field(default_factory=Memory)
    done: bool = False
    tail: str = ""

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
        scanner: Scanner,
        worker: str,
        kafka_cluster: str,
        poll_interval_ms: int,
        clock: Callable[[], int],
    ) -> None:
        self.name = f"log:{path}"
        self.poll_interval_ms = poll_interval_ms
        self._file = reader(path)
        self._scanner = scanner
        self._kafka_cluster = kafka_cluster
        self._clock = clock
        place = Place() if saved is None else _restored(self.name, saved)
        self._place = _named(replace(place, done=place.done and path != STDIN), worker)

    def poll(self) -> Chunk | None:
        """The next block of the file, None at its end."""
        if self._place.done:
            return None
        inode, another = self._file.open(self._place.inode, self._place.memory.offset, self._place.tail)
        place = self._place.next_file(inode) if another else replace(self._place, inode=inode)
        block = self._file.read(place.memory.offset, self._scanner.max_line_bytes)
        memory, found = self._scanner.scan(place.memory, block)
        if memory.offset == place.memory.offset and inode == self._place.inode and not another:
            return self._at_end(replace(place, memory=memory), block)
        lost = self._lost() if another and inode != self._place.inode else ()
        tail = self._file.tail(memory.offset)
        return self._chunk(place.epoch, found, replace(place, memory=memory, tail=tail), lost)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _at_end(self, place: Place, block: bytes) -> Chunk | None:
        """Go on to the next file once this one has a successor and nothing more was written to it."""
        self._place = place
        if place.done or place.inode is None or not self._file.ends(place.inode, place.memory.offset, block):
            return None
        memory, found = self._scanner.scan(place.memory, block, final=True)
        if self._file.trouble:
            found = [*found, _broken_off(self._file.trouble, memory.offset)]
        successor = self._file.successor(place.inode)
        self._file.close()
        place = replace(place, memory=memory)
        return self._chunk(
            place.epoch, found, replace(place, done=True) if self._file.once else place.next_file(successor)
        )

    def _lost(self) -> tuple[Event, ...]:
        """That a file is no longer there: whatever it held beyond our position was not read."""
        if self._file.once:
            return ()
        gone = _broken_off(LOG_FILE_GONE, self._place.memory.offset)
        return (self._event(gone, self._place.epoch, self._clock()),)

    def _chunk(self, epoch: int, found: list[Found], place: Place, lost: tuple[Event, ...] = ()) -> Chunk:
        self._place = place
        now_ms = self._clock()
        events = tuple(self._event(one, epoch, now_ms) for one in found)
        return Chunk((*lost, *events), _PLACES.dump_python(place, mode="json"), more=True)

    def _event(self, found: Found, epoch: int, now_ms: int) -> Event:
        return found.cause.event(
            source=self.name,
            position=Position(epoch, found.offset, found.ordinal),
            happened_at_ms=believed(found.at_ms, now_ms),
            observed_at_ms=now_ms,
            kafka_cluster=self._kafka_cluster,
        )


def believed(at_ms: int | None, now_ms: int) -> int:
    """The time of an event by the one in its log: ours where there is none, or one far ahead."""
    return now_ms if at_ms is None or at_ms > now_ms + AHEAD_AT_MOST_MS else at_ms


def _broken_off(reason: str, offset: int) -> Found:
    event = partial(Quarantined, reason=reason, excerpt=f"after {offset} bytes")
    return Found(Cause(event, identity=(reason,)), offset, 0, None)


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
