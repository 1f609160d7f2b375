"""One pass over the raw records of a batch: here where they are few, else in the workers of Spark's tasks.

It gives what ``one_pass`` gives for plain events (``streaming.plain_events``), for whole ones
(``streaming.whole_events``) and for dead letters: their topics, and where they are few all of them
(``few_letters``), however many events there are. Unusual events are handed over as they are, for
``one_pass``; a batch with too many of them, or in which an event may stand twice, is doubtful: then all of
it is.

No event stands twice where the positions of a source grow from record to record of a partition, and where
those of a source in several partitions do not overlap.
"""

import gc
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
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
LARGE_BATCH: Final = 5_000
"""Records from which a batch is worth all cores, and so many dead letters a plan of Spark's."""
FETCHED_BYTES: Final = 1 << 26
"""What may be fetched at once: with an event larger than its share a batch is left to the workers, with a
dead letter whose headers are, all of these are left to Spark.
"""
LETTERS_ALIKE: Final = 1_024
"""Up to so many dead letters have 64 KiB of headers each."""
LETTERS: Final = "letters"
TOLD: Final = ", ".join(f"{name} binary" for name in (*Chunk._fields, LETTERS))
"""What a task tells: the frames of a chunk, and dead letters."""
KAFKA: Final = (
    "key binary, value binary, topic string, partition int, offset long, timestamp timestamp, "
    "headers array<struct<key:string, value:binary>>"
)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
NUMBERS: Final = ("count", "first_ms", "last_ms", "observed_ms", "first_offset", "last_offset")
NO_LABELS: Final[Mapping[str, str]] = dict.fromkeys(LABELS, "")


@dataclass(frozen=True, slots=True)
class PlainPass:
    """Plain and whole events; the ``unusual`` ones, None where none is; dead letters, None where many are."""

    summaries: list[Summary]
    unusual: DataFrame | None
    letters: FewLetters | None = None


class Planned(NamedTuple):
    """How many records a batch has at most, and how many of them are dead letters."""

    records: int
    letters: int

    @property
    def is_small(self) -> bool:
        """Whether one task reads it, for us to look at."""
        return self.records < LARGE_BATCH

    @property
    def has_few_letters(self) -> bool:
        """Whether dead letters come here."""
        return 0 < self.letters < LARGE_BATCH


def read(
    records: DataFrame, events_topic: str, now_ms: int, planned: Planned | None = None
) -> PlainPass | None:
    """Run the pass; None where the batch is doubtful. The columns in are those of Spark's Kafka source.

    A small batch is fetched: that is quicker than to wake a worker.
    """
    columns = _columns(events_topic)
    frame = _fetched(records, columns, planned) if planned and planned.is_small else None
    if planned is None or frame is None:
        chunks, found = _told(records, columns, now_ms, planned)
    else:
        chunks, found = _here(frame, columns, now_ms, planned)
    if chunks is None or meet(chunk.lanes for chunk in chunks):
        return None
    letters = None if found is None else FewLetters(found.iter_rows(named=True), now_ms)
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


def _fetched(records: DataFrame, columns: Mapping[str, str], planned: Planned) -> pl.DataFrame | None:
    """All records, None where an event is larger than its share."""
    large = f"coalesce(octet_length({columns['value']}) > {_share(planned.records)}, false)"
    bounded = {**columns, "value": f"IF({large}, NULL, {columns['value']})", "is_large": large}
    frame = pl.DataFrame(pl.from_arrow(_slim(records, bounded | _letters(columns, planned)).toArrow()))
    return None if frame["is_large"].any() else frame


def _share(records: int) -> int:
    """What each of so many may take of ``FETCHED_BYTES``: of few sizes, for another one is another plan."""
    return 1 << (FETCHED_BYTES // max(records, 1)).bit_length() - 1


def _letters(columns: Mapping[str, str], planned: Planned | None) -> dict[str, str]:
    """What is fetched of a few dead letters, in SQL; nothing of many."""
    if planned is None or not planned.has_few_letters:
        return {}
    is_event = f"{columns['topic']} IS NULL"
    fetched = few_letters.columns(_share(max(planned.letters, LETTERS_ALIKE)))
    return {name: f"IF({is_event}, NULL, {what})" for name, what in fetched.items()}


def _here(
    records: pl.DataFrame, columns: Mapping[str, str], now_ms: int, planned: Planned
) -> tuple[list[Chunk] | None, pl.DataFrame | None]:
    """The chunk of all records, None where too many events are not plain; and the dead letters, where few."""
    chunk = summed_up(records.select(*columns), now_ms)
    chunks = [chunk] if len(chunk.not_plain) <= MAX_NOT_PLAIN else None
    return chunks, _together([_letters_of(records)]) if planned.has_few_letters else None


def _told(
    records: DataFrame, columns: Mapping[str, str], now_ms: int, planned: Planned | None
) -> tuple[list[Chunk] | None, pl.DataFrame | None]:
    """A chunk of each task, None where one has too many events that are not plain; and the dead letters."""
    letters = _letters(columns, planned)
    task = _task(tuple(columns), now_ms, has_letters=bool(letters))
    tasks = _slim(records, {**columns, **letters}).mapInArrow(task, TOLD).collect()
    if any(task.not_plain is None for task in tasks):
        return None, None
    chunks = [Chunk(*(_frame(task[name]) for name in Chunk._fields)) for task in tasks]
    return chunks, _together([_frame(task[LETTERS]) for task in tasks]) if letters else None


def _letters_of(records: pl.DataFrame) -> pl.DataFrame:
    """The dead letters among them, as ``few_letters`` takes them."""
    return records.filter(pl.col("topic").is_not_null()).drop("value", "redriven")


def _together(frames: Sequence[pl.DataFrame]) -> pl.DataFrame | None:
    """All of them, None where Spark must read one."""
    letters = pl.concat(frames) if frames else None
    return None if letters is None or letters[few_letters.TOO_LARGE].any() else letters


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


def _task(
    columns: Sequence[str], now_ms: int, *, has_letters: bool
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _leave_modules_alone()
        chunks, letters, not_plain = list[Chunk](), list[pl.DataFrame](), 0
        for batch in batches:
            records = pl.DataFrame(pl.from_arrow(batch))
            chunks.append(summed_up(records.select(*columns), now_ms))
            not_plain += len(chunks[-1].not_plain)
            if has_letters:
                letters.append(_letters_of(records))
        if chunks:
            told = {
                "parts": _packed(merged(chunk.parts for chunk in chunks)),
                "lanes": _packed(pl.concat(chunk.lanes for chunk in chunks)),
                "not_plain": _packed(pl.concat(chunk.not_plain for chunk in chunks))
                if not_plain <= MAX_NOT_PLAIN
                else None,
                LETTERS: _packed(pl.concat(letters)) if letters else None,
            }
            yield pa.RecordBatch.from_pydict(
                {name: pa.array([frame], pa.binary()) for name, frame in told.items()}
            )

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
