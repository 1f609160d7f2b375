"""Where each source stands, on disk: what is saved together becomes visible together or not at all.

It may lag behind what was published, never run ahead of it: a lost write means events sent again, not events
lost.
"""

import json
import sqlite3
from collections.abc import Mapping
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
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS positions (source TEXT PRIMARY KEY, state TEXT NOT NULL)"
            )
        except sqlite3.Error as error:
            self._connection.close()
            raise self._unusable(error) from None

    def load(self) -> dict[str, State]:
        """The saved state of every source."""
        try:
            rows = self._connection.execute("SELECT source, state FROM positions").fetchall()
            return {source: json.loads(state) for source, state in rows}
        except (sqlite3.Error, ValueError) as error:
            raise self._unusable(error) from None

    def save(self, states: Mapping[str, State]) -> None:
        """Save the states of some sources in one transaction."""
        rows = [(source, json.dumps(state, separators=(",", ":"))) for source, state in states.items()]
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany("INSERT OR REPLACE INTO positions VALUES (?, ?)", rows)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise self._unusable(error) from None

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _unusable(self, error: Exception) -> PositionsError:
        return PositionsError(
            f"the positions in {self._path} cannot be used ({error}); free the disk or restore the file."
            " Moved away, every source is read from its beginning: what was counted is not counted again,"
            " but what a log has held since it was last rotated is taken for known, too"
        )
