"""The work of a backfill: slices of Kafka go the way of every batch, into a store of their own.

Nothing of the live store changes before the end, so the stream may run meanwhile and a backfill may be given
up at any moment. In the end one transaction puts the new counts in place of the old ones and fences the
stream, which begins anew at the offsets that stand beside the counts: nothing is counted twice.
"""

import logging
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Final

from kafka import KafkaAdminClient
from kafka.admin import OffsetSpec
from kafka.errors import KafkaError
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # ships no types
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from collector.contract.backoff import Backoff
from streaming import checkpoint, cluster, gaps, source
from streaming.backfill import span, topics
from streaming.backfill.span import Work
from streaming.batches import Batches
from streaming.failure import failure_of
from streaming.patience import PatientStore
from streaming.plans import Plan
from streaming.queries import QUERY_ID_PROPERTY
from streaming.settings import StreamingSettings
from streaming.store.batch import Batch, SeriesDelta
from streaming.store.read_topics import Ended
from streaming.store.store import Store

FORGOTTEN: Final = "forgotten_by_backfill"
"""Why records are missed that were counted once: Kafka has them no more, or they are before the time."""

NO_PLANS: Final = "none"
"""Where batches look for Spark's plans, and find none: those of the stream are not a backfill's."""

logger = logging.getLogger(__name__)


class BackfillError(Exception):
    """It cannot be done; the text says why and what to do. The live store is as it was."""


class Beside(Store):
    """The store that is filled: it has no orders, so a redrive may tell of any range at any time."""

    def awaits_returns(self) -> bool:
        """Always."""
        return True


class Rebuild:
    """Fills a store beside ``store``, then puts it in its place."""

    def __init__(
        self,
        settings: StreamingSettings,
        store: PatientStore,
        stop: threading.Event,
        clock_ms: Callable[[], int],
        rng: Random,
    ) -> None:
        self._settings = settings
        self._store = store
        self._stop = stop
        self._clock_ms = clock_ms
        self._rng = rng
        self._backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
        self._query_id = f"backfill-{uuid.uuid4()}"
        self._batch_settings = settings.model_copy(update={"checkpoint": settings.checkpoint / NO_PLANS})

    def look(self, since_ms: int) -> Work:
        """What would be done. Raises ``BackfillError``."""
        stored, last_ms = self._store.offsets(), self._store.last_commit_ms()
        if stored and since_ms >= last_ms:
            return self._on_top(self._store)
        with self._admin() as admin:
            return span.anew(topics.extent(admin, self._settings, since_ms), stored)

    def run(self, spark: SparkSession, work: Work, told: Callable[[int, int], None]) -> bool:
        """Do it, and tell offsets done and to do; false when it was stopped, and nothing has changed.

        Raises:
            BackfillError: topics were made anew meanwhile.
        """
        spark.sparkContext.setLocalProperty(QUERY_ID_PROPERTY, self._query_id)
        place = self._settings.checkpoint.resolve().parent
        place.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.TemporaryDirectory(prefix="backfill-", dir=place) as directory,
            self._beside(Path(directory)) as shadow,
        ):
            if work.on_top:
                shadow.copy_from(self._store)
                work = self._on_top(shadow)  # the stream may have gone on since we looked
            shadow.apply(self._first(work))
            if not self._fill(spark, shadow, work, told):
                return False
            self._refuse_other_topics(work)
            self._store.replace_with(shadow)
        if not checkpoint.is_usable(self._settings.checkpoint):
            checkpoint.put_aside(self._settings.checkpoint, "a backfill has taken its place")
        return True

    def _on_top(self, store: Store) -> Work:
        """What a store has still to read: Kafka is asked after it, so no end is before where it stands."""
        stored, ids = store.offsets(), store.topic_ids()
        with self._admin() as admin:
            return span.on_top(topics.extent(admin, self._settings, 0), stored, ids)

    def _beside(self, directory: Path) -> Beside:
        settings = self._settings
        return Beside(
            f"sqlite:///{directory / 'store.db'}",
            max_series=settings.max_series,
            max_groups=settings.max_groups,
            samples_per_group=settings.samples_per_group,
            max_bucketed_series=settings.max_bucketed_series,
        )

    def _first(self, work: Work) -> Batch:
        """Where every partition begins, and what is not read."""
        return Batch(
            query_id=self._query_id,
            batch_id=0,
            committed_at_ms=self._clock_ms(),
            offsets=work.plan.begin,
            topic_ids={topic: one for topic, one in work.ids.items() if one},
            marks={},
            series=(
                *self._missed(FORGOTTEN, work.forgotten),
                *self._missed(gaps.DELETED_UNREAD, work.unread),
            ),
        )

    def _fill(self, spark: SparkSession, shadow: Store, work: Work, told: Callable[[int, int], None]) -> bool:
        done, to_do = 0, work.records
        told(done, to_do)
        for number, part in enumerate(span.slices(work.plan, self._settings.max_offsets_per_trigger), 1):
            self._patiently(lambda: self._count(spark, shadow, part, number))  # noqa: B023 -- called at once
            if self._stop.is_set():
                return False
            done += sum(end - part.begin[place] for place, end in part.end.items())
            told(done, to_do)
        return True

    def _count(self, spark: SparkSession, shadow: Store, part: Plan, number: int) -> None:
        records = source.records_between(spark, self._settings, part.begin, part.end, self._query_id)
        batches = Batches(
            self._batch_settings,
            shadow,
            self._clock_ms,
            lambda batch: self._told(part, batch),
            refuse=_pass_over,
        )
        batches(records, number)

    def _told(self, part: Plan, batch: Batch) -> Batch:
        """With what was deleted before it was read; how long ago its newest event was is no lag."""
        missed = self._missed(gaps.DELETED_UNREAD, self._deleted(part, batch))
        return replace(batch, offsets=part.end, lag_ms=0, series=(*batch.series, *missed))

    def _deleted(self, part: Plan, batch: Batch) -> Mapping[str, int]:
        holes = gaps.holes(part, batch.first_offsets)
        if not holes:
            return {}
        with self._admin() as admin:
            return gaps.missed(holes, topics.offsets(admin, holes, OffsetSpec.EARLIEST))

    def _missed(self, reason: str, counts: Mapping[str, int]) -> list[SeriesDelta]:
        kafka_cluster, now_ms = self._settings.kafka_cluster, self._clock_ms()
        return [Ended(topic, reason, count).missed(kafka_cluster, now_ms) for topic, count in counts.items()]

    def _patiently(self, call: Callable[[], None]) -> None:
        """Wait for Kafka until the process is to stop; what else fails is raised."""
        failures = 0
        while not self._stop.is_set():
            try:
                return call()
            except (KafkaError, BackfillError, Py4JError, PySparkException) as error:
                failure = failure_of(error)
                if self._stop.is_set():
                    return None
                if not failure.kafka and not isinstance(error, BackfillError):
                    raise BackfillError(failure.message) from error
                failures += 1
                logger.error("%s; the backfill waits for it", failure.message)  # noqa: TRY400 -- one line
                self._stop.wait(self._backoff.delay_ms(failures, self._rng) / 1_000)
        return None

    def _refuse_other_topics(self, work: Work) -> None:
        with self._admin() as admin:
            now = topics.extent(admin, self._settings, 0)
        changed = sorted(topic for topic, one in work.ids.items() if now.ids.get(topic, one) != one)
        if changed:
            raise BackfillError(f"{', '.join(changed)}: made anew meanwhile; start the backfill again")

    @contextmanager
    def _admin(self) -> Iterator[KafkaAdminClient]:
        try:
            admin = cluster.connect(self._settings)
            try:
                yield admin
            finally:
                admin.close()
        except KafkaError as error:
            raise BackfillError(f"Kafka does not answer: {failure_of(error).message}") from error


def _pass_over(_refused: DataFrame, _settings: StreamingSettings) -> None:
    """What cannot be read was written to our dead letter topic when it was read first."""
