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
from streaming.dialects import DIALECTS, UNKNOWN, Dialect
from streaming.fingerprint import fingerprint, message_pattern

SEPARATOR = "\x1f"
REPLACEMENT = "\ufffd"
TEXTS = ("source_topic", "consumergroup", "connector", "message")
NUMBERS = {"source_partition": "int", "source_offset": "bigint"}
BYTES = {"int": 4, "bigint": 8}


def letters(records: DataFrame) -> DataFrame:
    """Add the struct ``letter`` to records of dead letter topics; column in: ``headers``.

    Its ``order`` is the redrive that moved the record last: it came back then, with new headers of a failure.
    ``sent_from`` is the fingerprint that it had then.

    One step after the other, so that no expression is evaluated twice. Needs ``spark.sql.mapKeyDedupPolicy``
    LAST_WIN.
    """
    stepwise = reduce(lambda frame, step: frame.select("*", *step), _steps(), records)
    return stepwise.select(*records.columns, "letter")


@cache
def _steps() -> tuple[tuple[Column, ...], ...]:
    """What every step adds; made once, because every part of an expression is a call into the JVM."""
    return (
        (F.map_from_entries("headers").alias("header"), _prefix().alias("prefix")),
        (
            _by_prefix({one.prefix: F.lit(one.name) for one in DIALECTS}, F.lit(UNKNOWN)).alias("dialect"),
            *(_raw(name).alias(f"raw_{name}") for name in (*TEXTS, *NUMBERS, "error_class")),
            F.col("header")[REDRIVE_ID].cast("string").alias("raw_order"),
            F.col("header")[REDRIVE_GROUP].cast("string").alias("raw_sent_from"),
        ),
        (
            *(_text(f"raw_{name}").alias(f"text_{name}") for name in (*TEXTS, "order", "sent_from")),
            _error_class().alias("text_error_class"),
            *(_number(name, kind).alias(name) for name, kind in NUMBERS.items()),
        ),
        (message_pattern(F.col("text_message")).alias("message_pattern"),),
        (_letter().alias("letter"),),
    )


def _prefix() -> Column:
    """The prefix of the last header that belongs to a dialect; empty where there is none."""
    names = F.array_join(F.col("headers.key"), SEPARATOR)
    prefixes = "|".join(re.escape(one.prefix) for one in DIALECTS)
    return F.coalesce(F.regexp_extract(names, f"(?s).*(?:^|{SEPARATOR})({prefixes})", 1), F.lit(""))


def _by_prefix(columns: Mapping[str, Column], otherwise: Column) -> Column:
    """The column of the row's own dialect."""
    return reduce(
        lambda rest, one: F.when(F.col("prefix") == one, columns[one]).otherwise(rest), columns, otherwise
    )


def _letter() -> Column:
    return F.struct(
        "dialect",
        *(F.col(f"text_{name}").alias(name) for name in (*TEXTS, "error_class", "order", "sent_from")),
        *NUMBERS,
        "message_pattern",
        _consumer().alias("consumer"),
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


def _raw(field: str) -> Column:
    """The value of the field's header in the row's own dialect, as text that may be broken."""
    named = {one.prefix: getattr(one, field) for one in DIALECTS}
    values = {prefix: F.col("header")[name] for prefix, name in named.items() if name}
    return _by_prefix(values, F.lit(None).cast("binary")).cast("string")


def _number(field: str, kind: str) -> Column:
    raw = F.col(f"raw_{field}")
    binary = [one.prefix for one in DIALECTS if one.binary_numbers]
    return F.when(F.col("prefix").isin(binary), _big_endian(raw, BYTES[kind]).cast(kind)).otherwise(
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


def _error_class() -> Column:
    """The dialect's header, or the short name of its message where it tells causes by message alone."""
    named = reduce(_named_by_message, DIALECTS, F.lit(""))
    return F.when(F.col("raw_error_class").isNotNull(), _text("raw_error_class")).otherwise(named)


def _named_by_message(rest: Column, one: Dialect) -> Column:
    for message, name in one.error_classes.items():
        matches = (F.col("prefix") == one.prefix) & (F.col("raw_message") == message)
        rest = F.when(matches, name).otherwise(rest)
    return rest


def _broken() -> Column:
    """Whether a header is there that cannot be read as what it is."""
    texts = [~F.is_valid_utf8(F.col(f"raw_{name}")) for name in (*TEXTS, "error_class")]
    numbers = [F.col(f"raw_{name}").isNotNull() & F.col(name).isNull() for name in NUMBERS]
    return F.coalesce(
        reduce(or_, (F.coalesce(broken, F.lit(False)) for broken in (*texts, *numbers))), F.lit(False)
    )
