"""``collector.contract.fingerprint`` as Spark expressions: the same list, the same result."""

from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from collector.contract.fingerprint import HEX_DIGITS, MAX_MESSAGE_CHARS, SEPARATOR, SUBSTITUTIONS


def message_pattern(message: Column) -> Column:
    """What stays of a message; "" for null."""
    text = F.substring(F.coalesce(message, F.lit("")), 1, MAX_MESSAGE_CHARS)
    replaced = reduce(lambda column, step: F.regexp_replace(column, *step), SUBSTITUTIONS, text)
    return F.trim(replaced)


def fingerprint(*parts: Column) -> Column:
    """16 hex digits of dialect, origin topic, consumer, error class and pattern, none of them null."""
    return F.substring(F.sha2(F.concat_ws(SEPARATOR, *parts).cast("binary"), 256), 1, HEX_DIGITS)
