"""Whether something was committed to a file of SQLite, told by its headers: no connection, no lock.

With a write-ahead log, a commit becomes visible to readers by what is written at the beginning of the log's
index; without one, by the change counter of the file (https://sqlite.org/walformat.html, 2.1, and
https://sqlite.org/fileformat2.html, 1.3.7). A connection that is kept open would tell the same, but would
hold log and index of a file that has been replaced.
"""

from collections.abc import Hashable
from pathlib import Path
from typing import Final

INDEX: Final = "-shm"
HEADER_BYTES: Final = 48
"""Of the index; it begins with two copies of it, which differ while they are being written."""
COUNTER: Final = slice(24, 28)
FILE_HEADER_BYTES: Final = 100


def state(path: Path) -> Hashable:
    """Another value than before: something was committed, or may have been. Raises ``OSError``."""
    with path.open("rb", buffering=0) as file:
        found = path.stat()
        counter = (file.read(FILE_HEADER_BYTES) or b"")[COUNTER]
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, counter, _index(path)


def _index(path: Path) -> Hashable:
    try:
        with path.with_name(path.name + INDEX).open("rb", buffering=0) as index:
            header = index.read(2 * HEADER_BYTES) or b""
    except FileNotFoundError:
        return None
    first, second = header[:HEADER_BYTES], header[HEADER_BYTES:]
    return first if first == second else object()  # equal to nothing: somebody commits just now
