"""Log files by a pattern: each file that comes to match is followed by a source of its own.

A file that was followed under one name and is now found under another has been rotated: its source reads it
to the end, and it is not begun again. A gzip file that appears later beside files that are not compressed is
one of those, compressed after it was read: it is not begun either.
"""

import glob
from collections.abc import Callable
from pathlib import Path
from typing import Final

from collector.sources.source import Chunk, SourceDownError, State

GZIP: Final = ".gz"
NOTHING_MATCHES = "no file matches yet; each will be read from its beginning when it appears"


def is_pattern(path: str) -> bool:
    """Whether the setting is a pattern and not the path of one file."""
    return glob.has_magic(path)


class LogGlob:
    """Finds files; ``follow`` starts the source of one."""

    kind = "log"

    def __init__(
        self, pattern: str, *, saved: State | None, follow: Callable[[Path], None], poll_interval_ms: int
    ) -> None:
        self.name = f"log:{pattern}"
        self.poll_interval_ms = poll_interval_ms
        self._pattern = pattern
        self._follow = follow
        self._known = {str(path) for path in (saved or {}).get("paths", ())}
        self._inodes: dict[str, int] = dict((saved or {}).get("inodes", {}))
        self._followed: set[str] = set()

    def poll(self) -> Chunk | None:
        """Start what is new; a chunk only when something is."""
        found = {path: inode for path in _matches(self._pattern) if (inode := _inode(path))}
        if not found and not self._followed:
            raise SourceDownError(NOTHING_MATCHES)
        begun = [path for path in sorted(found) if self._is_new(path, found[path])]
        moved, self._inodes = self._inodes != found, found
        for path in begun:
            self._follow(Path(path))
            self._followed.add(path)
            self._known.add(path)
        state = {"paths": sorted(self._known), "inodes": found}
        return Chunk((), state) if begun or moved else None

    def close(self) -> None:
        """Nothing is held."""

    def _is_new(self, path: str, inode: int) -> bool:
        if path in self._followed:
            return False
        if path in self._known:
            return True
        compressed = path.endswith(GZIP) and not self._pattern.endswith(GZIP) and bool(self._known)
        return not compressed and inode not in self._inodes.values()


def _matches(pattern: str) -> list[str]:
    return glob.glob(pattern, recursive=True)  # noqa: PTH207 - Path.glob takes no absolute pattern


def _inode(path: str) -> int | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_ino if Path(path).is_file() else None
