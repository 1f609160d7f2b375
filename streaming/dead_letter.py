"""What the headers of a dead letter say, as Spark expressions over the table of dialects.

Text that is not UTF-8 keeps what can be read of it, NUL (which no database stores) becomes U+FFFD, a number
that is none is null: the letter is ``broken`` then, and counted all the same.
"""

import re
from collections.abc import Mapping
from functools import cache, reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from collector.contract.events import MAX_TEXT_CHARS
from collector.contract.headers import REDRIVE_GROUP, REDRIVE_ID
from streaming import trace
from streaming.dialects import UNKNOWN, Dialect, Reading, reading
from streaming.fingerprint import fingerprint, message_pattern

SEPARATOR = "\x1f"
REPLACEMENT = "\ufffd"
TEXTS = ("source_topic", "consumergroup", "connector", "message")
NUMBERS = {"source_partition": "int", "source_offset": "bigint"}
BYTES = {"int": 4, "bigint": 8}
Dialects = tuple[Dialect, ...]


def letters(records: DataFrame) -> DataFrame:
    """Add the struct ``letter`` to records of dead letter topics; column in: ``headers``.

    Its ``order`` is the redrive that moved the record last: it came back then, with new headers of a failure.
    ``sent_from`` is the fingerprint that it had then, ``traceparent`` the header, empty where it is none.

    One step after the other, so that no expression is evaluated twice. Needs ``spark.sql.mapKeyDedupPolicy``
    LAST_WIN.
    """
    stepwise = reduce(lambda frame, step: frame.select("*", *step), _steps(reading()), records)
    return stepwise.select(*records.columns, "letter")


@cache
def _steps(how: Reading) -> tuple[tuple[Column, ...], ...]:
    """What every step adds; made once, because every part of an expression is a call into the JVM."""
    dialects = how.dialects
    headers = F.reverse("headers") if how.first_counts else F.col("headers")
    return (
        (F.map_from_entries(headers).alias("header"), _told(dialects).alias("told")),
        (_key(dialects).alias("dialect_key"),),
        (
            _by_key({one.key: F.lit(one.name) for one in dialects}, F.lit(UNKNOWN)).alias("dialect"),
            *(_raw(name, dialects).alias(f"raw_{name}") for name in (*TEXTS, *NUMBERS, "error_class")),
            _ours(REDRIVE_ID, how).cast("string").alias("raw_order"),
            _ours(REDRIVE_GROUP, how).cast("string").alias("raw_sent_from"),
            F.col("header")[trace.HEADER].cast("string").alias("raw_traceparent"),
        ),
        (
            *(_text(f"raw_{name}").alias(f"text_{name}") for name in (*TEXTS, "order", "sent_from")),
            _error_class(dialects).alias("text_error_class"),
            *(_number(name, kind, dialects).alias(name) for name, kind in NUMBERS.items()),
        ),
        (message_pattern(F.col("text_message")).alias("message_pattern"),),
        (_letter().alias("letter"),),
    )


def _told(dialects: Dialects) -> Column:
    """What tells the dialect in the last header that belongs to one: its prefix, or the whole header."""
    names = F.array_join(F.col("headers.key"), SEPARATOR)
    prefixes = [re.escape(one.prefix) for one in dialects if one.prefix]
    whole = [rf"{re.escape(header)}(?={SEPARATOR}|\z)" for header in _whole(dialects)]
    pattern = f"(?s).*(?:^|{SEPARATOR})({'|'.join((*prefixes, *whole))})"
    return F.coalesce(F.regexp_extract(names, pattern, 1), F.lit(""))


def _whole(dialects: Dialects) -> dict[str, str]:
    """Headers that tell their dialect by their whole names, and its key."""
    return {header: one.key for one in dialects if not one.prefix for header in one.headers}


def _key(dialects: Dialects) -> Column:
    """The key of the row's own dialect; empty where it has none."""
    told = F.col("told")
    keys = _whole(dialects)
    return reduce(lambda rest, header: F.when(told == header, keys[header]).otherwise(rest), keys, told)


def _ours(name: str, how: Reading) -> Column:
    """A header of ours, of which the last counts however others are read."""
    if not how.first_counts:
        return F.col("header")[name]
    ours = F.filter("headers", lambda header: header["key"] == name)
    return F.try_element_at(ours, F.lit(-1))["value"]


def _by_key(columns: Mapping[str, Column], otherwise: Column) -> Column:
    """The column of the row's own dialect."""
    return reduce(
        lambda rest, one: F.when(F.col("dialect_key") == one, columns[one]).otherwise(rest),
        columns,
        otherwise,
    )


def _letter() -> Column:
    return F.struct(
        "dialect",
        *(F.col(f"text_{name}").alias(name) for name in (*TEXTS, "error_class", "order", "sent_from")),
        *NUMBERS,
        "message_pattern",
        _consumer().alias("consumer"),
        F.when(F.col("raw_traceparent").rlike(trace.FORM), F.col("raw_traceparent"))
        .otherwise("")
        .alias("traceparent"),
        _broken().alias("broken"),
        fingerprint(
            F.col("dialect"),
            F.col("text_source_topic"),
            _consumer(),
            F.col("text_error_class"),
            F.col("message_pattern"),
        ).alias("fingerprint"),
    )


def _consumer() -> Column:
    connector = F.col("text_connector")
    return F.when(connector != "", connector).otherwise(F.col("text_consumergroup"))


def _raw(field: str, dialects: Dialects) -> Column:
    """The value of the field's header in the row's own dialect, as text that may be broken."""
    named = {one.key: getattr(one, field) for one in dialects}
    values = {key: F.col("header")[name] for key, name in named.items() if name}
    return _by_key(values, F.lit(None).cast("binary")).cast("string")


def _number(field: str, kind: str, dialects: Dialects) -> Column:
    raw = F.col(f"raw_{field}")
    binary = [one.key for one in dialects if one.binary_numbers]
    return F.when(F.col("dialect_key").isin(binary), _big_endian(raw, BYTES[kind]).cast(kind)).otherwise(
        raw.try_cast(kind)
    )


def _big_endian(raw: Column, width: int) -> Column:
    """A signed number of ``width`` bytes; null for any other length."""
    digits = F.hex(raw)
    fill = F.when(F.substring(digits, 1, 1) >= "8", "F" * (16 - 2 * width)).otherwise("")
    return F.when(F.octet_length(raw) == width, F.conv(F.concat(fill, digits), 16, -10))


def _text(column: str) -> Column:
    valid = F.replace(F.make_valid_utf8(F.col(column)), F.lit("\x00"), F.lit(REPLACEMENT))
    return F.substring(F.coalesce(valid, F.lit("")), 1, MAX_TEXT_CHARS)


def _error_class(dialects: Dialects) -> Column:
    """The dialect's header, or the short name of its message where it tells causes by message alone."""
    named = reduce(_named_by_message, dialects, F.lit(""))
    return F.when(F.col("raw_error_class").isNotNull(), _text("raw_error_class")).otherwise(named)


def _named_by_message(rest: Column, one: Dialect) -> Column:
    for message, name in one.error_classes.items():
        matches = (F.col("dialect_key") == one.key) & (F.col("raw_message") == message)
        rest = F.when(matches, name).otherwise(rest)
    return rest


def _broken() -> Column:
    """Whether a header is there that cannot be read as what it is."""
    texts = [~F.is_valid_utf8(F.col(f"raw_{name}")) for name in (*TEXTS, "error_class")]
    numbers = [F.col(f"raw_{name}").isNotNull() & F.col(name).isNull() for name in NUMBERS]
    return F.coalesce(
        reduce(or_, (F.coalesce(broken, F.lit(False)) for broken in (*texts, *numbers))), F.lit(False)
    )
