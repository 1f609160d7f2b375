"""One pass over the raw records of a batch: here where they are few, else in the workers of Spark's tasks.

It gives what ``one_pass`` gives for plain events (``streaming.plain_events``), for whole ones
(``streaming.whole_events``) and for dead letters: their topics, and all of a few (``few_letters``). Unusual
events are handed over as they are, for ``one_pass``; a batch with too many of them, or in which an event may
stand twice, is doubtful: all of it is for ``one_pass``.

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
from typing import Any, Final, NamedTuple

import polars as pl
import pyarrow as pa
from pyspark.sql import DataFrame

from collector.contract.events import Position
from streaming.aggregates import few_letters
from streaming.aggregates.few_letters import FewLetters
from streaming.aggregates.one_pass import STATEFUL
from streaming.aggregates.plain_chunks import Chunk, meet, merged, summed_up
from streaming.aggregates.summary import LABELS, NO_POSITION, Summary, of_event
from streaming.decode import REDRIVEN_RECORD
from streaming.plain_events import ESCAPED, ORDINALS, unescaped
from streaming.whole_events import whole_event

MAX_NOT_PLAIN: Final = 2_000
"""Events of a task that are not plain, at most: they are looked at one by one."""
FETCHED_BYTES: Final = 1 << 26
"""What may be fetched at once; a batch with an event that is larger than its share goes to the workers."""
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
    """Plain and whole events and dead letters, and the records that are ``unusual``, None where none is."""

    summaries: list[Summary]
    unusual: DataFrame | None
    letters: FewLetters | None = None


class Few(NamedTuple):
    """How many records a small batch has at most, and whether dead letters are among them."""

    records: int
    has_letters: bool


def read(records: DataFrame, events_topic: str, now_ms: int, *, few: Few | None = None) -> PlainPass | None:
    """Run the pass; None where the batch is doubtful. The columns in are those of Spark's Kafka source.

    A ``few`` records are fetched, dead letters included: that is quicker than to wake a worker.
    """
    columns = _columns(events_topic)
    frame = _fetched(records, columns, few) if few else None
    letters = None
    if frame is None:
        chunks = _told(records, columns, now_ms)
    else:
        chunks = _here(frame.select(*columns), now_ms)
        if few and few.has_letters:
            found = frame.filter(pl.col("topic").is_not_null())
            letters = FewLetters(found.iter_rows(named=True), now_ms)
    if chunks is None or meet(chunk.lanes for chunk in chunks):
        return None
    labels = cache(_labels)  # many rows share them
    summaries = [
        _summary(row, events_topic, labels(row["labels"] or "{}"))
        for chunk in chunks
        for row in chunk.parts.iter_rows(named=True)
    ]
    unusual = []
    for partition, offset, at_ms, value in (row for chunk in chunks for row in chunk.not_plain.iter_rows()):
        event = whole_event(value)
        if event is not None:
            summaries.append(
                of_event(event, events_topic, partition, offset, stateful=event.kind in STATEFUL)
            )
        else:
            at = EPOCH + timedelta(milliseconds=at_ms)
            unusual.append((None, value, events_topic, partition, offset, at, None))
    frame_of = records.sparkSession.createDataFrame
    return PlainPass(summaries, frame_of(unusual, KAFKA) if unusual else None, letters)


def _fetched(records: DataFrame, columns: Mapping[str, str], few: Few) -> pl.DataFrame | None:
    """All records, None where one is larger than its share."""
    share = 1 << (FETCHED_BYTES // few.records).bit_length() - 1  # of few sizes: another one is another plan
    large = f"coalesce(octet_length({columns['value']}) > {share}, false)"
    bounded = {**columns, "value": f"IF({large}, NULL, {columns['value']})"}
    if few.has_letters:
        is_event = f"{columns['topic']} IS NULL"
        bounded |= {name: f"IF({is_event}, NULL, {what})" for name, what in few_letters.COLUMNS.items()}
        large += f" OR coalesce(IF({is_event}, NULL, {few_letters.size()}) > {share}, false)"
    frame = pl.DataFrame(pl.from_arrow(_slim(records, {**bounded, "is_large": large}).toArrow()))
    return None if frame["is_large"].any() else frame


def _here(records: pl.DataFrame, now_ms: int) -> list[Chunk] | None:
    """The chunk of all records, None where too many events are not plain."""
    chunk = summed_up(records, now_ms)
    return [chunk] if len(chunk.not_plain) <= MAX_NOT_PLAIN else None


def _told(records: DataFrame, columns: Mapping[str, str], now_ms: int) -> list[Chunk] | None:
    """A chunk of each task, None where one has too many events that are not plain."""
    tasks = _slim(records, columns).mapInArrow(_task(now_ms), TOLD).collect()
    if any(task.not_plain is None for task in tasks):
        return None
    return [Chunk(*(_frame(task[name]) for name in Chunk._fields)) for task in tasks]


def _columns(events_topic: str) -> dict[str, str]:
    """What the pass needs, in SQL; of dead letters the topic alone."""
    letter = f"topic != '{events_topic}'"
    return {
        "at_partition": "partition",
        "at_offset": "offset",
        "at_ms": "unix_millis(timestamp)",
        "topic": f"IF({letter}, topic, NULL)",
        "value": f"IF({letter}, NULL, value)",
        "redriven": f"IF({letter}, {REDRIVEN_RECORD}, NULL)",
    }


def _slim(records: DataFrame, columns: Mapping[str, str]) -> DataFrame:
    """As text: each function of Column is a word with the JVM."""
    return records.selectExpr(*(f"{expression} AS {name}" for name, expression in columns.items()))


def _task(now_ms: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _leave_modules_alone()
        chunks, not_plain = list[Chunk](), 0
        for batch in batches:
            chunks.append(summed_up(pl.DataFrame(pl.from_arrow(batch)), now_ms))
            not_plain += len(chunks[-1].not_plain)
        if chunks:
            told = {
                "parts": _packed(merged(chunk.parts for chunk in chunks)),
                "lanes": _packed(pl.concat(chunk.lanes for chunk in chunks)),
                "not_plain": _packed(pl.concat(chunk.not_plain for chunk in chunks))
                if not_plain <= MAX_NOT_PLAIN
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


def _labels(told: str) -> Mapping[str, str]:
    return {**NO_LABELS, **json.loads(told)}


def _summary(row: Mapping[str, Any], events_topic: str, labels: Mapping[str, str]) -> Summary:
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
        labels=labels,
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
