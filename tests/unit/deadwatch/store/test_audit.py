"""Audit and tokens in the store: an entry is kept with the action or not at all, a token until it ends."""

from dataclasses import asdict, replace
from typing import Any

import pytest
from sqlalchemy import Connection

from deadwatch.store.storable import MAX_LABEL_CHARS, MAX_WRITTEN_CHARS
from deadwatch.store.write import audit, tokens
from deadwatch.store.write.audit import Entry, EntryFilter
from deadwatch.store.write.tokens import Token
from tests.unit.deadwatch.store import suite

store = suite.store
ENTRY = Entry(at_ms=100, who="ann", action="redrives.create", subject="r1", why="fixed", role="operator")


def keep(connection: Connection, *entries: Entry) -> None:
    for entry in entries:
        audit.write(connection, entry)


def found(connection: Connection, chosen: EntryFilter = EntryFilter()) -> list[str]:  # noqa: B008 -- frozen
    return [one.subject for one in audit.page(connection, chosen, None, 100)]


def test_an_entry_is_kept_as_it_was_written_and_bounded(connection: Connection) -> None:
    entry = replace(ENTRY, token="5f2a9c01d4e7", outcome="409 overlap", request_id="q1", why="caf\u00e9")
    hostile = replace(ENTRY, subject="s" * 10_000, why="\x00\ud800" + "x" * 10_000)
    keep(connection, entry, hostile)
    bounded, kept = audit.page(connection, EntryFilter(), None, 9)
    assert kept._asdict() == {**asdict(entry), "number": kept.number}
    assert (len(bounded.subject), len(bounded.why)) == (MAX_LABEL_CHARS, MAX_WRITTEN_CHARS)
    assert "\x00" not in bounded.why


def test_an_action_that_is_rolled_back_has_no_entry(connection: Connection) -> None:
    keep(connection, ENTRY)
    connection.rollback()
    assert found(connection) == []


def test_pages_are_the_newest_first_and_hold_every_entry_once(connection: Connection) -> None:
    keep(connection, *(replace(ENTRY, subject=str(number)) for number in range(7)))
    seen: list[str] = []
    before = None
    while page := audit.page(connection, EntryFilter(), before, 3):
        seen += [row.subject for row in page]
        before = page[-1].number
    assert seen == [str(number) for number in reversed(range(7))]


@pytest.mark.parametrize(
    ("chosen", "subjects"),
    [
        ({}, ["c", "b", "a"]),
        ({"who": "ann"}, ["c", "a"]),
        ({"action": "tokens.revoke"}, ["b"]),
        ({"who": "ann", "action": "tokens.revoke"}, []),
        ({"from_ms": 200}, ["c", "b"]),
        ({"until_ms": 200}, ["a"]),
        ({"from_ms": 200, "until_ms": 300}, ["b"]),
        ({"who": "Ann"}, []),
        ({"who": "%"}, []),
    ],
)
def test_entries_are_chosen_by_who_what_and_when(
    connection: Connection, chosen: dict[str, Any], subjects: list[str]
) -> None:
    keep(
        connection,
        replace(ENTRY, subject="a"),
        replace(ENTRY, subject="b", who="bob", action="tokens.revoke", at_ms=200),
        replace(ENTRY, subject="c", at_ms=300),
    )
    assert found(connection, EntryFilter(**chosen)) == subjects


def test_retention_takes_the_oldest_a_few_at_a_time_and_no_number_comes_again(connection: Connection) -> None:
    keep(connection, *(replace(ENTRY, subject=str(number), at_ms=number) for number in range(5)))
    last = audit.page(connection, EntryFilter(), None, 1)[0].number
    assert audit.forget(connection, before_ms=4, limit=3) == 3
    assert audit.forget(connection, before_ms=4, limit=3) == 1
    assert found(connection) == ["4"]
    audit.forget(connection, before_ms=100, limit=9)
    keep(connection, ENTRY)
    assert audit.page(connection, EntryFilter(), None, 1)[0].number == last + 1


TOKEN = Token(id="a" * 12, name="ann", role="admin", digest="d", created_by="root", created_at_ms=1_000)
DAY_MS = 86_400_000


def test_a_token_is_found_by_its_id_until_it_is_revoked_for_good(connection: Connection) -> None:
    tokens.add(connection, TOKEN)
    assert tokens.find(connection, TOKEN.id) == TOKEN
    assert tokens.find(connection, "b" * 12) is None
    assert tokens.revoke(connection, TOKEN.id, "bob", 2_000).revoked_by == "bob"
    again = tokens.revoke(connection, TOKEN.id, "eve", 3_000)
    assert (again.revoked_at_ms, again.revoked_by, again.valid(1_500)) == (2_000, "bob", False)
    with pytest.raises(tokens.UnknownTokenError, match="'x'"):
        tokens.revoke(connection, "x", "bob", 1)


@pytest.mark.parametrize(("now_ms", "valid"), [(1_999, True), (2_000, False), (2_001, False)])
def test_a_token_is_valid_until_the_very_millisecond(now_ms: int, valid: bool) -> None:
    assert replace(TOKEN, expires_at_ms=2_000).valid(now_ms) is valid


def test_the_latest_use_is_kept(connection: Connection) -> None:
    tokens.add(connection, TOKEN)
    tokens.use(connection, TOKEN.id, 9_000)
    tokens.use(connection, TOKEN.id, 5_000)
    assert tokens.find(connection, TOKEN.id) == replace(TOKEN, used_at_ms=9_000)


def test_tokens_that_ended_long_ago_are_forgotten(connection: Connection) -> None:
    now_ms = 400 * DAY_MS
    for token in (
        replace(TOKEN, id="expired", expires_at_ms=now_ms - 91 * DAY_MS),
        replace(TOKEN, id="just-expired", expires_at_ms=now_ms - 89 * DAY_MS),
        replace(TOKEN, id="revoked", revoked_at_ms=now_ms - 91 * DAY_MS),
        replace(TOKEN, id="valid"),
        replace(TOKEN, id="new", created_at_ms=now_ms),
    ):
        tokens.add(connection, token)
    assert {one.id for one in tokens.every(connection)} == {"just-expired", "valid", "new"}


def test_there_is_an_end_to_valid_tokens(connection: Connection) -> None:
    tokens.add(connection, replace(TOKEN, id="1"), 2)
    tokens.add(connection, replace(TOKEN, id="2", expires_at_ms=1_001), 2)
    with pytest.raises(tokens.TooManyTokensError, match="revoke"):
        tokens.add(connection, replace(TOKEN, id="3"), 2)
    tokens.add(connection, replace(TOKEN, id="3", created_at_ms=1_001), 2)
