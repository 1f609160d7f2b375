"""Logs that are read once, from beginning to end: gzip files and standard input.

They come as a stream of bytes; of it only what the scanner has not passed is held. What a gzip file has
before its damage is read; a bomb unfolds block by block.
"""

import gzip
import os
import select
import zlib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Final

from collector.sources.log_file import FollowedFile
from collector.sources.log_glob import GZIP
from collector.sources.source import SourceDownError

STDIN: Final = Path("-")
PIECE_BYTES: Final = 1 << 16
GZIP_TRUNCATED: Final = "gzip_truncated"
GZIP_BROKEN: Final = "gzip_broken"


class OnceReader(ABC):
    """A window on a stream; ``trouble`` says what was wrong with its end."""

    once = True

    def __init__(self) -> None:
        self.trouble = ""
        self._start = 0
        self._held = bytearray()
        self._ended = False

    @abstractmethod
    def open(self, inode: int | None, offset: int, tail: str) -> tuple[int, bool]:
        """The number of what is read, and whether it is another than the one that was left at ``offset``."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""

    @abstractmethod
    def _pull(self) -> bytes | None:
        """The next bytes, none at the end, None when they are not there yet."""

    def tail(self, offset: int) -> str:  # noqa: ARG002 - a file that can be rewritten needs it
        """Nothing: a stream is not gone back to."""
        return ""

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

    def ends(self, inode: int, offset: int, block: bytes) -> bool:  # noqa: ARG002 - a file needs the inode
        """Whether nothing comes after ``block``, which was read at ``offset``."""
        return self._ended and self._start + len(self._held) == offset + len(block)

    def successor(self, inode: int) -> int | None:  # noqa: ARG002 - a file needs the inode
        """None: nothing comes after it."""
        return None

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

    def open(self, inode: int | None, offset: int, tail: str) -> tuple[int, bool]:  # noqa: ARG002 - of other logs
        """Open it; whatever its name stands for, it is read once."""
        if self._file is None:
            try:
                self._file = gzip.GzipFile(self._path, "rb")
            except OSError as error:
                raise SourceDownError(
                    f"the file cannot be read ({error.strerror}); this process needs read access to it"
                ) from None
        return os.fstat(self._file.fileno()).st_ino, False

    def close(self) -> None:
        """Let go of the file; what is opened again is read from its beginning."""
        if self._file is not None:
            self._file.close()
        self._file, self._held, self._start, self._ended = None, bytearray(), 0, False

    def _pull(self) -> bytes:
        if self._file is None:
            raise ValueError("the file is not open")
        try:
            return self._file.read1(PIECE_BYTES)
        except EOFError:
            self.trouble = GZIP_TRUNCATED
        except (OSError, zlib.error):
            self.trouble = GZIP_BROKEN
        return b""


class PipedLog(OnceReader):
    """What is piped in at ``descriptor``: something else in every process."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._opened = False

    def open(self, inode: int | None, offset: int, tail: str) -> tuple[int, bool]:  # noqa: ARG002 - of other logs
        """The first time it is another one than a process before has read."""
        another, self._opened = not self._opened and inode is not None, True
        return os.fstat(self._descriptor).st_ino, another

    def close(self) -> None:
        """The descriptor is not ours to close."""

    def _pull(self) -> bytes | None:
        ready, _, _ = select.select([self._descriptor], [], [], 0)
        return os.read(self._descriptor, PIECE_BYTES) if ready else None


def reader(path: Path) -> FollowedFile | OnceReader:
    """What reads the log at ``path``."""
    if path == STDIN:
        return PipedLog(0)
    return GzipLog(path) if path.suffix == GZIP else FollowedFile(path)
