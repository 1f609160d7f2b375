"""Which headers a redrive leaves out: those that the order names, or else those of the record's dialect."""

import pytest
from pydantic import TypeAdapter, ValidationError

from deadwatch.contract.headers import REDRIVE_ATTEMPTS
from deadwatch.deadletter.dialects.dialect import HeaderPattern
from deadwatch.deadletter.dropped import HeaderRule, without
from deadwatch.deadletter.record import Headers

HEADERS: Headers = (("a", b"b"), ("ab", None), ("b", b"a"), ("retry_topic-attempts", b"3"), ("b", b"again"))


@pytest.mark.parametrize(
    ("patterns", "left"),
    [
        ((), ["a", "ab", "b", "retry_topic-attempts", "b"]),
        (("b",), ["a", "ab", "retry_topic-attempts"]),
        (("a*",), ["b", "retry_topic-attempts", "b"]),
        (("ab*", "b"), ["a", "retry_topic-attempts"]),
        (("*",), []),
        (("tenant", "x*"), ["a", "ab", "b", "retry_topic-attempts", "b"]),
    ],
)
def test_a_pattern_is_a_name_or_its_beginning(patterns: tuple[str, ...], left: list[str]) -> None:
    assert [name for name, _ in without(HEADERS, patterns)] == left


@pytest.mark.parametrize(
    ("asked", "dialect", "dropped"),
    [
        (None, "spring", {"retry_topic-attempts"}),
        (None, "connect", set()),
        ((), "spring", set()),
        (("b", "tenant"), "spring", {"b"}),
        (("*",), "connect", {"a", "ab", "b", "retry_topic-attempts"}),
    ],
    ids=["Spring counts its attempts", "Connect names none", "none", "what an order names", "all but ours"],
)
def test_an_order_goes_before_the_dialect_and_ours_are_never_counted(
    asked: tuple[str, ...] | None, dialect: str, dropped: set[str]
) -> None:
    headers = (*HEADERS, (REDRIVE_ATTEMPTS, b"1"))
    rule, read = HeaderRule(asked), "".join(list(dialect))  # as it is read from a record, not our constant
    assert [rule.dropped(read, headers), rule.dropped(read, headers)] == [dropped, dropped]


@pytest.mark.parametrize(
    ("pattern", "taken"),
    [("x", True), ("x*", True), ("*", True), ("", False), ("a*b", False), ("a\n", False)],
)
def test_a_star_stands_at_the_end(pattern: str, *, taken: bool) -> None:
    adapter: TypeAdapter[str] = TypeAdapter(HeaderPattern)
    if taken:
        assert adapter.validate_python(pattern) == pattern
    else:
        with pytest.raises(ValidationError):
            adapter.validate_python(pattern)
