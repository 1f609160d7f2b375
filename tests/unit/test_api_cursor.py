"""Whatever a client sends as a cursor is one of ours or refused."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api import cursor
from api.errors import InvalidCursorError


def raw(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@given(
    time_ms=st.integers(-cursor.MAX_TIME_MS, cursor.MAX_TIME_MS),
    names=st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=3),
)
def test_a_key_comes_back_as_it_was(time_ms: int, names: list[str]) -> None:
    assert cursor.decode(cursor.encode((time_ms, *names)), len(names)) == (time_ms, *names)


REFUSED = {
    "empty": "",
    "not base64": "!!!!",
    "not ascii": "ü",
    "not JSON": base64.urlsafe_b64encode(b"hello").decode().rstrip("="),
    "not a list": raw(7),
    "no text": raw([1, 2]),
    "too few names": raw([1]),
    "too many names": raw([1, "a", "b"]),
    "a time that is text": raw(["1", "a"]),
    "a time that is a boolean": raw([True, "a"]),
    "a time that no store can hold": raw([2**63, "a"]),
    "a time that is no number": base64.urlsafe_b64encode(b'[NaN,"a"]').decode().rstrip("="),
    "half of a surrogate pair": base64.urlsafe_b64encode(b'[1,"\\ud800"]').decode().rstrip("="),
    "padded by hand": raw([1, "ab"]) + "=",
    "deeper than any stack": base64.urlsafe_b64encode(b"[" * 60_000).decode(),
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_what_we_did_not_give_out_is_refused(text: str) -> None:
    with pytest.raises(InvalidCursorError):
        cursor.decode(text, names=1)


@given(st.text())
def test_no_text_is_an_accident(text: str) -> None:
    try:
        key = cursor.decode(text, names=1)
    except InvalidCursorError:
        return
    assert cursor.encode(key) == text
