"""Log files as sources: ``LogSource`` follows one file.

A file is read from its beginning the first time it is seen. A position is (number of the file under this
name, offset of the entry, ordinal of the cause in it). Gzip files and standard input (``-``) are read
once; offsets are those of the unpacked text. A time more than a day ahead of our clock is replaced by
ours.

A file of a pattern that is gone has ended a minute after it was read to its end; one that is named by itself
is waited for.

A file that was left and is found under no name is a gap: it is published and counted once, unless it had been
read to its end.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Final, TypeVar

from pydantic import AliasChoices, Field, TypeAdapter, ValidationError

from collector.positions import PositionsError
from collector.settings import own_source
from collector.sources.logs.dialects.cause import Cause, unread
from collector.sources.logs.followed_file import FileMissingError, readable
from collector.sources.logs.gone import EPOCHS, name_of, next_place
from collector.sources.logs.readers import STDIN, open_reader
from collector.sources.logs.scan import Found, Memory, Scanner
from collector.sources.source import Chunk, Publishing, State
from deadwatch.contract.events import Event, Position
from deadwatch.contract.events.self_report import LOG_FILE

MAX_AHEAD_MS: Final = 86_400_000
LOG_FILE_GONE: Final = "log_file_gone"
GONE_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class Place:
    """How far a source has read: which file of its name, the scanner's memory there, whether it is done.

    ``tail`` is a checksum of the bytes before this place, ``written_ns`` is when the file was last written by
    then, 0 for not known. ``gone_ms`` is when the file was found gone, 0: it is there; ``unread`` says that
    it may not have been read to its end by then. Earlier versions saved only that it was gone, as ``whole``.
    """

    inode: int | None = None
    epoch: int = 0
    memory: Memory = field(default_factory=Memory)
    done: bool = False
    tail: str = ""
    gone_ms: Annotated[int, Field(validation_alias=AliasChoices("gone_ms", "whole"))] = 0
    unread: bool = False
    written_ns: int = 0

    def next_file(self, inode: int | None) -> "Place":
        """The beginning of the next file of the name."""
        return Place(inode, self.epoch + 1, self.memory.next_file(), written_ns=self.written_ns)


_PLACES = TypeAdapter(Place)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Following:
    """What a source of a log is given; ``worker`` names the Connect worker that writes it, "" to learn it."""

    publishing: Publishing
    poll_interval_ms: int
    scanner: Scanner
    worker: str = ""

    def source(self, path: str | Path) -> str:
        """The name of the source that reads this file, or these files."""
        return own_source(f"{LOG_FILE}{name_of(path)}", self.publishing.collector)

    def saved(self, path: str | Path) -> State | None:
        """What this source has saved; earlier versions left the collector out of its name."""
        source, saved = self.source(path), self.publishing.saved
        return saved(source) or next_place(saved(EPOCHS), source) or saved(f"{LOG_FILE}{path}")

    def restored(self, places: TypeAdapter[T], name: str, saved: State | None, new: T) -> T:
        """What the source of this name has ``saved``, ``new`` if nothing. Raises ``PositionsError``."""
        try:
            return new if saved is None else places.validate_python(saved)
        except ValidationError:
            raise PositionsError(
                f"the position of {name} is not one; restore the positions, or give the collector another"
                " name"
            ) from None

    def event(self, cause: Cause, source: str, position: Position, at_ms: int | None) -> Event:
        """The event of a cause; its time is ours if the log has none, or one far ahead."""
        now_ms = self.publishing.clock()
        return cause.event(
            source=source,
            position=position,
            happened_at_ms=now_ms if at_ms is None or at_ms > now_ms + MAX_AHEAD_MS else at_ms,
            observed_at_ms=now_ms,
            kafka_cluster=self.publishing.kafka_cluster,
        )


class LogSource:
    """Follows one log file. ``of_pattern``: it ends when the file is gone for ``GONE_MS``.

    ``once``: it is a rotation that is read to its end and no further, as ``x.log.1`` beside ``x.log``, whose
    source reads what gets this name next. ``taken``: another source reads the file that has the name now.
    """

    kind = "log"

    def __init__(
        self,
        path: Path,
        following: Following,
        *,
        of_pattern: bool = False,
        once: bool = False,
        taken: Callable[[], bool] = lambda: False,
    ) -> None:
        self.name = following.source(path)
        self.poll_interval_ms = following.poll_interval_ms
        self._file = open_reader(path)
        self._scanner = following.scanner
        self._following = following
        place = following.restored(_PLACES, self.name, following.saved(path), Place())
        self._place = _named(replace(place, done=place.done and path != STDIN), following.worker)
        self._of_pattern = of_pattern
        self._path, self._once, self._taken = path, once, taken
        self._gone_since_ms: int | None = None
        self._rest = b""
        """What stands behind the last whole entry."""
        self._at_its_end = False
        """Whether the last poll has found nothing more."""

    def poll(self) -> Chunk | None:
        """The next block of the file, None at its end."""
        if self._place.done:
            return self._done()
        try:
            chunk = self._next()
        except FileMissingError:
            now_ms = self._following.publishing.clock()
            since_ms = self._gone_since_ms = self._gone_since_ms or now_ms
            if not self._of_pattern or 0 <= now_ms - since_ms < GONE_MS:
                raise
            return self._end()
        self._gone_since_ms = None
        return chunk

    def _next(self) -> Chunk | None:
        before = self._place
        inode, another = self._file.open(before.inode, before.memory.offset, before.tail, before.written_ns)
        if another and self._once:
            self._file.close()
            return self._chunk(before.epoch, [], replace(before, done=True))
        if (another or before.inode is None) and self._taken():
            self._file.close()
            return None
        here = replace(before, inode=inode, gone_ms=0)
        place = here.next_file(inode) if another else here
        block = self._file.read(place.memory.offset, self._scanner.max_line_bytes)
        memory, found = self._scanner.scan(place.memory, block)
        is_same = inode == before.inode and not another and not before.gone_ms
        if is_same and memory.offset == place.memory.offset:
            return self._at_end(replace(place, memory=memory), inode, block)
        was_read = (before.gone_ms and not before.unread) or (self._at_its_end and inode == before.inode)
        is_lost = another and not was_read and not self._file.once
        lost = (_broken_off(LOG_FILE_GONE, before.memory.offset),) if is_lost else ()
        return self._chunk(place.epoch, found, self._marked(place, memory), lost)

    def close(self) -> None:
        """Close the file if it is open."""
        self._file.close()

    def _at_end(self, place: Place, inode: int, block: bytes) -> Chunk | None:
        """Continue with the next file once this one has a successor and nothing more was written to it."""
        self._place, self._rest, self._at_its_end = place, block, True
        is_over, successor = self._file.ends(inode, place.memory.offset, block)
        if not is_over:
            return None
        memory, found = self._scanner.scan(place.memory, block, final=True)
        if self._file.trouble:
            found = [*found, _broken_off(self._file.trouble, memory.offset)]
        place = self._marked(place, memory)
        self._file.close()
        is_last = self._once or self._file.once
        after = replace(place, done=True) if is_last else place.next_file(successor)
        return self._chunk(place.epoch, found, after)

    def _done(self) -> Chunk | None:
        """Whether the file of this place, which is not read any further, has gone or has come back."""
        with readable():
            is_gone = self._of_pattern and not self._path.exists()
        gone_ms = self._following.publishing.clock() if is_gone else 0
        if gone_ms == self._place.gone_ms:
            return None
        self._place = replace(self._place, gone_ms=gone_ms)
        return Chunk((), self._saved(), ended=is_gone)

    def _end(self) -> Chunk:
        """The last entry of a file that is gone; its place is kept for long, so it is made small."""
        memory, found = self._scanner.scan(self._place.memory, self._rest, final=True)
        memory = replace(memory, entry=None, others={}, recent={})
        self._file.close()
        now_ms = self._following.publishing.clock()
        after = replace(self._place, memory=memory, gone_ms=now_ms, unread=not self._at_its_end)
        chunk = self._chunk(after.epoch, found, after)
        return replace(chunk, more=False, ended=True)

    def _marked(self, place: Place, memory: Memory) -> Place:
        tail, written_ns = self._file.mark(memory.offset)
        return replace(place, memory=memory, tail=tail, written_ns=written_ns)

    def _chunk(self, epoch: int, found: list[Found], place: Place, lost: tuple[Found, ...] = ()) -> Chunk:
        """``lost`` says that the file before is gone: what it contained beyond our position was not read."""
        of_epochs = (*((cause, self._place.epoch) for cause in lost), *((cause, epoch) for cause in found))
        self._place, self._rest, self._at_its_end = place, b"", False
        return Chunk(tuple(self._event(*one) for one in of_epochs), self._saved(), more=True)

    def _saved(self) -> State:
        saved: State = _PLACES.dump_python(self._place, mode="json")
        return saved

    def _event(self, found: Found, epoch: int) -> Event:
        position = Position(epoch, found.offset, found.ordinal)
        return self._following.event(found.cause, self.name, position, found.at_ms)


def _broken_off(reason: str, offset: int) -> Found:
    return Found(unread(reason, f"after {offset} bytes"), offset, 0, None)


def _named(place: Place, worker: str) -> Place:
    known = place.memory.worker
    name = worker or ("" if known.named_by_setting else known.name)
    named = replace(known, name=name, named_by_setting=bool(worker))
    return replace(place, memory=replace(place.memory, worker=named))
