"""The store as streaming writes it: one transaction for each batch, on SQLite or PostgreSQL."""

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import wraps
from typing import Concatenate, ParamSpec, Self, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from deadwatch.store import versions
from deadwatch.store.batch import Batch, Offsets, SeriesDelta, combined, not_ahead
from deadwatch.store.engine import connect, reading
from deadwatch.store.errors import FencedError
from deadwatch.store.storable import storable, storable_event
from deadwatch.store.versions import Kind
from deadwatch.store.write import (
    abandoned,
    buckets,
    counters,
    dead_letters,
    handled,
    lease,
    progress,
    replacement,
    restarts,
    share_returns,
    snapshots,
    task_timers,
)
from deadwatch.store.write.counters import limited as limited_by
from deadwatch.store.write.lease import Owner
from deadwatch.store.write.progress import Ended
from deadwatch.store.write.states import MAX_ROWS, RowLimits

P = ParamSpec("P")
T = TypeVar("T")


def _reading(query: Callable[Concatenate[Connection, P], T]) -> Callable[Concatenate["Store", P], T]:
    """A method that runs a query in a transaction of its own that only reads."""

    @wraps(query)
    def read(store: "Store", /, *args: P.args, **kwargs: P.kwargs) -> T:
        with store.reading() as connection:
            return query(connection, *args, **kwargs)

    return read


class Store:
    """Totals, groups and states of everything that was read. Call ``open`` before use and ``close`` after.

    Whatever writes raises ``FencedError`` once another stream has taken the store over.
    """

    def __init__(
        self,
        url: str,
        *,
        max_series: int = 10_000,
        max_groups: int = 5_000,
        samples_per_group: int = 5,
        max_bucketed_series: int = 200,
        max_rows: Mapping[str, int] = MAX_ROWS,
    ) -> None:
        self.name = uuid.uuid4().hex  # by it another store knows that it has these counts already
        self._engine: Engine = connect(url)
        self._max_series = max_series
        self._max_groups = max_groups
        self._samples_per_group = samples_per_group
        self._buckets = buckets.BucketWriter(max_bucketed_series)
        self._max_rows = max_rows
        self._epoch: int | None = None
        self._stop = threading.Event()
        self.lost: FencedError | None = None

    def open(self) -> Self:
        """Create the tables of an empty store, or upgrade those of a file.

        Raises ``StoreError``: the database is foreign, of a newer version, or an operator has to upgrade it.
        """
        of_a_file = self._engine.dialect.name == "sqlite"
        try:
            with reading(self._engine) as connection:
                found = versions.state(connection)
            if found.kind is Kind.EMPTY or (found.kind is Kind.OLDER and of_a_file):
                from deadwatch.store import upgrades  # noqa: PLC0415 -- Alembic is 8 MB and 0.3 s, mostly unused

                upgrades.upgrade(self._engine)
            else:
                versions.require(found)
        except BaseException:
            self._engine.dispose()
            raise
        return self

    def close(self) -> None:
        """Release the lease, so that the next stream may write, and close the connections."""
        if self._epoch is not None:
            with suppress(SQLAlchemyError), self._engine.begin() as connection:
                lease.release(connection, self._epoch)
            self._epoch = None
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def hold(self, owner: Owner, *, ttl_ms: int, stop: threading.Event, now_ms: Callable[[], int]) -> bool:
        """Acquire the lease of the stream that writes; wait until one that may have crashed has timed out.

        From then on a write after a takeover is refused, which also sets ``stop`` and ``lost``. Returns false
        when ``stop`` was set first.

        Raises:
            HeldError: another stream writes the store.
        """
        self._stop = stop
        self._epoch = lease.acquire(self._engine, owner, ttl_ms=ttl_ms, stop=stop, now_ms=now_ms)
        return self._epoch is not None

    def apply(self, batch: Batch) -> bool:
        """Merge a batch in one transaction; returns false when it was merged before.

        Raises ``OffsetsMovedError``: it does not begin at the store's offsets.
        """
        with self._writing() as connection:
            if not progress.move(connection, batch.begins, batch.offsets):
                return False
            limits, now_ms = RowLimits(self._max_rows), batch.committed_at_ms
            events = [storable_event(not_ahead(event, now_ms)) for event in batch.events]
            limited = dead_letters.merge(
                connection,
                batch.groups,
                batch.samples,
                max_groups=self._max_groups,
                samples_per_group=self._samples_per_group,
                now_ms=now_ms,
            )
            for states in (abandoned, task_timers, restarts):
                states.merge(connection, events, limits)
            snapshots.merge(connection, events, limits, now_ms)
            snapshots.forget_silent(connection, now_ms)
            progress.merge(connection, batch, limits)
            progress.note_topic_ids(connection, batch.topic_ids)
            handled.merge(connection, events, batch.present, limits)
            returned = share_returns.merge(connection, batch.origins, events, limits, now_ms)
            grown = combined((*batch.series, *returned))
            beyond = self._buckets.merge(connection, grown, now_ms)
            refused = [limited_by(name, count, now_ms, now_ms) for name, count in limits.beyond.items()]
            deltas = (*progress.read_records(batch), *grown, *limited, *beyond, *refused)
            counters.merge(connection, deltas, self._max_series)
        return True

    marks = _reading(progress.read_marks)
    offsets = _reading(progress.read_offsets)
    topic_ids = _reading(progress.read_topic_ids)
    last_commit_ms = _reading(progress.read_last_commit)
    figures = _reading(progress.read_figures)
    awaits_returns = _reading(share_returns.awaited)
    redriven_topics = _reading(handled.topics)

    def pass_over(
        self, begins: Offsets, ends: Offsets, ids: Mapping[str, str], missed: Sequence[SeriesDelta]
    ) -> None:
        """Advance the offsets past records that were deleted unread, and count them: one transaction.

        Raises ``OffsetsMovedError``: the store is not at ``begins``.
        """
        with self._writing() as connection:
            if progress.move(connection, begins, ends):
                progress.note_topic_ids(connection, ids)
                counters.merge(connection, missed, self._max_series)

    def end_topics(self, ended: Sequence[Ended], kafka_cluster: str, now_ms: int) -> None:
        """Forget topics that were deleted, and count what was not read of them: one transaction."""
        with self._writing() as connection:
            missed = [one.missed(kafka_cluster, now_ms) for one in progress.end_topics(connection, ended)]
            counters.merge(connection, missed, self._max_series)

    def note_figures(self, figures: progress.Figures) -> None:
        """Replace the figures of the query's own work."""
        with self._writing() as connection:
            progress.replace_figures(connection, figures)

    def count(self, delta: SeriesDelta) -> None:
        """Count something that is in no batch."""
        with self._writing() as connection:
            counters.merge(connection, [delta], self._max_series)

    def note_source(self, name: str, kind: str, *, up: bool, message: str, now_ms: int) -> None:
        """Note the state of a part of the service that no event reports; it also renews the lease."""
        row = {"name": name, "kind": kind, "up": up, "message": storable(message)}
        with self._writing() as connection:
            snapshots.merge_sources(connection, [{**row, "since_ms": now_ms, "heartbeat_ms": now_ms}], now_ms)

    def reading(self) -> AbstractContextManager[Connection]:
        """A transaction that only reads; for copying this store into another one."""
        return reading(self._engine)

    def copy_from(self, other: "Store") -> None:
        """Copy everything that another store has counted into this one, which is empty."""
        with other.reading() as source, self._engine.begin() as target:
            replacement.copy(source, target)

    def replace_with(self, other: "Store") -> None:
        """Replace what this store has counted by what another one has, and end the stream that writes it.

        Both happen in one transaction. Where that was the last to do so, nothing happens.
        """
        with other.reading() as source, self._engine.begin() as target:
            if lease.displace(target, by=other.name):
                replacement.replace(source, target, self._max_series)

    def forget_sources(self, message: str, before_ms: int, name: str = "") -> None:
        """Delete the states of sources with this message and no heartbeat after ``before_ms``.

        ``name`` limits this to one source.
        """
        with self._writing() as connection:
            snapshots.forget_sources(connection, message, before_ms, name)

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                if self._epoch is not None:
                    lease.beat(connection, self._epoch)
                yield connection
        except FencedError as error:
            self.lost = error
            self._stop.set()
            raise
