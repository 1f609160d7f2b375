"""Whether a file of SQLite is another one, and whether something was committed to it: no connection, no lock.

With a write-ahead log, a commit becomes visible to readers by what is written at the beginning of the log's
index; without one, by the change counter of the file (https://sqlite.org/walformat.html, 2.1, and
https://sqlite.org/fileformat2.html, 1.3.7). All connections that tell the same state have read the same.
"""

from collections.abc import Hashable
from pathlib import Path
from typing import Final

INDEX: Final = "-shm"
HEADER_BYTES: Final = 48
"""Of the index; it begins with two copies of it, which differ while they are being written."""
COUNTER: Final = slice(24, 28)
FILE_HEADER_BYTES: Final = 100


def identity(path: Path) -> Hashable:
    """Which files are there: the store, and the index of its log. A file that is open keeps its inode."""
    return _inode(path), _inode(_index_of(path))


def state(path: Path) -> Hashable:
    """Another value than before: something was committed, or may have been. Raises ``OSError``."""
    with path.open("rb", buffering=0) as file:
        found = path.stat()
        counter = (file.read(FILE_HEADER_BYTES) or b"")[COUNTER]
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, counter, _index(path)


def _index(path: Path) -> Hashable:
    try:
        with _index_of(path).open("rb", buffering=0) as index:
            header = index.read(2 * HEADER_BYTES) or b""
    except FileNotFoundError:
        return None
    first, second = header[:HEADER_BYTES], header[HEADER_BYTES:]
    return first if first == second else object()  # equal to nothing: somebody commits just now


def _index_of(path: Path) -> Path:
    return path.with_name(path.name + INDEX)


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
