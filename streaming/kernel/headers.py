"""Headers of dead letter records parsed, for all records of a chunk at once.

The result is what ``deadwatch.deadletter.record.parse_record`` gives for each of them. Values that are no
UTF-8 text or no plain number are parsed one by one, with the functions of ``parse_record``.
"""

from collections.abc import Callable
from functools import reduce
from operator import or_
from typing import Final, NamedTuple

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

TEXTS: Final = ("source_topic", "consumergroup", "connector", "error_class", "message")
NUMBERS: Final = {"source_partition": INT_BYTES, "source_offset": LONG_BYTES}
NOWHERE: Final = -1

Indexes = npt.NDArray[np.int64]
"""For every record the index of one of its headers among the headers of all records, or ``NOWHERE``."""

_SEEN: Final = ("dialect", "error_class", "cause_class", "cause_message", "trace")
_NAMED: Final = {"thrown": pl.String, "thrown_message": pl.String}
_DTYPE: Final = {INT_BYTES: pl.Int32, LONG_BYTES: pl.Int64}


def parse(headers: pa.ListArray, topics: pl.Series, reading: Reading) -> pl.DataFrame:
    """A row for every record, in their order; ``topics`` are those that the records were read from.

    Columns out: ``dialect``; the ``TEXTS``, empty where no header has them; ``whole_message``, as much of the
    message as its pattern is made of; the ``NUMBERS``, null where no
    header has them; ``broken``, whether the value of one of these cannot be read; ``redriven``, whether a
    redrive has sent the record before and did not park it; ``order``, ``sent_from`` and ``moved_at_ms``, that
    redrive's id, the fingerprint that the record had then, and when it was moved, 0 where no header says
    so; ``traceparent``, empty where it is malformed.
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

    def has(self, name: str) -> pl.Series:
        """Whether a record has a header of this name."""
        return pl.Series(self.find(name) != NOWHERE)

    def last(self, number_of: Callable[[str], int]) -> npt.NDArray[np.int64]:
        """For every record the number of its last header whose name has one; 0 where none has."""
        numbers = np.array([number_of(name) for name in self._names], dtype=np.int64)
        of_header = numbers[self._name_of] if len(numbers) else np.zeros(0, dtype=np.int64)
        found = np.flatnonzero(of_header)
        return self._by_record(found, of_header[found], 0)

    def values(self, indexes: Indexes) -> pl.Series:
        """The values of these headers; null where there is none."""
        taken = self._values.take(pa.array(indexes, mask=indexes == NOWHERE))
        return pl.Series(pl.from_arrow(taken))

    def _by_record(
        self, headers: npt.NDArray[np.int64], values: npt.NDArray[np.int64], default: int
    ) -> npt.NDArray[np.int64]:
        """A value for every record: of several the last, because numpy assigns them in their order."""
        by_record = np.full(self._records, default)
        by_record[self._record_of[headers]] = values
        return by_record


class _Texts(NamedTuple):
    """Values as text, empty for null; one that is no UTF-8 is ``broken`` and is read as far as possible."""

    text: pl.Series
    broken: pl.Series


class _Parser:
    def __init__(self, headers: _Headers, topics: pl.Series, reading: Reading) -> None:
        self._headers, self._topics, self._reading = headers, topics, reading
        self._dialects = reading.dialects
        self._dialect = headers.last(self._dialect_of)

    def parse(self) -> pl.DataFrame:
        raw = {field: self._of_dialect(field) for field in (*TEXTS, *NUMBERS)}
        texts = {field: _texts(raw[field]) for field in TEXTS}
        numbers = {field: self._numbers(raw[field], width) for field, width in NUMBERS.items()}
        broken = [column.broken for column in texts.values()]
        broken += [raw[field].is_not_null() & number.is_null() for field, number in numbers.items()]
        read = {field: column.text for field, column in texts.items()}
        read["error_class"] = self._error_class(raw["error_class"], read["error_class"], read["message"])
        read |= {field: self._from_topic(field, raw[field], text) for field, text in read.items()}
        read |= self._thrown(read["error_class"], read["message"])
        ours = {"order": REDRIVE_ID, "sent_from": REDRIVE_GROUP, "traceparent": TRACEPARENT}
        names = pl.Series([UNKNOWN, *(dialect.name for dialect in self._dialects)])
        rows = pl.DataFrame(
            {
                "dialect": names.gather(self._dialect),
                **read,
                "whole_message": read["message"],
                **numbers,
                "broken": reduce(or_, broken),
                "redriven": self._headers.has(REDRIVE_ID) & ~self._headers.has(REDRIVE_PARKED_REASON),
                "moved_at_ms": self._named(REDRIVE_MOVED_AT_MS).cast(pl.Int64, strict=False).fill_null(0),
                **{field: self._named(header) for field, header in ours.items()},
            }
        )
        most_chars = dict.fromkeys((*read, *ours), MAX_TEXT_CHARS) | {"whole_message": MAX_MESSAGE_CHARS}
        return rows.with_columns(_storable(field, most) for field, most in most_chars.items()).with_columns(
            pl.when(pl.col("traceparent").str.contains(TRACEPARENT_FORM))
            .then("traceparent")
            .otherwise(pl.lit("")),
        )

    def _dialect_of(self, header: str) -> int:
        """The number of the first dialect that a header belongs to, from 1; 0 for none."""
        numbered = enumerate(self._dialects, 1)
        return next((number for number, dialect in numbered if dialect.has(header)), 0)

    def _of_dialect(self, field: str, of: npt.NDArray[np.bool_] | None = None) -> pl.Series:
        """The value of the header that has this field in the record's own dialect; only ``of`` these records.

        Of several headers of a field the first counts that the record has with a value.
        """
        indexes = np.full(len(self._dialect), NOWHERE)
        for number, dialect in enumerate(self._dialects, 1):
            mine = self._dialect == number
            if of is not None:
                mine &= of
            for name in filter(self._headers.knows, reversed(dialect.names(field))):
                found = self._headers.find_value(name, first=self._reading.first(dialect))
                indexes = np.where(mine & (found != NOWHERE), found, indexes)
        return self._headers.values(indexes)

    def _named(self, header: str) -> pl.Series:
        """The text of a header that belongs to no dialect; of Deadwatch's own the last always counts."""
        first = self._reading.first_counts and header not in OURS
        return _texts(self._headers.values(self._headers.find(header, first=first))).text

    def _error_class(self, raw: pl.Series, found: pl.Series, messages: pl.Series) -> pl.Series:
        """The dialect's header, or the short name of the message where the dialect has only messages."""
        for number, dialect in enumerate(self._dialects, 1):
            if dialect.error_classes:
                unnamed = raw.is_null() & pl.Series(self._dialect == number)
                named = messages.replace_strict(dialect.error_classes, default="", return_dtype=pl.String)
                found = found.zip_with(~unnamed, named)
        return found

    def _from_topic(self, field: str, raw: pl.Series, found: pl.Series) -> pl.Series:
        """The text, or what the dialect makes of the topic's name where it has none."""
        for number, dialect in enumerate(self._dialects, 1):
            made = dialect.from_topic.get(field)
            if made is not None:
                unnamed = raw.is_null() & pl.Series(self._dialect == number)
                by_topic = {topic: made.of(topic) for topic in self._topics.unique()}
                found = found.zip_with(
                    ~unnamed, self._topics.replace_strict(by_topic, return_dtype=pl.String)
                )
        return found

    def _thrown(self, classes: pl.Series, messages: pl.Series) -> dict[str, pl.Series]:
        """Class and message of the thrown exceptions; those that another one wraps are read one by one, once
        for all records that differ in their message alone.
        """
        none: tuple[str, ...] = ()
        wrappers = [none, *(dialect.wrappers for dialect in self._dialects)]
        wrapped = np.zeros(len(self._dialect), dtype=bool)
        for number in filter(wrappers.__getitem__, range(len(wrappers))):
            wrapped |= (self._dialect == number) & classes.is_in(list(wrappers[number])).to_numpy()
        rows = np.flatnonzero(wrapped)
        if not len(rows):
            return {"error_class": classes, "message": messages}
        names, why, traces = (_texts(self._of_dialect(field, wrapped).gather(rows)).text for field in CAUSES)
        seen = pl.DataFrame([self._dialect[rows], classes.gather(rows), names, why, traces], schema=_SEEN)
        distinct = seen.unique()
        of_trace = distinct.with_columns(_printed_causes(distinct["trace"])).rows()
        read = [thrown(one, by, why, printed, wrappers[number]) for number, one, by, why, printed in of_trace]
        columns = pl.DataFrame(read, schema=_NAMED, orient="row")
        found = seen.join(distinct.hstack(columns), on=seen.columns, how="left", maintain_order="left")
        message = found["thrown_message"].fill_null(messages.gather(rows))
        return {
            "error_class": classes.scatter(rows, found["thrown"]),
            "message": messages.scatter(rows, message),
        }

    def _numbers(self, raw: pl.Series, width: int) -> pl.Series:
        """Numbers as text or as bytes of this width; text that is no plain decimal number is parsed alone."""
        are_binary = pl.Series([False, *(dialect.binary_numbers for dialect in self._dialects)])
        is_binary = are_binary.gather(self._dialect)
        text = pl.select(pl.when(is_binary).then(pl.lit(b"")).otherwise(raw)).to_series()
        number = _texts(text).text.cast(pl.Int64, strict=False)
        bound = 1 << (8 * width - 1)
        number = number.set(~number.is_between(-bound, bound - 1), None)
        odd = (raw.is_not_null() & ~is_binary & number.is_null()).arg_true()
        if len(odd):
            alone = [number_of(value, width, is_binary=False) for value in raw.gather(odd)]
            number = number.scatter(odd, alone)
        fits = (is_binary & (raw.bin.size() == width)).arg_true()
        if len(fits):
            big_endian = raw.gather(fits).bin.reinterpret(dtype=_DTYPE[width], endianness="big")
            number = number.scatter(fits, big_endian.cast(pl.Int64))
        return number


def _texts(raw: pl.Series) -> _Texts:
    try:
        return _Texts(raw.cast(pl.String).fill_null(""), pl.Series(np.zeros(len(raw), dtype=bool)))
    except pl.exceptions.ComputeError:
        texts = [(value or b"").decode(errors="replace") for value in raw]
        broken = [not is_utf8(value) for value in raw]
        return _Texts(pl.Series(texts, dtype=pl.String), pl.Series(broken, dtype=pl.Boolean))


def _printed_causes(traces: pl.Series) -> pl.Series:
    """``thrown.printed_causes`` of each stack trace."""
    printed = pl.element().str.splitn(FRAMES, 2).struct.field("field_0")
    return traces.str.split(CAUSED_BY).list.slice(1).list.eval(printed)


def _storable(column: str, most_chars: int) -> pl.Expr:
    return pl.col(column).str.slice(0, most_chars).str.replace_all("\x00", REPLACEMENT, literal=True)
