"""The queries, kept running: after a failure they begin again where they were, with backoff (KIP-580)."""

import contextlib
import json
import logging
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from kafka.errors import KafkaError
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # ships no types
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from sqlalchemy.exc import SQLAlchemyError

from deadwatch.contract.backoff import Backoff
from deadwatch.runtime.health import unheard
from deadwatch.runtime.process import leave_records_alone
from deadwatch.store.batch import Offsets, delta
from deadwatch.store.errors import FencedError
from deadwatch.store.heartbeat import KAFKA, STREAMING, Heartbeat
from deadwatch.store.series import BATCH_FAILURES
from deadwatch.store.store import Store
from deadwatch.store.write.progress import BEHIND, PHASE, RATE, Figures
from streaming import cluster, kafka_source, warm_up
from streaming.batches import Batches
from streaming.failure import failure_of
from streaming.session import explained, refuse_ended
from streaming.settings import StreamingSettings
from streaming.telemetry import SILENT, Telemetry
from streaming.topic_tracker import TopicTracker

POLL_MS = 250
ADVANCE_MS = 500
"""How often it is noted where Spark has come without a record: over the markers of transactions."""
Progress = Mapping[str, Any]
"""``StreamingQuery.lastProgress``."""

UNTRACKED: Final = {
    "asyncProgressTrackingEnabled": "true",
    "asyncProgressTrackingCheckpointIntervalMs": str(24 * 3_600_000),
    "_asyncProgressTrackingOverrideSinkSupportCheck": "true",
}
"""Spark writes to its checkpoint, which nobody reads, in the background and once a day, not twice a batch.

Its check allows this for sinks of which it knows that they may get a batch again; the store refuses such one.
"""

PREFIX: Final = "query-"
EARLIER_CHECKPOINT: Final = ("sources", "state", "offsets", "commits", ".metadata.crc", "metadata")
"""What an earlier version let Spark keep; the last name tells that the files are Spark's."""

log = logging.getLogger(__name__)


class Running(NamedTuple):
    """A query that was started, and what happens to its batches."""

    query: StreamingQuery
    batches: Batches


class Job:
    """Runs the queries until ``stop`` is set; a batch that is being merged is finished."""

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
        self._settings, self._store, self._heartbeat = settings, store, heartbeat
        self._stop, self._clock_ms, self._beat, self._telemetry = stop, clock_ms, beat, telemetry
        self._tracker = TopicTracker(settings, store, clock_ms)
        self._checked_ms = self._advanced_ms = 0

    def run(self, spark: SparkSession, rng: Random) -> None:
        """Run the queries, and again after every failure.

        Raises:
            SessionError: Spark itself has ended: this process has to begin anew.
        """
        backoff = Backoff(self._settings.retry_backoff_ms, self._settings.retry_backoff_max_ms)
        failures = 0
        while not self._stop.is_set():
            self._beat()
            running: list[Running] = []
            try:
                with self._tracker:
                    self._run_once(spark, running, again=failures > 0)
            except Exception as error:  # noqa: BLE001 -- the process loop: whatever fails is tried again
                if self._stop.is_set():  # also when another stream has taken the store over
                    break
                refuse_ended(spark)
                failures = 1 if any(batches.applied for _, batches in running) else failures + 1
                cause = next((batches.error for _, batches in running if batches.error), error)
                if (record := kafka_source.untimely_record(str(cause))) is not None:
                    self._tracker.note_untimely(*record)
                self._failed(cause, failures)
                self._stop.wait(backoff.delay_ms(failures, rng) / 1_000)

    def warm_up(self, spark: SparkSession) -> None:
        """Let the JVM compile what every batch needs; what Python has loaded by then is no garbage.

        Raises:
            SessionError: Spark has ended, or does not run a query.
        """
        began_ms = self._clock_ms()
        rehearse = Batches(self._settings, self._store, self._clock_ms).read
        try:
            warm_up.run(spark, self._settings.events_topic, rehearse, self._stop)
        except (Py4JError, PySparkException) as error:
            refuse_ended(spark)
            raise explained(error, self._settings.master) from error
        except OSError:
            refuse_ended(spark)
            raise
        leave_records_alone()
        log.info("warmed up in %d ms", self._clock_ms() - began_ms)

    def _run_once(self, spark: SparkSession, running: list[Running], *, again: bool) -> None:
        left_out = self._tracker.settle()
        readable, untimely = cluster.without(left_out, self._settings), self._tracker.untimely
        rights = cluster.missing_rights(left_out - {topic for topic, _ in untimely}, self._settings)
        missing = "; ".join(filter(None, (rights, cluster.untimely_topics(untimely))))
        start = cluster.starting_offsets(self._store.offsets(), readable)
        with checkpoint_directory(self._settings.checkpoint.resolve()) as directory:
            try:
                for name, stream in kafka_source.streams(spark, readable, start).items():
                    running.append(self._begin(name, stream, directory))
                if missing:
                    log.warning(missing)
                if again:
                    log.info("the queries run again, from where they were")
                self._heartbeat.say(KAFKA, up=True)
                self._heartbeat.say(STREAMING, up=True, message=missing, works=True)
                self._watch(running)
            finally:
                for _, batches in running:
                    batches.stop()
                for query, _ in running:
                    query.stop()

    def _begin(self, name: str, stream: kafka_source.Stream, directory: Path) -> Running:
        complete, telemetry = self._tracker.complete, self._telemetry
        batches = Batches(
            self._settings,
            self._store,
            self._clock_ms,
            complete=complete,
            telemetry=telemetry,
            small=stream.small,
            stream=name,
        )
        writer = stream.records.writeStream.queryName(name).foreachBatch(batches)
        writer = writer.options(checkpointLocation=(directory / name).as_uri(), **UNTRACKED)
        writer = writer.trigger(processingTime=f"{self._settings.trigger_interval_ms} milliseconds")
        try:
            return Running(writer.start(), batches)
        except Exception:
            batches.stop()
            raise

    def _watch(self, running: Sequence[Running]) -> None:
        """Until ``stop`` is set; raises why one of the queries has ended before, or what a merge has met."""
        errors: tuple[Exception | None, ...] = ()
        while not any(errors) and all(query.isActive for query, _ in running):
            if self._stop.wait(POLL_MS / 1_000):
                return
            self._beat()
            self._track(running)
            errors = tuple(batches.error for _, batches in running)
        if not self._stop.is_set():
            errors += tuple(query.exception() for query, _ in running)
            raise next(filter(None, errors), None) or RuntimeError("a query ended by itself")

    def _track(self, running: Sequence[Running]) -> None:
        """Check the topics when it is time; if Kafka or the store does not answer, the batches report it."""
        now_ms = self._clock_ms()
        with contextlib.suppress(KafkaError, SQLAlchemyError):
            if abs(now_ms - self._checked_ms) >= self._settings.topics_poll_interval_ms:
                self._checked_ms = now_ms
                reports = self._reports(running)
                behind = self._tracker.check(end_offsets(reports))
                worked = figures_of(json.loads(report.json()) for report in reports)
                figures = {BEHIND: behind, **self._tracker.lag.figures, **worked}
                self._store.note_figures(figures)
                self._telemetry.figures(figures)
            elif abs(now_ms - self._advanced_ms) >= ADVANCE_MS:
                self._advanced_ms = now_ms
                self._tracker.advance(end_offsets(self._reports(running)))

    @staticmethod
    def _reports(running: Sequence[Running]) -> list[Any]:
        """Java's report of the last batch of each query that Spark has completed, when it is merged too.

        ``lastProgress`` would have Java write the whole of each: 45 ms for 2 000 partitions.
        """
        reports: list[Any] = [query._jsq.lastProgress() for query, _ in running]  # noqa: SLF001 -- as above
        for _, batches in running:
            batches.settle()
        return [report for report in reports if report is not None]

    def _failed(self, error: Exception, failures: int) -> None:
        failure = failure_of(error)
        subject = "Kafka" if failure.kafka else "a query"
        log.error("%s failed, next attempt follows (%d so far): %s", subject, failures, failure.message)
        cause, now_ms = "kafka" if failure.kafka else "query", self._clock_ms()
        self._telemetry.failed(cause)
        with contextlib.suppress(SQLAlchemyError, FencedError):  # ``Store.hold`` has asked for the end
            self._store.count(delta(BATCH_FAILURES, {"cause": cause}, 1, first_ms=now_ms, last_ms=now_ms))
        self._heartbeat.say(STREAMING, up=False, message=failure.message)
        if failure.kafka:
            self._heartbeat.say(KAFKA, up=False, message=failure.message)


@contextlib.contextmanager
def checkpoint_directory(parent: Path) -> Iterator[Path]:
    """A new directory for the checkpoints of one run, removed at its end with what killed runs have left.

    Nobody reads these checkpoints: a query begins at the offsets in the store, which are written in the
    transactions of the counts.
    """
    parent.mkdir(parents=True, exist_ok=True)
    is_sparks = (parent / EARLIER_CHECKPOINT[-1]).is_file()
    earlier = [parent / name for name in EARLIER_CHECKPOINT] if is_sparks else []
    for leftover in (*parent.glob(f"{PREFIX}*"), *earlier):
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=parent, ignore_cleanup_errors=True) as directory:
        yield Path(directory)


def figures_of(reports: Iterable[Progress]) -> Figures:
    """The sum of the rates, and the longest duration of each phase; triggers without records do not count."""
    working = [report for report in reports if report.get("numInputRows")]
    if not working:
        return {}
    phases: dict[str, int] = {}
    for phase, took_ms in (item for report in working for item in report["durationMs"].items()):
        phases[phase] = max(phases.get(phase, 0), int(took_ms))
    rate = sum(report.get("processedRowsPerSecond") or 0 for report in working)
    return {PHASE: phases, RATE: {"": round(rate)}}


def end_offsets(reports: Iterable[Any]) -> Offsets:
    """Where the last completed batch of each query ended, with or without records, as Java reports it."""
    ends = [source.endOffset() for report in reports for source in report.sources()]
    return {
        (topic, int(number)): offset
        for end in ends
        if end is not None
        for topic, partitions in json.loads(end).items()
        for number, offset in partitions.items()
    }
