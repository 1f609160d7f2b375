"""What a task of an executor makes of its records: the same, however they come to it."""

import pickle
from collections.abc import Iterator
from dataclasses import replace
from random import Random

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deadwatch.contract import headers as names
from streaming import reader
from streaming.kernel import Context
from streaming.kernel.partial import Partial, summarise
from streaming.reader import summarise_task
from tests.hostile_headers import RECORDS
from tests.kafka_records import Headers, table
from tests.unit.streaming.kernel.test_partial import CONTEXT, VALUES, account, batch


@pytest.fixture(autouse=True)
def _garbage_is_collected_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_prepare", lambda: None)


def read(row: pa.RecordBatch) -> tuple[int, Partial]:
    """The number of records, and what they come to."""
    return row["records"][0].as_py(), pickle.loads(row["partial"][0].as_py())  # noqa: S301 -- made here


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=VALUES, headers=RECORDS, size=st.integers(1, 9), at_once=st.integers(1, 30))
def test_a_task_comes_to_the_same_however_its_records_are_split(
    monkeypatch: pytest.MonkeyPatch,
    values: list[bytes | None],
    headers: list[Headers],
    size: int,
    at_once: int,
) -> None:
    monkeypatch.setattr(reader, "SUMMED_RECORDS", at_once)
    records = table(batch(values, headers))
    [row] = summarise_task(CONTEXT, iter(records.to_batches(max_chunksize=size)))
    count, found = read(row)
    assert count == len(records)
    assert account(found) == account(summarise(records, CONTEXT))


def test_data_frames_come_to_the_driver_as_they_were() -> None:
    whole = summarise(table(batch([], [])), CONTEXT)
    _, found = read(next(summarise_task(CONTEXT, iter(table(batch([], [])).to_batches()))))
    assert whole.causes is not None
    assert found.causes is not None
    for sent, came in zip(whole.causes, found.causes, strict=True):
        assert isinstance(came, pl.DataFrame)
        assert came.schema == sent.schema
        assert sorted(map(repr, came.rows())) == sorted(map(repr, sent.rows()))


def test_what_a_task_has_found_of_one_cause_is_small_however_many_records_it_has() -> None:
    rng = Random(1)
    messages = [b"at %d: %s" % (number, b"%x" % rng.getrandbits(3_000)) for number in range(500)]
    records = [
        {"topic": "dlq", "offset": number, "headers": [(names.CONNECT_MESSAGE, message)], "value": b""}
        for number, message in enumerate(messages)
    ]
    one = [{**records[0], "offset": number} for number in range(500)]
    few = replace(CONTEXT, samples_per_group=1)
    sizes = [
        len(row["partial"][0].as_py())
        for found in (records, one)
        for row in summarise_task(few, iter(table(found).to_batches()))
    ]
    assert sizes[0] < 1.5 * sizes[1]


@pytest.mark.parametrize(
    ("records", "size", "at_once"),
    [(4, 1 << 40, [4, 4, 2]), (1_000, 1, [2, 2, 2, 2, 2]), (1_000, 1 << 40, [10])],
)
def test_so_many_records_or_bytes_are_summed_up_at_once(
    monkeypatch: pytest.MonkeyPatch, records: int, size: int, at_once: list[int]
) -> None:
    monkeypatch.setattr(reader, "SUMMED_RECORDS", records)
    monkeypatch.setattr(reader, "SUMMED_BYTES", size)
    seen = list[int]()

    def counting(found: pa.Table, context: Context) -> Partial:
        seen.append(len(found))
        return summarise(found, context)

    monkeypatch.setattr(reader, "summarise", counting)
    batches = table([{"offset": offset} for offset in range(10)]).to_batches(max_chunksize=2)
    assert len([*summarise_task(CONTEXT, iter(batches))]) == 1
    assert seen == at_once


def test_what_fails_while_it_is_read_fails_the_task() -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield from table([{"offset": 0}]).to_batches()
        raise OSError("the JVM has gone")

    with pytest.raises(OSError, match="has gone"):
        list(summarise_task(CONTEXT, batches()))


def test_what_fails_while_it_is_summed_up_fails_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_found: pa.Table, _context: Context) -> Partial:
        raise ValueError("of the kernel")

    monkeypatch.setattr(reader, "summarise", failing)
    with pytest.raises(ValueError, match="of the kernel"):
        list(summarise_task(CONTEXT, iter(table([{"offset": 0}]).to_batches())))


def test_a_task_without_records_has_no_row() -> None:
    assert [*summarise_task(CONTEXT, iter(()))] == []
