"""Readers of logs by name: files that are followed, and gzip files and standard input, which are read once.

What is read once is a stream of bytes, of which only what the scanner has not passed is kept. A damaged
gzip file is read up to its damage, and one that ends before its end is waited for as long as it is written,
an empty one until something is; a gzip bomb is unpacked block by block.
"""

import gzip
import os
import select
import time
import zlib
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import Final

from collector.sources.logs.followed_file import QUIET_S, FollowedFile, readable

GZIP: Final = ".gz"
STDIN: Final = Path("-")
PIECE_BYTES: Final = 1 << 16
GZIP_TRUNCATED: Final = "gzip_truncated"
GZIP_BROKEN: Final = "gzip_broken"


class OnceReader(ABC):
    """A window on a stream; ``trouble`` is what was wrong at its end."""

    once = True

    def __init__(self) -> None:
        self.trouble = ""
        self._start = 0
        self._held = bytearray()
        self._ended = False

    @abstractmethod
    def _pull(self) -> bytes | None:
        """The next bytes, none at the end, None when they are not there yet."""

    def mark(self, offset: int) -> tuple[str, int]:  # noqa: ARG002 - a file that can be rewritten needs it
        """No checksum and no time: a stream cannot be rewritten, and nothing comes after it."""
        return "", 0

    def read(self, offset: int, size: int) -> bytes:
        """At most ``size`` bytes from ``offset``; no later read may begin before it."""
        while not self._ended and self._start + len(self._held) < offset + size:
            piece = self._pull()
            if piece is None:
                break
            self._ended = not piece
            self._held += piece
            self._forget(offset)
        self._forget(offset)
        return bytes(self._held[:size])

    def ends(self, inode: int, offset: int, block: bytes) -> tuple[bool, None]:  # noqa: ARG002 - of a file
        """Whether nothing comes after ``block``, which was read at ``offset``; a stream has no successor."""
        return self._ended and self._start + len(self._held) == offset + len(block), None

    def _forget(self, offset: int) -> None:
        passed = min(max(offset - self._start, 0), len(self._held))
        del self._held[:passed]
        self._start += passed


class GzipLog(OnceReader):
    """A gzip file; offsets are those of what it holds."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._file: gzip.GzipFile | None = None

    def open(self, inode: int | None, offset: int, tail: str, written_ns: int) -> tuple[int, bool]:  # noqa: ARG002 - of other logs
        """Open the file; it is read once, whatever its inode."""
        with readable(close=self.close):
            self._file = self._file or gzip.GzipFile(self._path, "rb")
            return os.fstat(self._file.fileno()).st_ino, False

    def close(self) -> None:
        """Close the file; if it is opened again, it is read from its beginning."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
        self._file, self._held, self._start, self._ended = None, bytearray(), 0, False

    def _pull(self) -> bytes | None:
        if self._file is None:
            raise ValueError("the file is not open")
        with readable(close=self.close):
            piece, trouble = b"", ""
            try:
                piece = self._file.read1(PIECE_BYTES)
            except EOFError:
                trouble = GZIP_TRUNCATED
            except (gzip.BadGzipFile, zlib.error):
                trouble = GZIP_BROKEN
            status = os.fstat(self._file.fileno())
            is_written = trouble == GZIP_TRUNCATED and time.time() - status.st_mtime <= QUIET_S
            if is_written or not status.st_size:  # who compresses writes a first block late
                self.close()
                return None
            self.trouble = trouble
        return piece


class PipedLog(OnceReader):
    """Input piped in at ``descriptor``: another input in every process."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._opened = False

    def open(self, inode: int | None, offset: int, tail: str, written_ns: int) -> tuple[int, bool]:  # noqa: ARG002 - of other logs
        """Whether an earlier process has read another stream: true at the first call."""
        another, self._opened = not self._opened and inode is not None, True
        return os.fstat(self._descriptor).st_ino, another

    def close(self) -> None:
        """The descriptor is not ours to close."""

    def _pull(self) -> bytes | None:
        ready, _, _ = select.select([self._descriptor], [], [], 0)
        return os.read(self._descriptor, PIECE_BYTES) if ready else None


def open_reader(path: Path) -> FollowedFile | GzipLog | PipedLog:
    """The reader of the log at ``path``."""
    if path == STDIN:
        return PipedLog(0)
    return GzipLog(path) if path.suffix == GZIP else FollowedFile(path)
