"""The work of a backfill: slices of Kafka are merged like every batch, into a store of their own.

Nothing in the live store changes before the end, so the stream may run meanwhile and a backfill may be
stopped at any moment. In the end one transaction puts the new counts in place of the old ones and fences the
stream, which begins again at the offsets that stand beside the counts: nothing is counted twice.
"""

import logging
import shutil
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Final, TypeVar

from kafka import KafkaAdminClient
from kafka.admin import OffsetSpec
from kafka.errors import KafkaError
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # ships no types
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from deadwatch.contract.backoff import Backoff
from deadwatch.store.batch import Batch, Offsets, SeriesDelta
from deadwatch.store.errors import StoreError
from deadwatch.store.maintenance import file
from deadwatch.store.store import Store
from streaming import cluster, data_loss, kafka_source
from streaming.batches import Batches
from streaming.failure import failure_of
from streaming.rebuild_plan import Extent, Plan, Work, anew, on_top, slices
from streaming.settings import StreamingSettings
from streaming.store import RetryingStore

PREFIX: Final = "backfill-"
STORE: Final = "store.db"
"""The file of the store that is filled, in a directory of its own."""
FORGOTTEN: Final = "forgotten_by_backfill"
"""Why records are missed that were counted once: Kafka has deleted them, or they are before the time."""

UNKNOWN: Final = "UnknownTopicOrPartition"
"""What Kafka's clients for Python and for Java say of a topic that was deleted."""
MOST_UNKNOWN: Final = 10
"""So often one after the other, 20 s: a broker that has just begun may not know its topics yet."""
T = TypeVar("T")
log = logging.getLogger(__name__)


class BackfillError(Exception):
    """The backfill cannot be done; the text says why and what to do. The live store is as it was."""


FAILURES: Final = (KafkaError, BackfillError, Py4JError, PySparkException, ConnectionError)
"""Of what is counted; the last one is py4j's for a call of a JVM that has ended."""


class ShadowStore(Store):
    """The store that is filled. It has no orders, so a redrive may have written any range at any time."""

    def awaits_returns(self) -> bool:
        """Always true: whatever a redrive has written may come back."""
        return True


class Rebuild:
    """Fills a store beside ``store``, then puts its counts in the place of the old ones."""

    def __init__(
        self,
        settings: StreamingSettings,
        store: RetryingStore,
        stop: threading.Event,
        clock_ms: Callable[[], int],
        rng: Random,
    ) -> None:
        self._settings, self._store, self._stop = settings, store, stop
        self._clock_ms, self._rng = clock_ms, rng
        self._backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
        self._query_id = f"backfill-{uuid.uuid4()}"

    def plan(self, since_ms: int) -> Work:
        """What there is to do. Raises ``BackfillError``."""
        stored, last_ms = self._store.offsets(), self._store.last_commit_ms()
        if stored and since_ms >= last_ms:
            return self._on_top(self._store)
        with self._admin() as admin:
            return anew(extent(admin, self._settings, since_ms), stored)

    def run(self, spark: SparkSession, work: Work, progress: Callable[[int, int], None]) -> bool:
        """Do it; ``progress`` gets the offsets done and to do. False when stopped: nothing has changed.

        Raises:
            BackfillError: topics were recreated or deleted meanwhile.
        """
        parent = self._settings.checkpoint.resolve().parent
        parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(parent)
        with (
            tempfile.TemporaryDirectory(prefix=PREFIX, dir=parent) as directory,
            ShadowStore(f"{file.ADDRESS}{directory}/{STORE}", **self._settings.store_limits) as shadow,
        ):
            if work.on_top:
                shadow.copy_from(self._store)
                work = self._on_top(shadow)  # the stream may have read more since the plan
            shadow.apply(self._first(work, shadow.offsets()))
            self._fill(spark, shadow, work, progress)
            self._refuse_other_topics(work)
            if self._stop.is_set():
                return False
            self._store.replace_with(shadow)
        return True

    def _on_top(self, store: Store) -> Work:
        """What a store has still to read. Kafka is asked after the store, so no end is before its offsets."""
        stored, ids = store.offsets(), store.topic_ids()
        with self._admin() as admin:
            return on_top(extent(admin, self._settings, 0), stored, ids)

    def _first(self, work: Work, stored: Offsets) -> Batch:
        """Where every partition begins, and what is not read."""
        missed = self._missed
        return Batch(
            query_id=self._query_id,
            batch_id=0,
            committed_at_ms=self._clock_ms(),
            begins={place: offset for place, offset in stored.items() if place in work.plan.begin},
            offsets=work.plan.begin,
            topic_ids={topic: topic_id for topic, topic_id in work.ids.items() if topic_id},
            marks={},
            series=(*missed(FORGOTTEN, work.forgotten), *missed(data_loss.DELETED_UNREAD, work.unread)),
        )

    def _fill(
        self, spark: SparkSession, shadow: Store, work: Work, progress: Callable[[int, int], None]
    ) -> None:
        done, to_do = 0, work.plan.records
        progress(done, to_do)
        for part in self._retry(lambda: self._parts(work.plan)) or ():
            self._retry(lambda: self._count(spark, shadow, part))  # noqa: B023 -- called at once
            if self._stop.is_set():
                return
            done += part.records
            progress(done, to_do)

    def _parts(self, plan: Plan) -> list[Plan]:
        most, times_ms = self._settings.max_offsets_per_trigger, (0, self._clock_ms())
        with self._admin() as admin:
            return list(slices(plan, most, partial(cluster.offsets, admin, plan.begin), times_ms))

    def _count(self, spark: SparkSession, shadow: Store, part: Plan) -> None:
        records = kafka_source.records_between(spark, self._settings, part.begin, part.end, self._query_id)
        # refused events were written to our dead letter topic when they were read first
        batches = Batches(self._settings, shadow, self._clock_ms, quarantine_refused=False)
        shadow.apply(self._completed(part, batches.read(records)))

    def _completed(self, part: Plan, batch: Batch) -> Batch:
        """The batch with its offsets and what was deleted unread; the age of old events is no lag."""
        deleted: Mapping[str, int] = {}
        if skipped := data_loss.skipped(part.begin, {**part.end, **batch.first_offsets}):
            with self._admin() as admin:
                deleted = data_loss.missed(skipped, cluster.offsets(admin, skipped, OffsetSpec.EARLIEST))
        missed = self._missed(data_loss.DELETED_UNREAD, deleted)
        return replace(batch, begins=part.begin, offsets=part.end, lag_ms=0, series=(*batch.series, *missed))

    def _missed(self, reason: str, counts: Mapping[str, int]) -> list[SeriesDelta]:
        kafka_cluster, now_ms = self._settings.kafka_cluster, self._clock_ms()
        return data_loss.counters(counts, reason, kafka_cluster, now_ms)

    def _retry(self, call: Callable[[], T]) -> T | None:
        """The result of ``call``, called again while Kafka does not answer; None: the process is to stop."""
        failures = unknown = 0
        while not self._stop.is_set():
            try:
                return call()
            except FAILURES as error:
                failure = failure_of(error)
                if self._stop.is_set():
                    break
                if not failure.kafka and not isinstance(error, BackfillError):
                    raise BackfillError(failure.message) from error
                unknown = unknown + 1 if UNKNOWN in failure.message else 0
                if unknown == MOST_UNKNOWN:
                    raise BackfillError(f"a topic was deleted, start again: {failure.message}") from error
                log.error("%s; the backfill waits for it", failure.message)  # noqa: TRY400 -- one line
                failures += 1
                self._stop.wait(self._backoff.delay_ms(failures, self._rng) / 1_000)
        return None

    def _refuse_other_topics(self, work: Work) -> None:
        def topic_ids() -> dict[str, str]:
            with self._admin() as admin:
                return cluster.ids_of(cluster.read_topics(admin, self._settings))

        now = self._retry(topic_ids) or {}
        changed = sorted(
            topic for topic, topic_id in work.ids.items() if now.get(topic, topic_id) != topic_id
        )
        if changed:
            raise BackfillError(f"{', '.join(changed)}: made anew meanwhile; start the backfill again")

    @contextmanager
    def _admin(self) -> Iterator[KafkaAdminClient]:
        try:
            with closing(cluster.connect(self._settings)) as admin:
                yield admin
        except KafkaError as error:
            raise BackfillError(f"Kafka does not answer: {failure_of(error).message}") from error


def remove_leftovers(parent: Path) -> None:
    """Remove what killed backfills have left: up to a whole store each, which nobody reads."""
    for store in parent.glob(f"{PREFIX}*/{STORE}"):  # what holds none is another's
        with suppress(StoreError, OSError), file.locked(store):  # of one that runs it is not
            shutil.rmtree(store.parent, ignore_errors=True)


def extent(admin: KafkaAdminClient, settings: StreamingSettings, since_ms: int) -> Extent:
    """What Kafka has of every topic that is read, since a time in ms; 0: all. Raises ``KafkaError``."""
    described = cluster.read_topics(admin, settings)
    partitions = cluster.partitions_of(described)
    begin = cluster.offsets(admin, partitions, OffsetSpec.EARLIEST)
    end = cluster.offsets(admin, partitions, OffsetSpec.LATEST)
    since = cluster.offsets(admin, partitions, since_ms) if since_ms else begin
    found = {
        partition: end[partition] if since[partition] < 0 else min(since[partition], end[partition])
        for partition in end
    }
    return Extent(begin, found, end, cluster.ids_of(described))
