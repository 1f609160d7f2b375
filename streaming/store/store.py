"""The store as streaming writes it: one transaction a batch, on SQLite or PostgreSQL."""

from collections.abc import Iterable
from types import TracebackType
from typing import Self

from sqlalchemy import Engine, insert, select

from collector.contract.events import Position
from streaming.store import brokers, counters, letters, progress, workers
from streaming.store.batch import Batch, storable
from streaming.store.engine import connect
from streaming.store.schema import VERSION, metadata, schema_version


class StoreError(Exception):
    """The store cannot be used; the text says why and what to do."""


class Store:
    """Totals, groups and states of everything that was read; ``open`` it before use, close it after."""

    def __init__(
        self, url: str, *, max_series: int = 10_000, max_groups: int = 5_000, samples_per_group: int = 5
    ) -> None:
        self._engine: Engine = connect(url)
        self._max_series = max_series
        self._max_groups = max_groups
        self._samples_per_group = samples_per_group

    def open(self) -> Self:
        """Create the tables where they are missing.

        Raises:
            StoreError: the tables were made by a newer version.
        """
        with self._engine.begin() as connection:
            metadata.create_all(connection)
            version = connection.scalar(select(schema_version.c.version))
            if version is None:
                connection.execute(insert(schema_version).values(version=VERSION))
            elif version > VERSION:
                raise StoreError(
                    f"the store has version {version}, this program knows {VERSION}: install a newer one"
                )
        return self

    def close(self) -> None:
        """Give the connections back."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def apply(self, batch: Batch) -> bool:
        """Merge a batch in one transaction; false when it was merged before."""
        with self._engine.begin() as connection:
            if progress.applied(connection, batch.query_id, batch.batch_id):
                return False
            limited = letters.merge(
                connection,
                batch.groups,
                batch.samples,
                max_groups=self._max_groups,
                samples_per_group=self._samples_per_group,
            )
            counters.merge(connection, (*batch.series, *limited), self._max_series)
            workers.merge(connection, batch.events)
            brokers.merge(connection, batch.events)
            progress.merge(connection, batch)
        return True

    def applied(self, query_id: str, batch_id: int) -> bool:
        """Whether ``apply`` would find the batch merged before."""
        with self._engine.begin() as connection:
            return progress.applied(connection, query_id, batch_id)

    def marks(self, sources: Iterable[str]) -> dict[str, Position]:
        """The highest position counted of every one of these sources that has one."""
        with self._engine.begin() as connection:
            return progress.read_marks(connection, sources)

    def offsets(self) -> dict[tuple[str, int], int]:
        """Where a query without checkpoint goes on."""
        with self._engine.begin() as connection:
            return progress.read_offsets(connection)

    def note_source(self, name: str, kind: str, *, up: bool, message: str, now_ms: int) -> None:
        """Say how a part of the service is, which no event says."""
        row = {"name": name, "kind": kind, "up": up, "message": storable(message)}
        with self._engine.begin() as connection:
            workers.merge_sources(connection, [{**row, "since_ms": now_ms, "heartbeat_ms": now_ms}])
