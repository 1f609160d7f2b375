"""A log file that is followed by its name, through its rotations.

A file that was renamed, or copied and cut (``copytruncate``), is read to its end before its
successor begins. A log that was rotated several times while nobody read it is read through all its rotations,
in the order in which they were last written; where the file that was left is gone, from the first that was
written after it. ``x.log.2``, ``x.log.2026-11-21`` and ``x-2026-11-21.log`` are rotations of ``x.log``, and
``x-1.log`` is another log. Those of a link are beside the file that it points to, and called after that; or
after the link, where that file is, too.
"""

import os
import re
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from collector.sources.source import SourceDownError

TAIL_BYTES: Final = 64
NOT_THERE = "the file does not exist yet; it will be read from its beginning when it appears"
GONE = "the file is gone; its successor will be read from its beginning when it appears"
QUIET_S: Final = 10
"""How long a renamed file is waited for whose successor is still empty: who writes may not know it yet."""
_CLOSED: Final = -1
_MOMENT_BEHIND: Final = re.compile(r"(?P<name>.+?)[.-]\d[\d.:T_-]*")
_DATE_INSIDE: Final = re.compile(
    r"(?P<stem>.+?)[.-](?=(?:[.:T_-]?\d){6})\d[\d.:T_-]*(?P<suffix>\.[^.]*[^.\d][^.]*)"
)

Written = tuple[int, int, Path]
"""When a rotation was last written, in ns since the epoch; its number; its path."""


class FileMissingError(SourceDownError):
    """There is no file of this name, not yet or not any more."""


def rotated_from(name: str) -> str:
    """The name of the file whose rotation is called so, both without their directory; "" for no such name."""
    if behind := _MOMENT_BEHIND.fullmatch(name):
        return behind["name"]
    inside = _DATE_INSIDE.fullmatch(name)
    return inside["stem"] + inside["suffix"] if inside else ""


@contextmanager
def readable(missing: str = NOT_THERE, close: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Turns errors of the file system into ``SourceDownError``; ``missing`` is the text for no such file.

    ``close`` is called at any other, such as a stale handle of NFS: the next read opens the file again.
    """
    try:
        yield
    except FileNotFoundError:
        raise FileMissingError(missing) from None
    except OSError as error:
        close()
        text = f"the file cannot be read ({error.strerror}); this process needs read access to it"
        raise SourceDownError(text) from None


class FollowedFile:
    """An open file, and whether its name has come to mean another one meanwhile."""

    once = False
    trouble = ""

    def __init__(self, path: Path) -> None:
        self.path = self._target = path
        self._descriptor = _CLOSED

    def open(self, inode: int | None, offset: int, tail: str, written_ns: int) -> tuple[int, bool]:
        """Open the file that was left at ``inode`` and ``offset``, by whatever name in its directory.

        Returns the inode, and whether it is another file than the one that was left: by number, by size, or
        because the bytes before ``offset`` have not that ``tail``, be it rewritten in place or new under an
        old number. One that was cut after it was copied is left for its copy; behind one that is gone, or
        with none left, comes the first rotation that was written after ``written_ns``.
        """
        if self._descriptor == _CLOSED:
            self._target = Path(os.path.realpath(self.path))
            renamed = (Path(entry.path) for entry in self._beside() if entry.inode() == inode)
            found = self._first_after(written_ns) if inode is None else next(renamed, self._target)
            self._descriptor = self._open(found)
            if inode is not None and not self._same(inode, offset, tail):
                self.close()  # first: where there is no file of the name, this one is not read in its place
                self._descriptor = self._open(self._target)
        another = inode is not None and not self._same(inode, offset, tail)
        is_cut = another and self._status().st_ino == inode
        if is_cut and self._open_copy(offset, tail, written_ns):
            another = False
        elif another and (found := self._first_after(written_ns)) != self._target:
            self._open_instead(found)
        return self._status().st_ino, another

    def _status(self) -> os.stat_result:
        with readable(close=self.close):
            return os.fstat(self._descriptor)

    def mark(self, offset: int) -> tuple[str, int]:
        """A checksum of the bytes before ``offset``, "" if there are none, and when the file was written."""
        with readable(close=self.close):
            return _tail(self._descriptor, offset), os.fstat(self._descriptor).st_mtime_ns

    def _same(self, inode: int | None, offset: int, tail: str) -> bool:
        found = self._status()
        ours = found.st_ino == inode and found.st_size >= offset
        return ours and (not tail or self.mark(offset)[0] == tail)

    def read(self, offset: int, size: int) -> bytes:
        """At most ``size`` bytes from ``offset``; fewer only at the end."""
        with readable(close=self.close):
            return os.pread(self._descriptor, size, offset)

    def ends(self, inode: int, offset: int, block: bytes) -> tuple[bool, int | None]:
        """Whether the file has a successor, and nothing comes after ``block``, read at ``offset``; which.

        That is the inode of the rotation that was written next; None if it is the file of this name. A
        successor is believed when something was written to it, or nothing to this file for ``QUIET_S``.
        Raises ``SourceDownError`` if there is neither a later rotation nor a file of the name.
        """
        named: os.stat_result | None = None
        with readable(), suppress(FileNotFoundError):
            named = self.path.stat()
        if (named and named.st_ino == inode) or self.read(offset, len(block) + 1) != block:
            return False, None
        written_ns = self._status().st_mtime_ns
        if named and named.st_size == 0 and time.time() - written_ns / 1e9 <= QUIET_S:
            return False, None
        later = [other for *other, _ in self._written() if tuple(other) > (written_ns, inode)]
        if not named and not later:
            raise FileMissingError(GONE)
        return True, min(later, default=(0, None))[1]

    def close(self) -> None:
        """Close the file if it is open."""
        if self._descriptor != _CLOSED:
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = _CLOSED

    def _open(self, path: Path) -> int:
        with readable():
            if path.is_dir():
                raise SourceDownError(
                    "this is a directory; name a file, or a pattern such as DIRECTORY/*.log"
                )
            return os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def _first_after(self, written_ns: int) -> Path:
        """The first rotation that was written after then and before the file of this name, else that file."""
        try:
            until_ns = self._target.stat().st_mtime_ns
        except OSError:
            return self._target
        between = [one for one in self._written() if written_ns < one[0] <= until_ns]
        return min(between)[2] if written_ns and between else self._target

    def _open_copy(self, offset: int, tail: str, written_ns: int) -> bool:
        """Open the newest rotation since then that holds what was read; whether there is one."""
        rotations = sorted((one for one in self._written() if one[0] >= written_ns), reverse=True)
        for _, _, path in rotations if tail else ():
            with suppress(OSError), path.open("rb", buffering=0) as copy:
                if os.fstat(copy.fileno()).st_size >= offset and _tail(copy.fileno(), offset) == tail:
                    self._open_instead(path)
                    return True
        return False

    def _open_instead(self, path: Path) -> None:
        descriptor = self._open(path)
        self.close()
        self._descriptor = descriptor

    def _written(self) -> list[Written]:
        names = {self._target.name} | ({self.path.name} & {rotated_from(self._target.name)})
        found = list[Written]()
        for rotation in (entry for entry in self._beside() if rotated_from(entry.name) in names):
            with suppress(OSError):
                status = rotation.stat()
                found.append((status.st_mtime_ns, status.st_ino, Path(rotation.path)))
        return found

    def _beside(self) -> list[os.DirEntry[str]]:
        """What is in the file's directory; nothing where we may not look."""
        try:
            with os.scandir(self._target.parent) as entries:
                return list(entries)
        except OSError:
            return []


def _tail(descriptor: int, offset: int) -> str:
    before = os.pread(descriptor, min(offset, TAIL_BYTES), max(offset - TAIL_BYTES, 0))
    return f"{zlib.crc32(before):08x}" if before else ""
