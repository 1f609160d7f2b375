"""The pattern of a message is the contract's, however many messages are looked at at once."""

import polars as pl
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from deadwatch.contract import fingerprint
from deadwatch.contract.events import MAX_TEXT_CHARS
from deadwatch.deadletter.record import parse_record
from streaming.kernel.causes import CAUSE, patterns, shapes
from tests.dialect_headers import CONNECT, replaced
from tests.kafka_records import counted

TRICKY = (
    "",
    " ",
    "Task 0_1 did not make progress within 300123 ms.",
    "key 'a b\n1' and \"x\" and `y`",
    "'never closed 12",
    "it's 3 o'clock, isn't it",
    "can't, b's' and 'Macy's x' don't\x00t",
    f"long '{'a b ' * 300}' and \"{'c d ' * 1_000}",
    f"({'`' + 'x ' * 40}, 'open {'y ' * 60}",
    f"{'af' * 33}0123456789ab {'af' * 32}0123456789ab",
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
    """[Source: (byte[])"{"a": "\u2028\n', b}"[truncated 12 bytes]; line: 1] [Source: (String)""; line: 2""",
    "Key (a, b)=(x)\n(y\u0085) already exists. Failing row contains (1). (2).",
    "Failing row contains ($1). (\\1).\nThe duplicate key value is ().",
)
ALPHABET = st.one_of(
    st.sampled_from("'\"`0123456789abcdefABCDEF-x@ \t\n\r\x0b\x0c\x00\x1f$\\#?\u00a0\u2028\U0001f600"),
    st.characters(exclude_categories=["Cs"]),
)
MESSAGES = st.lists(st.text(ALPHABET, max_size=600), min_size=20, max_size=40)


def kernel_patterns(messages: list[str]) -> list[str]:
    return pl.DataFrame({"message": messages}).select(patterns(pl.col("message"))).to_series().to_list()


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
@given(messages=MESSAGES)
@example(messages=[*TRICKY])
def test_any_message_has_the_same_pattern(messages: list[str]) -> None:
    assert kernel_patterns(messages) == [fingerprint.message_pattern(message) for message in messages]


def test_the_fingerprint_is_the_contract_s() -> None:
    headers = [replaced(CONNECT, "message", message.encode()) for message in TRICKY]
    causes = counted([{"topic": "dlq", "headers": one} for one in headers]).causes
    assert causes is not None
    records = [parse_record("dlq", 0, 0, 0, None, None, one) for one in headers]
    assert {*causes.sums["fingerprint"]} == {record.fingerprint for record in records}
    whole = {record.fingerprint: record for record in records if len(record.message) < MAX_TEXT_CHARS}
    for row in causes.sums.filter(pl.col("fingerprint").is_in(list(whole))).iter_rows(named=True):
        parts = (row[name] for name in ("dialect", "source_topic", "consumer", "error_class", "message"))
        assert row["fingerprint"] == fingerprint.fingerprint(*parts)
    assert set(CAUSE) < set(causes.sums.columns)


HOSTILE = st.text(st.sampled_from(" \t\n'\"`-@0123456789abcdefABCDEFxXé٣\x00"), max_size=80)


def shape(message: str) -> str:
    return str(shapes(pl.Series(["before 0", message, "x after"]))[1])


@given(HOSTILE)
@example("0x1f and 1x1f and 00x1")
@example("@12345678 of 01234567-0123-0123-0123-0123456789ab")
@example("'12' 123456789012 and 12345678901")
def test_a_shape_has_the_pattern_of_its_message(message: str) -> None:
    assert fingerprint.message_pattern(shape(message)) == fingerprint.message_pattern(message)


def test_messages_that_differ_in_their_digits_have_one_shape_also_in_a_part_of_a_column() -> None:
    assert shape("id 1f2e-77 of record 123") == shape("id 3f9e-01 of record 987")
    messages = pl.Series(["a 1", "b 22", "c 333"])
    assert shapes(messages[1:]).to_list() == ["b 11", "c 111"]
    assert shapes(messages[:0]).to_list() == []
