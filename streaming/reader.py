"""How a batch is read and summed up: a small one in the driver, a large one in executors, by one function.

A batch is expected to be small after a small one, and scattered after a scattered one; one that proves to be
larger, or has a record that is too large to be fetched, is read by the executors.
"""

import copyreg
import io
import pickle
from collections.abc import Callable, Iterator
from enum import Enum, auto
from functools import cache, cached_property, partial
from typing import Final

import polars as pl
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from deadwatch.runtime.process import leave_records_alone
from streaming.kernel import Context
from streaming.kernel.partial import RECORDS, Partial, merge, summarise

PARTIAL: Final = "records long, partial binary"
SUMMED_RECORDS: Final = 25_000
SUMMED_BYTES: Final = 32 << 20
"""What a task sums up at once: at least so many records, or so many bytes. Spark hands it up to 64 MB at a
time: it holds up to 96 MB.
"""
PACKING: Final = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
PROJECTION: Final = "spark.sql.codegen.factoryMode"
MANY_PARTITIONS: Final = 16
FEW_RECORDS: Final = 50
"""A batch of many partitions with few records in each is scattered: what it takes is to begin partitions."""
OF_TASK: Final = (1 << 33) - 1
"""The bits of ``monotonically_increasing_id`` that count the records of a task, from 0."""
MOST_PARTS: Final = 8
"""Parts of a task that are merged at once, each with up to 1 000 samples."""


class Way(Enum):
    """How a batch is read."""

    ONE_TASK = auto()
    """To the driver, by one task."""
    ALL_TASKS = auto()
    """To the driver, by all tasks of the query: a scattered batch."""
    EXECUTORS = auto()
    """Summed up where it is read."""


class Reader:
    """Reads the batches of one query, one after the other: those of up to ``small`` records in the driver."""

    def __init__(self, small: int) -> None:
        self._small = small
        self.way = Way.ONE_TASK
        """The next batch is read in this way: the last one would have been read best so."""

    def read(self, records: DataFrame) -> Callable[[Context], Partial]:
        """A function that summarises the records of a batch at each call."""
        fetched = None if self.way is Way.EXECUTORS else self._fetched(records)
        if fetched is not None:
            return partial(summarise, fetched)
        return partial(self._by_executors, records)

    def _fetched(self, records: DataFrame) -> pa.Table | None:
        """The records; None where they are too many or one of them is too large."""
        found = self._some(records).toArrow()
        self._expect(records.sparkSession, self._way_of(found))
        return None if self.way is Way.EXECUTORS else found.select(RECORDS.names).cast(RECORDS)

    def _some(self, records: DataFrame) -> DataFrame:
        """More than ``small`` records where there are more: of a scattered batch so many of each task.

        A limit would have Spark send what its tasks have read to another task; but it ends the reading, and a
        filter does not.
        """
        if self.way is Way.ONE_TASK:
            return records.coalesce(1).select(*self._columns).limit(self._small + 1)
        number = F.monotonically_increasing_id().bitwiseAND(OF_TASK)
        return records.select(*self._columns).where(number <= self._small)

    def _way_of(self, found: pa.Table) -> Way:
        if len(found) > self._small or True in found["is_too_large"].unique().to_pylist():
            return Way.EXECUTORS
        partitions = len(found.group_by(["topic", "partition"]).aggregate([]))
        is_scattered = partitions >= MANY_PARTITIONS and len(found) <= FEW_RECORDS * partitions
        return Way.ALL_TASKS if is_scattered else Way.ONE_TASK

    def _expect(self, session: SparkSession, way: Way) -> None:
        """Have the next batch read in this way, and the row of a record of a scattered one made without code.

        Spark would write code for it anew for each partition, 1 ms, only to find that it has it compiled.
        """
        if way is self.way:
            return
        if way is Way.ALL_TASKS:
            session.conf.set(PROJECTION, "NO_CODEGEN")
        elif self.way is Way.ALL_TASKS:
            session.conf.unset(PROJECTION)
        self.way = way

    @cached_property
    def _columns(self) -> tuple[Column, ...]:
        """``RECORDS`` without what is too large for the driver, and which those are.

        Made once: Spark would parse SQL anew for each batch, 6 ms of 90.
        """
        of_any_size = {name: F.col(name) for name in (*RECORDS.names, "is_too_large")}
        fits = ~F.col("is_too_large")
        return tuple(
            F.when(fits, column).alias(name) if name in {"value", "headers"} else column
            for name, column in of_any_size.items()
        )

    def _by_executors(self, records: DataFrame, context: Context) -> Partial:
        columns = records.select(RECORDS.names)
        found = columns.mapInArrow(partial(summarise_task, context), PARTIAL).toArrow()
        is_small = sum(found["records"].to_pylist()) <= self._small
        self._expect(records.sparkSession, Way.ONE_TASK if is_small else Way.EXECUTORS)
        parts = [pickle.loads(part) for part in found["partial"].to_pylist()]  # noqa: S301 -- of our own task
        return merge(parts, context)


def summarise_task(context: Context, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row for all records of a task, with the columns of ``PARTIAL``; no row for no records."""
    _prepare()
    count, parts = 0, list[Partial]()
    for records in _together(batches):
        parts.append(summarise(records.cast(RECORDS), context))
        count += len(records)
        if len(parts) == MOST_PARTS:
            parts = [merge(parts, context)]
    if parts:
        yield pa.RecordBatch.from_pydict({"records": [count], "partial": [_packed(merge(parts, context))]})


def _reduced(found: pl.DataFrame) -> tuple[Callable[[bytes], pl.DataFrame], tuple[bytes]]:
    """A data frame as compressed Arrow, for pickle: Spark copies it several times on its way to the driver.

    Not as views, the newer form: those carry all of the texts that they were taken from.
    """
    table, packed = found.to_arrow(compat_level=pl.CompatLevel.oldest()), pa.BufferOutputStream()
    with pa.ipc.new_stream(packed, table.schema, options=PACKING) as stream:
        stream.write_table(table)
    return _unpacked, (packed.getvalue().to_pybytes(),)


def _unpacked(packed: bytes) -> pl.DataFrame:
    return pl.DataFrame(pl.from_arrow(pa.ipc.open_stream(packed).read_all()))


class _Packer(pickle.Pickler):
    dispatch_table = {**copyreg.dispatch_table, pl.DataFrame: _reduced}  # noqa: RUF012 -- as pickle wants it


def _packed(found: Partial) -> bytes:
    packed = io.BytesIO()
    _Packer(packed).dump(found)
    return packed.getvalue()


def _together(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Some batches at a time: what a sum costs besides its records is then shared by more of them."""
    found, size = list[pa.RecordBatch](), 0
    for batch in batches:
        found.append(batch)
        size += batch.nbytes
        if sum(map(len, found)) >= SUMMED_RECORDS or size >= SUMMED_BYTES:
            yield pa.Table.from_batches(found)
            found, size = [], 0
    if found:
        yield pa.Table.from_batches(found)


_prepare = cache(leave_records_alone)
"""Spark collects a worker's garbage after each task: without this 40 ms, mostly for imported modules."""
