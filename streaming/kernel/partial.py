"""The two functions of the kernel: ``summarise`` sums up some records of a batch, ``merge`` such results.

How the records of a batch are split, and in which order the parts are merged, makes no difference.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from deadwatch.contract.events import Position
from streaming.kernel import Context, causes, events
from streaming.kernel.causes import Causes
from streaming.kernel.events import EventCounts

RECORDS: Final = pa.schema(
    {
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "timestamp_ms": pa.int64(),
        "key": pa.binary(),
        "value": pa.binary(),
        "key_bytes": pa.int32(),
        "value_bytes": pa.int32(),
        "headers": pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()})),
    }
)
"""Raw records of Kafka. ``key`` and ``value`` of a dead letter record may be cut; ``key_bytes`` and
``value_bytes`` are their full lengths, -1 for null. Events need neither lengths nor headers.
"""


_NOTHING_READ: Final = pl.DataFrame(
    schema={"topic": pl.String, "partition": pl.Int32, "first": pl.Int64, "last": pl.Int64}
)


@dataclass(frozen=True, slots=True)
class Partial:
    """What some records of a batch change: event counts, dead letters by cause, and which offsets were read.

    ``offsets`` has a row for every partition, with the columns topic, partition, ``first`` and ``last``.
    ``causes`` is None where there was no dead letter. ``observed_ms`` is when the newest event was seen or
    the newest dead letter was written, in ms since the epoch; -1 for none.
    """

    offsets: pl.DataFrame
    events: EventCounts
    causes: Causes | None
    observed_ms: int


def summarise(records: pa.Table, context: Context) -> Partial:
    """Sum up records with the columns of ``RECORDS``; those of a partition in the order of their offsets."""
    is_event = pc.equal(records["topic"], context.events_topic)
    of_events, of_dead_letters = _where(records, is_event), _where(records, pc.invert(is_event))
    counts = events.count(of_events, context)
    offsets = pl.DataFrame(pl.from_arrow(records.select(["topic", "partition", "offset"])))
    newest_ms = [sums.observed_ms for sums in counts.sums.values()]
    if len(of_dead_letters):
        newest_ms.append(pc.max(of_dead_letters["timestamp_ms"]).as_py())
    return Partial(
        _first_and_last(offsets, "offset", "offset"),
        counts,
        causes.count(of_dead_letters, context) if len(of_dead_letters) else None,
        max(newest_ms, default=-1),
    )


def merge(parts: Sequence[Partial], context: Context) -> Partial:
    """What the records of all parts change."""
    if len(parts) == 1:
        return parts[0]
    return Partial(
        _first_and_last(pl.concat([_NOTHING_READ, *(part.offsets for part in parts)])),
        events.merge([part.events for part in parts]),
        causes.merge([part.causes for part in parts if part.causes is not None], context),
        max((part.observed_ms for part in parts), default=-1),
    )


def summarise_once(
    partial: Partial,
    summarise_all: Callable[[Context], Partial],
    context: Context,
    marks_of: Callable[[frozenset[str]], Mapping[str, Position]],
) -> Partial:
    """What the records of a batch change, each event counted once.

    ``summarise_all`` has summed up the whole batch to ``partial``; ``marks_of`` says up to which position
    sources were counted before; without a source it is not asked. Where a source may have sent an event
    again, which happens after a crash of the sender, the batch is summed up a second time.
    """
    sources = frozenset(run.source for run in partial.events.runs)
    replayed = partial.events.replayed(marks_of(sources) if sources else {})
    if not replayed:
        return partial
    again = summarise_all(replace(context, replayed=replayed))
    return replace(again, events=again.events.deduplicated())


def _where(records: pa.Table, mask: pa.ChunkedArray) -> pa.Table:
    """The records of the mask; no copy where these are all, as mostly events and dead letters come apart."""
    return records if pc.all(mask).as_py() else records.filter(mask)


def _first_and_last(offsets: pl.DataFrame, first: str = "first", last: str = "last") -> pl.DataFrame:
    ends = pl.col(first).min().alias("first"), pl.col(last).max().alias("last")
    return offsets.group_by("topic", "partition").agg(ends)
