"""What happens to a batch: read, summed up by the kernel, merged into the store in one transaction.

Its records have the columns of ``kafka_source.as_events``; ``reader`` tells how they are read. While a batch
is merged, Spark begins the next one, and it is read; batches are merged in their order.

Refused events are written to our own dead letter topic first: a batch that is run again writes them again.
Records of a dead letter topic are never refused, so that no record can go round in circles. An exception
leaves the store as it was; Spark runs the same batch again when the query is restarted.
"""

import gc
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from deadwatch.contract import quarantine
from deadwatch.contract.events import RedriveWritten
from deadwatch.deadletter.dialects import reading
from deadwatch.store.batch import Batch
from deadwatch.store.store import Store
from streaming import cluster, deltas, kafka_source
from streaming.failure import panics_as_errors
from streaming.kernel import Context
from streaming.kernel.event_decoder import refusal
from streaming.kernel.partial import RECORDS, Partial, summarise_once
from streaming.reader import Reader
from streaming.settings import StreamingSettings
from streaming.telemetry import SILENT, Telemetry

QUERY_ID_PROPERTY: Final = "sql.streaming.queryId"
"""Spark's local property with the id that it gave the query, for traces."""
SINK: Final = "key binary, value binary, headers array<struct<key: string, value: binary>>"
"""The columns of Spark's Kafka sink."""
MAX_COPIED_BYTES: Final = 1_000_000
"""Key and value that are copied: with the headers below 1 MiB, ``max.request.size`` of Java's producer."""
LET_GO_AFTER: Final = 10
"""After so many batches Python collects its garbage. The data frames of py4j are cycles: as long as they are
there the JVM keeps their plans, about 150 kB a batch."""
SINK_SCHEMA: Final = pa.schema([RECORDS.field(name) for name in ("key", "value", "headers")])

log = logging.getLogger(__name__)


class StoppedError(Exception):
    """The process is stopping: the batch was not begun."""


class Batches:
    """Spark's ``foreachBatch``.

    ``complete`` adds to a batch what its records do not say, before it is merged. With ``quarantine_refused``
    records that cannot be read are written to our own dead letter topic.
    """

    def __init__(
        self,
        settings: StreamingSettings,
        store: Store,
        clock_ms: Callable[[], int],
        *,
        complete: Callable[[Batch], Batch] = lambda batch: batch,
        quarantine_refused: bool = True,
        telemetry: Telemetry = SILENT,
        small: int = kafka_source.SMALL_DEAD_LETTERS,
        stream: str = "",
    ) -> None:
        self._settings, self._store, self._clock_ms = settings, store, clock_ms
        self._complete, self._quarantine_refused = complete, quarantine_refused
        self._telemetry, self._stream = telemetry, stream
        self._reader = Reader(small)
        self._busy, self._merger = threading.Lock(), ThreadPoolExecutor(1, "merge")
        self._merging: Future[None] | None = None
        self._stopping, self.applied = False, 0
        self.error: Exception | None = None

    def stop(self) -> None:
        """Wait for the batches that are being read and merged; no other is begun."""
        self._stopping = True
        with self._busy:
            self._merger.shutdown()

    def settle(self) -> None:
        """Wait until the last batch that was read is merged; raises what that has met."""
        if self._merging is not None:
            self._merging.result()

    def __call__(self, records: DataFrame, batch_id: int) -> None:
        """Read one batch of Kafka's records, and have it merged once, while the next one is read."""
        with self._busy:
            if self._stopping:
                raise StoppedError
            try:
                query_id = records.sparkSession.sparkContext.getLocalProperty(QUERY_ID_PROPERTY) or ""
                summary, took_ms = self._summarised(records)
            except Exception as error:
                self.error = self.error or error
                raise
            self._merging = self._merger.submit(self._merge, summary, took_ms, query_id, batch_id)
            if batch_id % LET_GO_AFTER == LET_GO_AFTER - 1:
                gc.collect()

    def read(self, records: DataFrame) -> Batch:
        """What a batch of Kafka's records changes in the store."""
        return self._batch(*self._summarised(records))

    @panics_as_errors()
    def _summarised(self, records: DataFrame) -> tuple[Partial, int]:
        """What the kernel makes of a batch, and how long that took: without the wait for another."""
        settings, began_ms = self._settings, self._clock_ms()
        context = Context(settings.events_topic, began_ms, settings.samples_per_group, reading())
        summarise_all = self._reader.read(records)
        summary, waits_ms = summarise_all(context), self._clock_ms()
        self.settle()  # its sources were counted up to a position in the batch before this one, too
        waited_ms = self._clock_ms() - waits_ms
        summary = summarise_once(summary, summarise_all, context, self._store.marks)
        if self._quarantine_refused and any(key.refused for key in summary.events.sums):
            write_refused(records, settings)
        return summary, max(0, self._clock_ms() - began_ms - waited_ms)

    def _merge(self, summary: Partial, took_ms: int, query_id: str, batch_id: int) -> None:
        try:
            batch = replace(self._batch(summary, took_ms), query_id=query_id, batch_id=batch_id)
            self.merge(self._complete(batch))
        except Exception as error:
            self.error = error
            raise
        self.applied += 1

    def merge(self, batch: Batch) -> None:
        """Merge what was read; telemetry gets a batch that was merged before no second time."""
        began_ms = self._clock_ms()
        if self._store.apply(batch):
            self._telemetry.merged(batch, max(0, self._clock_ms() - began_ms))

    @panics_as_errors()
    def _batch(self, summary: Partial, took_ms: int) -> Batch:
        cluster, now_ms = self._settings.kafka_cluster, self._clock_ms()
        counted = deltas.counted(summary.causes, cluster, self._settings.max_groups)
        changes = deltas.state_changes(summary.events)
        awaited = any(isinstance(event, RedriveWritten) for event in changes) or self._store.awaits_returns()
        offsets = summary.offsets.rows_by_key(["topic", "partition"], named=True, unique=True)
        kept = self._settings.sample_payloads
        samples = counted.samples if kept else tuple(map(deltas.without_payload, counted.samples))
        return Batch(
            query_id="",
            batch_id=-1,
            stream=self._stream,
            committed_at_ms=now_ms,
            duration_ms=took_ms,
            records=sum(sums.events for sums in summary.events.sums.values()) + counted.records,
            lag_ms=max(0, now_ms - summary.observed_ms) if summary.observed_ms >= 0 else 0,
            offsets={partition: read["last"] + 1 for partition, read in offsets.items()},
            first_offsets={partition: read["first"] for partition, read in offsets.items()},
            marks=deltas.marks(summary.events),
            series=(
                *deltas.event_series(summary.events, self._settings.events_topic),
                *counted.series,
                *deltas.bounced(summary.causes, cluster),
            ),
            groups=counted.groups,
            samples=samples,
            events=changes,
            origins=deltas.origins(summary.causes, cluster) if awaited else (),
        )


def refused_records(records: DataFrame, events_topic: str, *, copies: bool) -> DataFrame:
    """The refused events of a batch, with the columns of Spark's Kafka sink.

    Without ``copies``, as by default in KIP-1191, key and value are null: the original is still in its topic.
    So are those of a record that would be too large with its headers.
    """
    events = records.where(F.col("topic") == events_topic)
    columns = events.selectExpr("topic", "partition", "offset", "event_key AS key", "value")
    return columns.mapInArrow(partial(_refuse_task, copies), SINK)


def write_refused(records: DataFrame, settings: StreamingSettings) -> None:
    """Write the refused events of a batch to our own dead letter topic, as KIP-1191 would write them.

    Where that does not exist and may not be created, they are dropped with an error line.
    """
    if not settings.quarantine_auto_create_topics_enable and not cluster.has_quarantine(settings):
        log.error(
            "%s does not exist: what cannot be read is counted and passed over; create the topic, or set"
            " quarantine_auto_create_topics_enable",
            settings.quarantine_topic,
        )
        return
    limits = {
        "kafka.max.block.ms": settings.default_api_timeout_ms,
        "kafka.delivery.timeout.ms": settings.default_api_timeout_ms,
        "kafka.request.timeout.ms": settings.request_timeout_ms,
    }
    refused = refused_records(records, settings.events_topic, copies=settings.quarantine_copy_record_enable)
    writer = refused.write.format("kafka").options(**settings.kafka.spark(), **limits)
    writer.option("topic", settings.quarantine_topic).save()


def _refuse_task(copies: bool, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = ((row, refusal(row["value"])) for row in batch.to_pylist())
        refused = [_refused(row, reason, copies) for row, reason in rows if reason]
        yield pa.RecordBatch.from_pylist(refused, schema=SINK_SCHEMA)


def _refused(row: dict[str, Any], reason: str, copies: bool) -> dict[str, object]:
    place = {name: row[name] for name in ("topic", "partition", "offset")}
    headers = quarantine.Context(**place, message=quarantine.MESSAGES[reason]).headers()
    names = ("key", "value")
    copied = copies and sum(len(row[name] or b"") for name in names) <= MAX_COPIED_BYTES
    content = {name: row[name] if copied else None for name in names}
    return {**content, "headers": [{"key": name, "value": text} for name, text in headers]}
