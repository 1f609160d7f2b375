"""Spark and Python compute one fingerprint."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from collector.contract import fingerprint as contract
from streaming import fingerprint

pytestmark = pytest.mark.spark

TRICKY = (
    "",
    " ",
    "Task 0_1 did not make progress within 300123 ms.",
    "key 'a b\n1' and \"x\" and `y`",
    "'never closed 12",
    "it's 3 o'clock, isn't it",
    "java.lang.Object@1b2c3d4e at 0xDEADBEEF",
    "id 123e4567-e89b-12d3-a456-426614174000 hash 0123456789abcdef0123",
    "tab\tform\x0cvertical\x0bcr\r\nend",
    "nul \x00 bell \x07 separator \x1f",
    "no-break\u00a0space line\u2028separator next\u0085line",
    "digits \u0661\u0662\u0663 fullwidth \uff11\uff12",
    "emoji \U0001f600 '\U0001f600 12' e\u0301 \u1e9e \u0130",
    "'" + "\U0001f600" * 200 + "'",
    "'" + "x" * 201 + "'",
    "\U0001f600" * 511 + "12",
    "$1 \\1 \\ $ ${x}",
    "abcdefabcdef1abcdefabcdef",
)
ALPHABET = st.one_of(
    st.sampled_from("'\"`0123456789abcdefABCDEF-x@ \t\n\r\x0b\x0c\x00\x1f$\\#?\u00a0\u2028\U0001f600"),
    st.characters(exclude_categories=["Cs"]),
)
MESSAGES = st.lists(st.text(ALPHABET, max_size=600), min_size=20, max_size=40)


def spark_patterns(spark: SparkSession, messages: list[str]) -> list[str]:
    rows = spark.createDataFrame([(message,) for message in messages], "message string")
    return [row[0] for row in rows.select(fingerprint.message_pattern(F.col("message"))).collect()]


def test_tricky_messages_have_the_same_pattern(spark: SparkSession) -> None:
    expected = [contract.message_pattern(message) for message in TRICKY]
    assert spark_patterns(spark, list(TRICKY)) == expected


@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
@given(messages=MESSAGES)
def test_any_message_has_the_same_pattern(spark: SparkSession, messages: list[str]) -> None:
    assert spark_patterns(spark, messages) == [contract.message_pattern(message) for message in messages]


def test_the_parts_make_the_same_fingerprint(spark: SparkSession) -> None:
    rows = [
        ("connect", f"topic-{index}", "", "java.lang.Ex\u00e9", text) for index, text in enumerate(TRICKY)
    ]
    frame = spark.createDataFrame(
        rows, "dialect string, topic string, consumer string, class string, text string"
    )
    pattern = fingerprint.message_pattern(F.col("text"))
    parts = [F.col(name) for name in ("dialect", "topic", "consumer", "class")]
    seen = [row[0] for row in frame.select(fingerprint.fingerprint(*parts, pattern)).collect()]
    assert seen == [contract.fingerprint(*row) for row in rows]
