"""Whatever a client sends as a cursor is one of ours or refused."""

import base64
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api import cursor
from api.errors import InvalidCursorError


def packed(text: bytes) -> str:
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def raw(value: object) -> str:
    """As ours are written: else every one is refused for its blanks."""
    return packed(json.dumps(value, separators=(",", ":")).encode())


@settings(max_examples=30)
@given(
    time_ms=st.integers(-cursor.MAX_TIME_MS, cursor.MAX_TIME_MS),
    names=st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), max_size=3),
)
def test_a_key_comes_back_as_it_was(time_ms: int, names: list[str]) -> None:
    assert cursor.decode(cursor.encode((time_ms, *names)), len(names)) == (time_ms, *names)


REFUSED = {
    "empty": "",
    "not base64": "!!!!",
    "not ascii": "ü",
    "not JSON": packed(b"hello"),
    "not a list": raw(7),
    "no text": raw([1, 2]),
    "too few names": raw([1]),
    "too many names": raw([1, "a", "b"]),
    "a time that is text": raw(["1", "a"]),
    "a time that is a boolean": raw([True, "a"]),
    "a time that no store can hold": raw([2**63, "a"]),
    "a time that is no number": packed(b'[NaN,"a"]'),
    "a NUL": raw([1, "a\0"]),
    "half of a surrogate pair": packed(b'[1,"\\ud800"]'),
    "padded by hand": raw([1, "ab"]) + "=",
    "half a character of base64": "A",
    "deeper than any stack": packed(b"[" * 60_000),
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_what_we_did_not_give_out_is_refused(text: str) -> None:
    with pytest.raises(InvalidCursorError):
        cursor.decode(text, names=1)
