"""Headers of dead letter records parsed, for all records of a chunk at once.

The result is what ``deadwatch.deadletter.record.parse_record`` gives for each of them. Values that are no
UTF-8 text or no plain number are parsed one by one, with the functions of ``parse_record``.
"""

from collections import ChainMap
from collections.abc import Callable, Mapping
from functools import partial, reduce
from operator import or_
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from deadwatch.contract.events import MAX_TEXT_CHARS
from deadwatch.contract.fingerprint import MAX_MESSAGE_CHARS
from deadwatch.contract.headers import (
    REDRIVE_GROUP,
    REDRIVE_ID,
    REDRIVE_MOVED_AT_MS,
    REDRIVE_PARKED_REASON,
    TRACEPARENT,
    TRACEPARENT_FORM,
)
from deadwatch.deadletter.dialects import UNKNOWN, Reading
from deadwatch.deadletter.dialects.dialect import CAUSES
from deadwatch.deadletter.record import INT_BYTES, LONG_BYTES, OURS, REPLACEMENT, is_utf8, number_of
from deadwatch.deadletter.thrown import CAUSED_BY, FRAMES, thrown
from streaming.kernel import of_each_distinct

TEXTS: Final = ("source_topic", "consumergroup", "connector", "error_class", "message")
NUMBERS: Final = {"source_partition": INT_BYTES, "source_offset": LONG_BYTES}
NAMED: Final = {
    "order": REDRIVE_ID,
    "sent_from": REDRIVE_GROUP,
    "moved_at_ms": REDRIVE_MOVED_AT_MS,
    "traceparent": TRACEPARENT,
}
"""Columns from headers that belong to no dialect."""
NOWHERE: Final = -1

Indexes = npt.NDArray[np.int64]
"""For every record the index of one of its headers among the headers of all records, or ``NOWHERE``."""
Mask = npt.NDArray[np.bool_]
"""For every record whether something is so."""

_THROWN: Final = {"thrown": pl.String, "thrown_message": pl.String}
_DTYPE: Final = {INT_BYTES: pl.Int32, LONG_BYTES: pl.Int64}


def parse(headers: pa.ListArray, topics: pl.Series, reading: Reading) -> pl.DataFrame:
    """A row for every record, in their order; ``topics`` are those that the records were read from.

    Columns out: ``dialect``; the ``TEXTS``, empty where no header has them; ``whole_message``, as much of the
    message as its pattern is made of; the ``NUMBERS``, null where no header has them; ``broken``, whether the
    value of one of these cannot be read; ``redriven``, whether a redrive has sent the record before and did
    not park it; ``order``, ``sent_from`` and ``moved_at_ms``, that redrive's id, the fingerprint that the
    record had then, and when it was moved, 0 where no header says so; ``traceparent``, empty where it is
    malformed.
    """
    return _Parser(_Headers(headers), topics, reading).parse()


class _Headers:
    """The headers of many records: structs of a name and a binary value, as Spark's Kafka source gives them.

    Names are numbered once, so that no function looks at each record.
    """

    def __init__(self, headers: pa.ListArray) -> None:
        lengths = headers.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        keys, self._values = headers.flatten().flatten()
        encoded = keys.dictionary_encode()
        self._records = len(headers)
        self._record_of = np.repeat(np.arange(self._records), lengths)
        self._name_of = encoded.indices.to_numpy(zero_copy_only=False)
        self._names: list[str] = encoded.dictionary.to_pylist()
        self._number_of = {name: number for number, name in enumerate(self._names)}
        few = len(self._names) <= np.iinfo(np.int16).max  # numpy sorts these many times faster
        self._by_name = np.argsort(self._name_of.astype(np.int16) if few else self._name_of, kind="stable")
        self._ends = np.cumsum(np.bincount(self._name_of, minlength=len(self._names)))
        self._has_value = self._values.is_valid().to_numpy(zero_copy_only=False)

    def knows(self, name: str) -> bool:
        """Whether any of the records has a header of this name."""
        return name in self._number_of

    def find(self, name: str, *, first: bool = False) -> Indexes:
        """The header of this name; where a record has several, the last or the first."""
        number = self._number_of.get(name)
        if number is None:
            return np.full(self._records, NOWHERE)
        found = self._by_name[self._ends[number - 1] if number else 0 : self._ends[number]]
        in_turn = found[::-1] if first else found
        return self._by_record(in_turn, in_turn, NOWHERE)

    def find_value(self, name: str, *, first: bool) -> Indexes:
        """The same; ``NOWHERE`` also where its value is null."""
        found = self.find(name, first=first)
        known = np.flatnonzero(found != NOWHERE)
        found[known[~self._has_value[found[known]]]] = NOWHERE
        return found

    def has(self, name: str) -> Mask:
        """Whether a record has a header of this name."""
        is_there: Mask = self.find(name) != NOWHERE
        return is_there

    def last(self, number_of: Callable[[str], int]) -> npt.NDArray[np.int64]:
        """For every record the number of its last header whose name has one; 0 where none has."""
        numbers = np.array([number_of(name) for name in self._names], dtype=np.int64)
        of_header = numbers[self._name_of] if len(numbers) else np.zeros(0, dtype=np.int64)
        found = np.flatnonzero(of_header)
        return self._by_record(found, of_header[found], 0)

    def values(self, indexes: Mapping[str, Indexes]) -> pl.DataFrame:
        """The values of these headers, a column each; null where there is none."""
        masked = {name: pa.array(found, mask=found == NOWHERE) for name, found in indexes.items()}
        taken = {name: self._values.take(places) for name, places in masked.items()}
        return pl.DataFrame(pl.from_arrow(pa.table(taken)))

    def _by_record(
        self, headers: npt.NDArray[np.int64], values: npt.NDArray[np.int64], default: int
    ) -> npt.NDArray[np.int64]:
        """A value for every record: of several the last, because numpy assigns them in their order."""
        by_record = np.full(self._records, default)
        by_record[self._record_of[headers]] = values
        return by_record


class _Parser:
    """Each call of Polars takes 0.1 ms, however few the records are: one call makes as much as it can."""

    def __init__(self, headers: _Headers, topics: pl.Series, reading: Reading) -> None:
        self._headers, self._topics, self._reading = headers, topics, reading
        self._dialects = reading.dialects
        self._dialect = headers.last(self._dialect_of)
        self._found = {field: self._of_dialect(field) for field in (*TEXTS, *NUMBERS)}
        binary = [False, *(dialect.binary_numbers for dialect in self._dialects)]
        self._has_binary = np.array(binary)[self._dialect]

    def parse(self) -> pl.DataFrame:
        as_text = {field: np.where(self._has_binary, NOWHERE, self._found[field]) for field in NUMBERS}
        named = {column: self._named(header) for column, header in NAMED.items()}
        texts, broken = _texts(self._headers.values({**self._found, **as_text, **named}))
        read = self._thrown(self._completed(texts.to_dict()))
        read |= {"whole_message": read["message"], "number": pl.Series(self._dialect)}
        dialects = pl.Series([UNKNOWN, *(dialect.name for dialect in self._dialects)])
        is_valid = pl.col("traceparent").str.contains(TRACEPARENT_FORM)
        rows = pl.DataFrame(read).select(
            pl.lit(dialects).gather("number").alias("dialect"),
            *(_storable(column, MAX_TEXT_CHARS) for column in (*TEXTS, "order", "sent_from")),
            _storable("whole_message", MAX_MESSAGE_CHARS),
            *(_plain_number(field, width) for field, width in NUMBERS.items()),
            pl.col("moved_at_ms").cast(pl.Int64, strict=False).fill_null(0),
            pl.when(is_valid).then("traceparent").otherwise(pl.lit("")),
        )
        numbers = {field: self._number(rows[field], width) for field, width in NUMBERS.items()}
        unread = [self._unread(number) for number in numbers.values()]
        is_broken = reduce(or_, (*unread, *(broken[field] for field in TEXTS if field in broken)))
        redriven = self._headers.has(REDRIVE_ID) & ~self._headers.has(REDRIVE_PARKED_REASON)
        return pl.DataFrame(rows.to_dict() | numbers | {"broken": is_broken, "redriven": redriven})

    def _dialect_of(self, header: str) -> int:
        """The number of the first dialect that a header belongs to, from 1; 0 for none."""
        numbered = enumerate(self._dialects, 1)
        return next((number for number, dialect in numbered if dialect.has(header)), 0)

    def _of_dialect(self, field: str) -> Indexes:
        """The header that has this field in the record's own dialect.

        Of several headers of a field the first counts that the record has with a value.
        """
        indexes = np.full(len(self._dialect), NOWHERE)
        for number, dialect in enumerate(self._dialects, 1):
            for name in filter(self._headers.knows, reversed(dialect.names(field))):
                found = self._headers.find_value(name, first=self._reading.first(dialect))
                indexes = np.where((self._dialect == number) & (found != NOWHERE), found, indexes)
        return indexes

    def _named(self, header: str) -> Indexes:
        """A header that belongs to no dialect; of Deadwatch's own the last always counts."""
        return self._headers.find(header, first=self._reading.first_counts and header not in OURS)

    def _completed(self, texts: dict[str, pl.Series]) -> dict[str, pl.Series]:
        """With what is no header's: the short name of the message, where the dialect has only messages, and
        what a dialect makes of the topic's name.
        """
        for number, dialect in enumerate(self._dialects, 1):
            made_of = dict[str, tuple[pl.Series, Callable[[str], str]]]()
            if dialect.error_classes:
                made_of["error_class"] = (texts["message"], partial(_short_name, dialect.error_classes))
            made_of |= {field: (self._topics, made.of) for field, made in dialect.from_topic.items()}
            for field, (source, make) in made_of.items():
                rows = np.flatnonzero((self._dialect == number) & (self._found[field] == NOWHERE))
                if len(rows):
                    made = of_each_distinct(source.gather(rows), make)
                    texts[field] = texts[field].scatter(rows, made)
        return texts

    def _thrown(self, texts: dict[str, pl.Series]) -> dict[str, pl.Series]:
        """With class and message of the thrown exceptions; those that another one wraps are read one by one,
        once for all records that differ in their message alone.
        """
        classes, messages = texts["error_class"], texts["message"]
        wrappers: list[tuple[str, ...]] = [(), *(dialect.wrappers for dialect in self._dialects)]
        wrapped = np.zeros(len(self._dialect), dtype=bool)
        for number in filter(wrappers.__getitem__, np.unique(self._dialect)):
            wrapped |= (self._dialect == number) & classes.is_in(list(wrappers[number])).to_numpy()
        rows = np.flatnonzero(wrapped)
        if not len(rows):
            return texts
        causes, _ = _texts(self._headers.values({field: self._of_dialect(field)[rows] for field in CAUSES}))
        seen = causes.hstack([classes.gather(rows), pl.Series("number", self._dialect[rows])])
        distinct = seen.unique()
        of_trace = distinct.with_columns(_printed_causes("stacktrace")).rows()
        read = [thrown(one, by, why, printed, wrappers[number]) for by, why, printed, one, number in of_trace]
        columns = pl.DataFrame(read, schema=_THROWN, orient="row")
        found = seen.join(distinct.hstack(columns), on=seen.columns, how="left", maintain_order="left")
        message = found["thrown_message"].fill_null(messages.gather(rows))
        return texts | {
            "error_class": classes.scatter(rows, found["thrown"]),
            "message": messages.scatter(rows, message),
        }

    def _number(self, number: pl.Series, width: int) -> pl.Series:
        """With those that are no plain decimal text: bytes of this width, and text that is parsed alone."""
        found, unread = self._found[number.name], self._unread(number)
        odd, packed = np.flatnonzero(unread & ~self._has_binary), np.flatnonzero(unread & self._has_binary)
        if len(odd):
            texts = self._headers.values({number.name: found[odd]}).to_series()
            number = number.scatter(odd, [number_of(text, width, is_binary=False) for text in texts])
        if len(packed):
            raw = self._headers.values({number.name: found[packed]}).to_series()
            big_endian = raw.bin.reinterpret(dtype=_DTYPE[width], endianness="big")
            number = number.scatter(packed, big_endian.cast(pl.Int64))
        return number

    def _unread(self, number: pl.Series) -> Mask:
        """Whether a header has a value for this field that ``number`` has not."""
        is_null = number.to_arrow().is_null().to_numpy(zero_copy_only=False)
        unread: Mask = is_null & (self._found[number.name] != NOWHERE)
        return unread


def _texts(raw: pl.DataFrame) -> tuple[pl.DataFrame, Mapping[str, Mask]]:
    """Values as text, empty for null, and which are no UTF-8, of each column that has such ones: they are
    read as far as possible.
    """
    try:
        return raw.select(pl.all().cast(pl.String).fill_null("")), {}
    except pl.exceptions.ComputeError:
        if raw.width > 1:
            texts, broken = zip(*(_texts(raw.select(name)) for name in raw.columns), strict=True)
            return pl.DataFrame([text.to_series() for text in texts]), ChainMap(*broken)
        (name,), values = raw.columns, raw.to_series()
        read = [(value or b"").decode(errors="replace") for value in values]
        return pl.DataFrame({name: read}), {name: np.array([not is_utf8(value) for value in values])}


def _short_name(error_classes: Mapping[str, str], message: str) -> str:
    return error_classes.get(message, "")


def _plain_number(column: str, width: int) -> pl.Expr:
    """Decimal text as a number; null for all else."""
    number, bound = pl.col(column).cast(pl.Int64, strict=False), 1 << (8 * width - 1)
    return pl.when(number.is_between(-bound, bound - 1)).then(number)


def _printed_causes(column: str) -> pl.Expr:
    """``thrown.printed_causes`` of each stack trace."""
    printed = pl.element().str.splitn(FRAMES, 2).struct.field("field_0")
    return pl.col(column).str.split(CAUSED_BY).list.slice(1).list.eval(printed)


def _storable(column: str, most_chars: int) -> pl.Expr:
    return pl.col(column).str.slice(0, most_chars).str.replace_all("\x00", REPLACEMENT, literal=True)
