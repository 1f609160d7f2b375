"""What the headers of a dead letter say, as Spark expressions over the table of dialects.

Text that is not UTF-8 keeps what can be read of it, NUL (which no database stores) becomes U+FFFD, a number
that is none is null: the letter is ``broken`` then, and counted all the same.
"""

import re
from functools import cache, reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from collector.contract.events import MAX_TEXT_CHARS
from streaming.dialects import DIALECTS, UNKNOWN, Dialect
from streaming.fingerprint import fingerprint, message_pattern

SEPARATOR = "\x1f"
REPLACEMENT = "\ufffd"
TEXTS = ("source_topic", "consumergroup", "connector", "message")
NUMBERS = {"source_partition": "int", "source_offset": "bigint"}


def letters(records: DataFrame) -> DataFrame:
    """Add the struct ``letter`` to records of dead letter topics; column in: ``headers``.

    One step after the other, so that no expression is evaluated twice. Needs ``spark.sql.mapKeyDedupPolicy``
    LAST_WIN.
    """
    stepwise = reduce(lambda frame, step: frame.select("*", *step), _steps(), records)
    return stepwise.select(*records.columns, "letter")


@cache
def _steps() -> tuple[tuple[Column, ...], ...]:
    """What every step adds; made once, because every part of an expression is a call into the JVM."""
    return (
        (F.map_from_entries("headers").alias("header"), _dialect().alias("dialect")),
        tuple(_raw(name).alias(f"raw_{name}") for name in (*TEXTS, *NUMBERS, "error_class")),
        (
            *(_text(f"raw_{name}").alias(f"text_{name}") for name in TEXTS),
            _error_class().alias("text_error_class"),
            *(F.col(f"raw_{name}").try_cast(kind).alias(name) for name, kind in NUMBERS.items()),
        ),
        (message_pattern(F.col("text_message")).alias("message_pattern"),),
        (_letter().alias("letter"),),
    )


def _dialect() -> Column:
    """The name of the dialect of the last header that belongs to one; ``unknown`` where there is none."""
    names = F.array_join(F.col("headers.key"), SEPARATOR)
    prefixes = "|".join(re.escape(one.prefix) for one in DIALECTS)
    last = F.regexp_extract(names, f"(?s).*(?:^|{SEPARATOR})({prefixes})", 1)
    return reduce(
        lambda rest, one: F.when(last == one.prefix, one.name).otherwise(rest), DIALECTS, F.lit(UNKNOWN)
    )


def _letter() -> Column:
    return F.struct(
        "dialect",
        *(F.col(f"text_{name}").alias(name) for name in (*TEXTS, "error_class")),
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
    value = F.lit(None).cast("binary")
    for one in DIALECTS:
        name = getattr(one, field)
        if name:
            value = F.when(F.col("dialect") == one.name, F.col("header")[name]).otherwise(value)
    return value.cast("string")


def _text(column: str) -> Column:
    valid = F.replace(F.make_valid_utf8(F.col(column)), F.lit("\x00"), F.lit(REPLACEMENT))
    return F.substring(F.coalesce(valid, F.lit("")), 1, MAX_TEXT_CHARS)


def _error_class() -> Column:
    """The dialect's header, or the short name of its message where it tells causes by message alone."""
    named = reduce(_named_by_message, DIALECTS, F.lit(""))
    return F.when(F.col("raw_error_class").isNotNull(), _text("raw_error_class")).otherwise(named)


def _named_by_message(rest: Column, one: Dialect) -> Column:
    for message, name in one.error_classes.items():
        matches = (F.col("dialect") == one.name) & (F.col("raw_message") == message)
        rest = F.when(matches, name).otherwise(rest)
    return rest


def _broken() -> Column:
    """Whether a header is there that cannot be read as what it is."""
    texts = [~F.is_valid_utf8(F.col(f"raw_{name}")) for name in (*TEXTS, "error_class")]
    numbers = [F.col(f"raw_{name}").isNotNull() & F.col(name).isNull() for name in NUMBERS]
    return F.coalesce(
        reduce(or_, (F.coalesce(broken, F.lit(False)) for broken in (*texts, *numbers))), F.lit(False)
    )
