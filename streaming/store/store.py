"""The store as streaming writes it: one transaction a batch, on SQLite or PostgreSQL."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from collector.contract.events import Position
from streaming.store import (
    applications,
    brokers,
    buckets,
    collectors,
    connect_tasks,
    counters,
    findings,
    handled,
    lease,
    letters,
    migrate,
    progress,
    read_topics,
    replacement,
    share_returns,
    stream_figures,
    workers,
    written,
)
from streaming.store.batch import Batch, SeriesDelta
from streaming.store.caps import MAX_ROWS, Caps
from streaming.store.engine import connect
from streaming.store.errors import FencedError
from streaming.store.errors import StoreError as StoreError  # noqa: PLC0414 -- what ``open`` raises
from streaming.store.keyed import keyed
from streaming.store.limits import limited as limited_by
from streaming.store.owner import Owner
from streaming.store.read_topics import Ended
from streaming.store.storable import storable


class Store:
    """Totals, groups and states of everything that was read; ``open`` it before use, close it after."""

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
        self._engine: Engine = connect(url)
        self._max_series = max_series
        self._max_groups = max_groups
        self._samples_per_group = samples_per_group
        self._buckets = buckets.Keeper(max_bucketed_series)
        self._max_rows = max_rows
        self._lease: lease.Lease | None = None
        self._stop = threading.Event()
        self.lost: FencedError | None = None

    def open(self) -> Self:
        """Create the tables, or bring those of a file up to date.

        Raises:
            StoreError: the database is foreign, of a newer version, or an operator has to upgrade it.
        """
        try:
            migrate.prepare(self._engine)
        except BaseException:
            self._engine.dispose()
            raise
        return self

    def close(self) -> None:
        """Let the next stream in, and give the connections back."""
        if self._lease is not None:
            with suppress(SQLAlchemyError), self._engine.begin() as connection:
                lease.release(connection, self._lease)
            self._lease = None
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def hold(self, owner: Owner, *, ttl_ms: int, stop: threading.Event, now_ms: Callable[[], int]) -> bool:
        """Be the one stream that writes; waits for the silence of an owner that may have crashed.

        From then on a write after a takeover is refused, which also sets ``stop`` and ``lost``. False when
        ``stop`` was set first.

        Raises:
            HeldError: another stream writes the store.
        """
        self._stop = stop
        self._lease = lease.acquire(self._engine, owner, ttl_ms=ttl_ms, stop=stop, now_ms=now_ms)
        return self._lease is not None

    def apply(self, batch: Batch) -> bool:
        """Merge a batch in one transaction; false when it was merged before.

        Raises:
            FencedError: another stream has taken the store over.
        """
        with self._writing() as connection:
            if progress.applied(connection, batch.query_id, batch.batch_id):
                return False
            caps, now_ms = Caps(self._max_rows), batch.committed_at_ms
            events = [keyed(event) for event in batch.events]
            limited = letters.merge(
                connection,
                batch.groups,
                batch.samples,
                max_groups=self._max_groups,
                samples_per_group=self._samples_per_group,
                now_ms=now_ms,
            )
            workers.merge(connection, events, caps)
            applications.merge(connection, events, caps)
            brokers.merge(connection, events, caps)
            collectors.merge(connection, events, caps)
            connect_tasks.merge(connection, events, caps)
            findings.merge(connection, events, caps)
            progress.merge(connection, batch, caps)
            read_topics.merge(connection, batch.topic_ids)
            written.merge(connection, events, caps, now_ms)
            handled.merge(connection, events, batch.present, caps)
            returned = share_returns.merge(connection, batch.origins, events, caps, now_ms)
            grown = (*batch.series, *returned)
            beyond = self._buckets.merge(connection, grown, now_ms)
            refused = [limited_by(name, count, now_ms, now_ms) for name, count in caps.beyond.items()]
            told = (*progress.read_records(batch), *grown, *limited, *beyond, *refused)
            counters.merge(connection, told, self._max_series)
        return True

    def applied(self, query_id: str, batch_id: int) -> bool:
        """Whether ``apply`` would find the batch merged before."""
        with self._engine.begin() as connection:
            return progress.applied(connection, query_id, batch_id)

    def last_batches(self) -> dict[str, int]:
        """The last batch merged of every query."""
        with self._engine.begin() as connection:
            return progress.read_batches(connection)

    def marks(self, sources: Iterable[str]) -> dict[str, Position]:
        """The highest position counted of every one of these sources that has one."""
        with self._engine.begin() as connection:
            return progress.read_marks(connection, sources)

    def awaits_returns(self) -> bool:
        """Whether a share group may give back what a redrive has written."""
        with self._engine.begin() as connection:
            return share_returns.awaited(connection)

    def redriven_topics(self) -> set[str]:
        """Dead letter topics of which it is kept what redrives have moved."""
        with self._engine.begin() as connection:
            return handled.topics(connection)

    def offsets(self) -> dict[tuple[str, int], int]:
        """Where a query without checkpoint goes on."""
        with self._engine.begin() as connection:
            return progress.read_offsets(connection)

    def topic_ids(self) -> dict[str, str]:
        """Kafka's id of every topic that was read."""
        with self._engine.begin() as connection:
            return read_topics.read(connection)

    def end_topics(self, ended: Sequence[Ended], kafka_cluster: str, now_ms: int) -> None:
        """Leave topics behind that are no more, and count what was not read of them: one transaction.

        Raises:
            FencedError: another stream has taken the store over.
        """
        with self._writing() as connection:
            missed = [one.missed(kafka_cluster, now_ms) for one in read_topics.end(connection, ended)]
            counters.merge(connection, missed, self._max_series)

    def note_figures(self, figures: stream_figures.Figures) -> None:
        """Say how the query works, in place of what was said before.

        Raises:
            FencedError: another stream has taken the store over.
        """
        with self._writing() as connection:
            stream_figures.replace(connection, figures)

    def count(self, delta: SeriesDelta) -> None:
        """Count what no batch tells.

        Raises:
            FencedError: another stream has taken the store over.
        """
        with self._writing() as connection:
            counters.merge(connection, [delta], self._max_series)

    def note_source(self, name: str, kind: str, *, up: bool, message: str, now_ms: int) -> None:
        """Say how a part of the service is, which no event says; a sign of life of the stream that writes.

        Raises:
            FencedError: another stream has taken the store over.
        """
        row = {"name": name, "kind": kind, "up": up, "message": storable(message)}
        with self._writing() as connection:
            workers.merge_sources(connection, [{**row, "since_ms": now_ms, "heartbeat_ms": now_ms}])

    def last_commit_ms(self) -> int:
        """When the newest batch of any query was merged; 0 before the first."""
        with self._engine.begin() as connection:
            return progress.read_last_commit(connection)

    def transaction(self) -> AbstractContextManager[Connection]:
        """For who copies one store into another."""
        return self._engine.begin()

    def copy_from(self, other: "Store") -> None:
        """Take over everything that another store has counted; this one is empty."""
        with other.transaction() as source, self.transaction() as target:
            replacement.copy(source, target)

    def replace_with(self, other: "Store") -> None:
        """Put what another store has counted in place of what this one has, and end the stream that writes:
        one transaction.
        """
        with other.transaction() as source, self.transaction() as target:
            lease.displace(target)
            replacement.replace(source, target, self._max_series)

    def forget_sources(self, message: str, before_ms: int, name: str = "") -> None:
        """Take back what sources that said this have said of themselves, up to then: of one, or of all."""
        with self._writing() as connection:
            workers.forget_sources(connection, message, before_ms, name)

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                if self._lease is not None:
                    lease.beat(connection, self._lease)
                yield connection
        except FencedError as error:
            self.lost = error
            self._stop.set()
            raise
