"""A log file by its name: what was renamed is read to its end before its successor begins.

A log that was rotated several times while nobody read it is read through all its rotations, in the order in
which they were last written: ``x.log.2``, ``x.log.2026-11-21``, ``x-2026-11-21.log`` are those of ``x.log``.
"""

import os
import re
import zlib
from pathlib import Path
from typing import Final

from collector.sources.source import SourceDownError

TAIL_BYTES: Final = 64
NOT_THERE = "the file does not exist yet; it will be read from its beginning when it appears"
GONE = "the file is gone; its successor will be read from its beginning when it appears"


class FollowedFile:
    """An open file, and whether its name has come to mean another one meanwhile."""

    once = False
    trouble = ""

    def __init__(self, path: Path) -> None:
        self.path = path
        stem, suffix, moment = re.escape(path.stem), re.escape(path.suffix), r"[.-]\d[\d.:T_-]*"
        self._rotation = re.compile(rf"{stem}(?:{suffix}{moment}|{moment}{suffix})")
        self._descriptor: int | None = None

    def open(self, inode: int | None, offset: int, tail: str) -> tuple[int, bool]:
        """Open the file that was left at ``inode`` and ``offset``, by whatever name in its directory.

        Returns the inode, and whether it is another file than the one that was left: by number, by size, or
        because the bytes before ``offset`` have not that ``tail``, be it rewritten in place or new under an
        old number.
        """
        if self._descriptor is None:
            found = self.path if inode is None else self._find(inode)
            self._descriptor = self._open(found)
            ours = found == self.path or self._rotation.fullmatch(found.name)
            if not ours and not self._same(inode, offset, tail):
                self.close()
                self._descriptor = self._open(self.path)
        another = inode is not None and not self._same(inode, offset, tail)
        return os.fstat(self._descriptor).st_ino, another

    def tail(self, offset: int) -> str:
        """What the bytes before ``offset`` are told by, "" for none."""
        before = self.read(max(offset - TAIL_BYTES, 0), min(offset, TAIL_BYTES))
        return f"{zlib.crc32(before):08x}" if before else ""

    def _same(self, inode: int | None, offset: int, tail: str) -> bool:
        if self._descriptor is None:
            return False
        found = os.fstat(self._descriptor)
        if found.st_ino != inode or found.st_size < offset:
            return False
        return not tail or self.tail(offset) == tail

    def read(self, offset: int, size: int) -> bytes:
        """At most ``size`` bytes from ``offset``; fewer only at the end."""
        if self._descriptor is None:
            raise ValueError("the file is not open")
        try:
            return os.pread(self._descriptor, size, offset)
        except OSError as error:
            raise SourceDownError(_unreadable(error)) from None

    def ends(self, inode: int, offset: int, block: bytes) -> bool:
        """Whether the file has a successor, and nothing comes after ``block``, which was read at
        ``offset``.
        """
        return self.replaced(inode) and self.read(offset, len(block) + 1) == block

    def successor(self, inode: int) -> int | None:
        """What was written next under this name and has been rotated too; None: the file of that name."""
        if self._descriptor is None:
            raise ValueError("the file is not open")
        written_ns = os.fstat(self._descriptor).st_mtime_ns
        try:
            with os.scandir(self.path.parent) as entries:
                rotated = [entry.stat() for entry in entries if self._rotation.fullmatch(entry.name)]
        except OSError:
            return None
        later = [(one.st_mtime_ns, one.st_ino) for one in rotated if one.st_mtime_ns >= written_ns]
        return min(((at, number) for at, number in later if number != inode), default=(0, None))[1]

    def replaced(self, inode: int) -> bool:
        """Whether the name now stands for another file. Raises ``SourceDownError`` when it stands for
        none.
        """
        try:
            return self.path.stat().st_ino != inode
        except FileNotFoundError:
            raise SourceDownError(GONE) from None
        except OSError as error:
            raise SourceDownError(_unreadable(error)) from None

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self, path: Path) -> int:
        try:
            if not path.is_dir():
                return os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            raise SourceDownError("this is a directory; name a file, or a pattern such as DIRECTORY/*.log")
        except FileNotFoundError:
            raise SourceDownError(NOT_THERE) from None
        except OSError as error:
            raise SourceDownError(_unreadable(error)) from None

    def _find(self, inode: int) -> Path:
        try:
            with os.scandir(self.path.parent) as entries:
                renamed = [Path(entry.path) for entry in entries if entry.inode() == inode]
        except OSError:
            return self.path
        return renamed[0] if renamed else self.path


def _unreadable(error: OSError) -> str:
    return f"the file cannot be read ({error.strerror}); this process needs read access to it"
