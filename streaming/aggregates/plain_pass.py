"""One pass over the raw records of a backlog, in the Python workers of Spark's tasks.

It gives what ``one_pass`` gives for plain events (``streaming.plain_events``) and for dead letters, of which
no more than the topic is told here. Unusual events are handed over as they are, for ``one_pass``; a batch
with too many of them, or in which an event may stand twice, is doubtful: all of it is for ``one_pass``.

No event stands twice where the positions of a source grow from record to record of a partition, and where
those of a source in several partitions do not overlap.
"""

import gc
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

import polars as pl
import pyarrow as pa
from pyspark.sql import DataFrame

from collector.contract.events import Position
from streaming.aggregates.plain_chunks import Chunk, meet, merged, summed_up
from streaming.aggregates.summary import LABELS, NO_POSITION, Summary
from streaming.decode import REDRIVEN_RECORD
from streaming.plain_events import ESCAPED, ORDINALS, unescaped

MAX_UNUSUAL: Final = 2_000
"""Unusual events of a task that are handed over."""
TOLD: Final = ", ".join(f"{name} binary" for name in Chunk._fields)
"""What a task tells: the frames of a chunk."""
KAFKA: Final = (
    "key binary, value binary, topic string, partition int, offset long, timestamp timestamp, "
    "headers array<struct<key:string, value:binary>>"
)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
NUMBERS: Final = ("count", "first_ms", "last_ms", "observed_ms", "first_offset", "last_offset")
NO_LABELS: Final[Mapping[str, str]] = dict.fromkeys(LABELS, "")


@dataclass(frozen=True, slots=True)
class PlainPass:
    """Plain events and dead letters, and the records that are ``unusual``, None where none is."""

    summaries: list[Summary]
    unusual: DataFrame | None


def read(records: DataFrame, events_topic: str, now_ms: int) -> PlainPass | None:
    """Run the pass; None where the batch is doubtful. The columns in are those of Spark's Kafka source."""
    tasks = _slim(records, events_topic).mapInArrow(_task(now_ms), TOLD).collect()
    if any(task.unusual is None for task in tasks) or meet(_frame(task.lanes) for task in tasks):
        return None
    rows = [
        (None, value, events_topic, partition, offset, EPOCH + timedelta(milliseconds=at_ms), None)
        for task in tasks
        for partition, offset, at_ms, value in _frame(task.unusual).iter_rows()
    ]
    return PlainPass(
        [_summary(row, events_topic) for task in tasks for row in _frame(task.parts).iter_rows(named=True)],
        records.sparkSession.createDataFrame(rows, KAFKA) if rows else None,
    )


def _slim(records: DataFrame, events_topic: str) -> DataFrame:
    """What the workers need; of dead letters the topic alone."""
    letter = f"topic != '{events_topic}'"
    return records.selectExpr(  # as text: each function of Column is a word with the JVM
        "partition AS at_partition",
        "offset AS at_offset",
        "unix_millis(timestamp) AS at_ms",
        f"IF({letter}, topic, NULL) AS topic",
        f"IF({letter}, NULL, value) AS value",
        f"IF({letter}, {REDRIVEN_RECORD}, NULL) AS redriven",
    )


def _task(now_ms: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _leave_modules_alone()
        chunks, unusual = list[Chunk](), 0
        for batch in batches:
            chunks.append(summed_up(pl.DataFrame(pl.from_arrow(batch)), now_ms))
            unusual += len(chunks[-1].unusual)
        if chunks:
            told = {
                "parts": _packed(merged(chunk.parts for chunk in chunks)),
                "lanes": _packed(pl.concat(chunk.lanes for chunk in chunks)),
                "unusual": _packed(pl.concat(chunk.unusual for chunk in chunks))
                if unusual <= MAX_UNUSUAL
                else None,
            }
            columns = {name: pa.array([told[name]], pa.binary()) for name in Chunk._fields}
            yield pa.RecordBatch.from_pydict(columns)

    return run


@cache
def _leave_modules_alone() -> None:
    """Spark collects the garbage of a worker after each task: else 40 ms, nearly all for imported modules."""
    gc.freeze()


def _packed(frame: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.write_ipc(file)
    return file.getvalue()


def _frame(packed: bytearray) -> pl.DataFrame:
    return pl.read_ipc(io.BytesIO(packed))


def _summary(row: Mapping[str, Any], events_topic: str) -> Summary:
    epoch = row["epoch"]
    detail = json.loads(row["detail"] or "{}")
    if ESCAPED in detail:
        detail[ESCAPED] = unescaped(detail[ESCAPED])
    return Summary(
        topic=row["topic"] or events_topic,
        partition=row["at_partition"],
        kind=row["kind"] or "",
        source=row["source"] or "",
        refused="",
        labels={**NO_LABELS, **json.loads(row["labels"] or "{}")},
        detail=detail,
        records=row["records"],
        redriven=row["redriven"],
        **{name: row[name] for name in NUMBERS},
        first_position=_position(epoch, row["first_place"]),
        last_position=_position(epoch, row["last_place"]),
        stateful=(),
    )


def _position(epoch: int | None, place: int) -> Position:
    return NO_POSITION if epoch is None else Position(epoch, *divmod(place, ORDINALS))
