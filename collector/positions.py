"""The saved position of each source, on disk: positions that are saved together become visible together.

They may lag behind what was published and never run ahead of it: after a lost write events are sent
again, not lost.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from collector.sources.source import State


class PositionsError(Exception):
    """The positions cannot be used; the text names the file and the way out."""


class Positions:
    """A SQLite file; used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise PositionsError(f"cannot keep positions in {path}: {error}; make it writable") from None
        try:
            with self._usable():
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = NORMAL")
                self._connection.execute(
                    "CREATE TABLE IF NOT EXISTS positions (source TEXT PRIMARY KEY, state TEXT NOT NULL)"
                )
        except PositionsError:
            self._connection.close()
            raise

    def load(self) -> dict[str, State]:
        """The saved state of every source."""
        with self._usable():
            rows = self._connection.execute("SELECT source, state FROM positions").fetchall()
            return {source: json.loads(state) for source, state in rows}

    def save(self, states: Mapping[str, State | None]) -> None:
        """Save the states of some sources in one transaction; None deletes the one that was saved."""
        deleted = [(source,) for source, state in states.items() if state is None]
        kept = {source: state for source, state in states.items() if state is not None}
        rows = [(source, json.dumps(state, separators=(",", ":"))) for source, state in kept.items()]
        with self._usable(), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany("DELETE FROM positions WHERE source = ?", deleted)
            self._connection.executemany("INSERT OR REPLACE INTO positions VALUES (?, ?)", rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, ValueError) as error:
            raise PositionsError(
                f"the positions in {self._path} cannot be used ({error}); free the disk or restore the file."
                " Moved away, every source is read from its beginning: what was counted is not counted again,"
                " but what a log has held since it was last rotated is taken for known, too"
            ) from None
