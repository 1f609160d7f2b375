"""Patterns of log files: ``LogGlob`` starts a source for each file that matches.

A file that was followed under one name and now has another one has been rotated: its source reads it to the
end, and it is not started again, nor read by another source whose name it gets. Nor is a copy of one
(``copytruncate``), nor a link to a file that the pattern finds, too, and nor is a rotation that came and was
rotated on between two looks. A gzip file that appears later beside uncompressed files is one of those,
compressed after it was read.
"""

import glob
import os
import stat
import zlib
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from collector.sources.logs.files import Following
from collector.sources.logs.followed_file import rotated_from
from collector.sources.logs.readers import GZIP
from collector.sources.source import Chunk, SourceDownError

START_BYTES: Final = 256
ANY_DEVICE: Final = -1
MAX_AWAY: Final = 1_000
"""So many files are remembered of directories in which nothing is found any more; the oldest go first."""

directory_of: Final = os.path.dirname
NOTHING_MATCHES = "no file matches yet; each will be read from its beginning when it appears"


class Past(NamedTuple):
    """A file as an earlier look has found it; ``checksum`` is that of its first ``start_bytes``.

    ``source`` is the path whose source reads it: the one under which it was found first. ``device`` is not
    saved, since its number may change when the machine starts.
    """

    source: str
    device: int
    inode: int
    start_bytes: int = 0
    checksum: int = 0


class Look(NamedTuple):
    """A file as it is now."""

    device: int
    inode: int
    size: int
    written_ns: int
    start: bytes

    def past(self, source: str) -> Past:
        """What is remembered of it."""
        return Past(source, self.device, self.inode, len(self.start), zlib.crc32(self.start))

    def begins_as(self, past: Past) -> bool:
        """Whether its first bytes are those of that file."""
        found = self.start[: past.start_bytes]
        return len(found) == past.start_bytes and zlib.crc32(found) == past.checksum

    def is_still(self, past: Past) -> bool:
        """Whether it is that file: a new one may get the number of one that was deleted."""
        return self.inode == past.inode and self.begins_as(past)


class LogGlob:
    """Finds files; ``follow`` starts the source of one, ``follows`` says whether it has not ended yet.

    ``follow`` is told whether the file is ``x.log.1`` beside ``x.log``, which the pattern finds too, and gets
    what tells whether another source reads the file that has the name now.
    """

    kind = "log"

    def __init__(
        self,
        pattern: str,
        following: Following,
        follow: Callable[[Path, bool, Callable[[], bool]], None],
        follows: Callable[[Path], bool] = lambda _: True,
    ) -> None:
        self.name = following.source(pattern)
        self.poll_interval_ms = following.poll_interval_ms
        self._pattern = pattern
        self._follow, self._follows = follow, follows
        saved = following.saved(pattern) or {}
        self._known = set[str](saved.get("paths", ()))
        self._had_any = bool(self._known) or bool(saved.get("had_any"))
        starts, sources = saved.get("starts", {}), saved.get("sources", {})
        self._before = {
            path: Past(sources.get(path, path), ANY_DEVICE, inode, *starts.get(path, ()))
            for path, inode in saved.get("inodes", {}).items()
        }
        self._away = set[str](saved.get("away", ()))
        """Files of directories in which the last look has found nothing: a volume may only not be there."""
        self._by_number = by_number(self._before, self._away)
        self._looks: Mapping[str, Look] = {}
        self._followed: set[str] = set()

    def poll(self) -> Chunk | None:
        """Start what is new; a chunk only when something is."""
        paths = glob.glob(self._pattern, recursive=True)  # noqa: PTH207 - Path.glob takes no absolute pattern
        found = without_links({path: at for path in paths if (at := look(path, self._looks.get(path)))})
        self._followed = {path for path in self._followed if self._follows(Path(path))}
        if not found:
            was_away, self._away = self._away, set(self._before)
            if self._followed:
                return None if was_away == self._away else Chunk((), self._state())
            raise SourceDownError(NOTHING_MATCHES)
        directories = {directory_of(path) for path in found}
        returned = self._returned(found, directories)
        back = returned if self._looks else self._known
        away = {path: past for path, past in self._before.items() if directory_of(path) not in directories}
        away = dict(list(away.items())[-MAX_AWAY:])
        sources = {self._source_of(path, seen) for path, seen in found.items()} if back else set[str]()
        renamed = self._known & back & sources
        self._known &= found.keys() | self._followed | away.keys() | renamed
        begun = [path for path in sorted(found.keys() | renamed) if self._is_new(path, found)]
        for path in begun:
            once = path.rpartition(".")[2].isdecimal() and base_of(path) in found
            # one that raises is tried again, those before it are followed
            self._follow(Path(path), once, partial(self._is_taken, path))
            self._followed.add(path)
            self._known.add(path)
            self._had_any = True
        before = away | {
            path: seen.past(self._source_of(path, seen))
            for path, seen in found.items()
            if self._is_decided(path, seen)
        }
        moved, self._looks = self._away != away.keys() or self._before != before, found
        if moved:
            self._before, self._away = before, set(away)
            self._by_number = by_number(self._before, self._away)
        return Chunk((), self._state()) if begun or moved else None

    def close(self) -> None:
        """Do nothing: a pattern keeps nothing open."""

    def _state(self) -> dict[str, object]:
        return {
            "paths": sorted(self._known),
            "inodes": {path: past.inode for path, past in self._before.items()},
            "starts": {path: past[3:] for path, past in self._before.items()},
            "sources": {path: past.source for path, past in self._before.items() if past.source != path},
            "had_any": self._had_any,
            "away": sorted(self._away),
        }

    def _returned(self, found: Mapping[str, Look], directories: Collection[str]) -> set[str]:
        """What was away in directories that are back; forgets of it what is not there again.

        What is there only as a rotation is kept. A new file may have the number of one that is forgotten.
        """
        returned = {path for path in self._away if directory_of(path) in directories}
        if returned:
            names = found.keys() | {base_of(path) for path in found}
            self._before = {path: past for path, past in self._before.items() if path not in returned - names}
            self._by_number = by_number(self._before, self._away - returned)
        return returned

    def _is_new(self, path: str, found: Mapping[str, Look]) -> bool:
        if path in self._followed:
            return False
        if path in self._known:
            return True
        is_compressed = path.endswith(GZIP) and not self._pattern.endswith(GZIP) and self._had_any
        plain = path.removesuffix(GZIP)
        is_being_compressed = plain != path and plain in found and bool(base_of(plain))
        now, other, before = found[path], base_of(path), self._before.get(path)
        is_found = before and (other in self._known or now.is_still(before))
        if is_found or is_compressed or is_being_compressed:
            return False
        moved = self._past_of(now)
        if moved is not None and now.is_still(moved):
            return False
        return not (
            other in self._known and self._is_rotation(now, self._before.get(other), found.get(other))
        )

    def _past_of(self, now: Look) -> Past | None:
        """What the number of the file was at the last look."""
        known = self._by_number
        return known.get((now.device, now.inode)) or known.get((ANY_DEVICE, now.inode))

    def _source_of(self, path: str, now: Look) -> str:
        """The path whose source reads the file; what was empty cannot be known again."""
        past = self._past_of(now)
        return past.source if past is not None and past.start_bytes and now.is_still(past) else path

    def _is_taken(self, path: str) -> bool:
        now = look(path, None)
        return now is not None and self._source_of(path, now) in self._known - {path}

    def _is_decided(self, path: str, now: Look) -> bool:
        """Whether it is known what the file is; of a new one that is still empty it is not."""
        return bool(now.size) or path in self._known or self._past_of(now) is not None

    def _is_rotation(self, now: Look, past: Past | None, there: Look | None) -> bool:
        """Whether it is a copy of the other one, or was written between two files that had the other's name.

        What is called like a rotation and is still empty may become one. ``past`` is None where the last look
        has not found the other one, ``there`` where this one does not: it was renamed, and is the last.
        """
        if there is None or not now.size or (past and past.start_bytes and now.begins_as(past)):
            return True
        return (past is None or not there.is_still(past)) and now.written_ns <= there.written_ns


def by_number(before: Mapping[str, Past], away: Collection[str]) -> dict[tuple[int, int], Past]:
    """The files that are not away, by device and inode."""
    return {(past.device, past.inode): past for path, past in before.items() if path not in away}


def without_links(found: Mapping[str, Look]) -> dict[str, Look]:
    """The files but for links to one of them."""
    links = {path for path in found if os.path.islink(path)}  # noqa: PTH114 - there may be thousands
    files = {seen[:2] for path, seen in found.items() if path not in links}
    return {path: seen for path, seen in found.items() if path not in links or seen[:2] not in files}


def base_of(path: str) -> str:
    """The path of the file whose rotation is called so, "" for no such name."""
    directory, name = os.path.split(path)
    base = rotated_from(name)
    return os.path.join(directory, base) if base else ""  # noqa: PTH118 - there may be thousands


def look(path: str, before: Look | None) -> Look | None:
    """The file of this path, None without one; of one that is as before the first bytes are not read."""
    try:
        status = os.stat(path)  # noqa: PTH116 - there may be thousands
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    now = Look(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, b"")
    is_known = before is not None and len(before.start) == min(now.size, START_BYTES)
    if before is not None and is_known and before._replace(start=b"") == now:
        return before
    return now._replace(start=_start(path))


def _start(path: str) -> bytes:
    """The first bytes of the file; none where we may not read it."""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - as above
            return file.read(START_BYTES)
    except OSError:
        return b""
