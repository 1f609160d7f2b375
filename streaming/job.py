"""The query, kept running: what fails is said in one line and begun again from where it was (KIP-580)."""

import contextlib
import logging
import threading
from collections.abc import Callable
from random import Random

from kafka.errors import KafkaError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from sqlalchemy.exc import SQLAlchemyError

from collector.contract.backoff import Backoff
from collector.health import unheard
from streaming import cluster, progress, rights, source, warm_up
from streaming.batches import Batches
from streaming.continuity import Continuity
from streaming.failure import failure_of
from streaming.heartbeat import KAFKA, STREAMING, Heartbeat
from streaming.memory import leave_records_alone
from streaming.queries import FAILURES
from streaming.settings import StreamingSettings
from streaming.source import Offsets
from streaming.store.batch import delta
from streaming.store.errors import FencedError
from streaming.store.series import BATCH_FAILURES
from streaming.store.store import Store
from streaming.store.stream_figures import BEHIND
from streaming.telemetry import SILENT, Telemetry

POLL_MS = 100

logger = logging.getLogger(__name__)


class Job:
    """Runs the query until ``stop`` is set; the batch under way is finished first."""

    def __init__(
        self,
        settings: StreamingSettings,
        store: Store,
        heartbeat: Heartbeat,
        stop: threading.Event,
        clock_ms: Callable[[], int],
        *,
        beat: Callable[[], None] = unheard,
        telemetry: Telemetry = SILENT,
    ) -> None:
        self._settings = settings
        self._store = store
        self._heartbeat = heartbeat
        self._stop = stop
        self._clock_ms = clock_ms
        self._beat = beat
        self._telemetry = telemetry
        self._continuity = Continuity(settings, store, clock_ms)
        self._looked_ms = 0

    def run(self, spark: SparkSession, rng: Random) -> None:
        """Run the query, and again after every failure; ``warm_up`` first, or the first batches are slow."""
        backoff = Backoff(self._settings.retry_backoff_ms, self._settings.retry_backoff_max_ms)
        failures = 0
        while not self._stop.is_set():
            self._beat()
            batches = Batches(self._settings, self._store, self._clock_ms, self._continuity.told)
            try:
                with self._continuity:
                    self._run_once(spark, batches, again=failures > 0)
            except Exception as error:  # noqa: BLE001 -- the process loop: whatever fails is tried again
                if self._stop.is_set():  # also when another stream has taken the store over
                    break
                failures = 1 if batches.applied else failures + 1
                self._failed(batches.error or error, failures)
                self._stop.wait(backoff.delay_ms(failures, rng) / 1_000)

    def warm_up(self, spark: SparkSession) -> None:
        """Let the JVM compile what every batch needs; what Python has loaded by then is no garbage."""
        began_ms = self._clock_ms()
        rehearse = Batches(self._settings, self._store, self._clock_ms).rehearse
        warm_up.run(spark, self._settings.events_topic, rehearse, self._stop)
        leave_records_alone()
        logger.info("warmed up in %d ms", self._clock_ms() - began_ms)

    def _run_once(self, spark: SparkSession, batches: Batches, *, again: bool) -> None:
        closed = self._continuity.settle()
        reading, missing = rights.without(closed, self._settings), rights.told(closed, self._settings)
        start = cluster.starting_offsets(self._store.offsets(), reading)
        query = self._begin(spark, batches, start, reading)
        if missing:
            logger.warning(missing)
        if again:
            logger.info("the query runs again, from where it was")
        self._heartbeat.say(KAFKA, up=True)
        self._heartbeat.say(STREAMING, up=True, message=missing, works=True)
        try:
            while query.isActive and not self._stop.wait(POLL_MS / 1_000):
                self._beat()
                self._look(query)
        finally:
            batches.stop()
            query.stop()
        if not self._stop.is_set():
            raise query.exception() or RuntimeError("the query ended by itself")

    def _look(self, query: StreamingQuery) -> None:
        """Look at topics and progress when it is time; what does not answer is the batches' to tell."""
        now_ms = self._clock_ms()
        if abs(now_ms - self._looked_ms) >= self._settings.topics_poll_interval_ms:
            self._looked_ms = now_ms
            with contextlib.suppress(KafkaError, SQLAlchemyError):
                behind = self._continuity.look()
                self._store.note_figures({BEHIND: behind, **progress.figures(query.lastProgress)})

    def _begin(
        self, spark: SparkSession, batches: Batches, begin: Offsets | None, settings: StreamingSettings
    ) -> StreamingQuery:
        writer = (
            source.records(spark, settings, begin)
            .writeStream.queryName(FAILURES)
            .option("checkpointLocation", settings.checkpoint.resolve().as_uri())
            .trigger(processingTime=f"{settings.trigger_interval_ms} milliseconds")
        )
        return writer.foreachBatch(batches).start()

    def _failed(self, error: Exception, failures: int) -> None:
        failure = failure_of(error)
        what = "Kafka" if failure.kafka else "the query"
        logger.error("%s failed, next attempt follows (%d so far): %s", what, failures, failure.message)
        self._count("kafka" if failure.kafka else "query")
        self._heartbeat.say(STREAMING, up=False, message=failure.message)
        if failure.kafka:
            self._heartbeat.say(KAFKA, up=False, message=failure.message)

    def _count(self, cause: str) -> None:
        now_ms = self._clock_ms()
        self._telemetry.failed(cause)
        with contextlib.suppress(SQLAlchemyError, FencedError):  # ``Store.hold`` has asked for the end
            self._store.count(delta(BATCH_FAILURES, {"cause": cause}, 1, first_ms=now_ms, last_ms=now_ms))
