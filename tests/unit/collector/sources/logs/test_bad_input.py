"""Bytes that no logger should write: bounded memory, one trouble each, and the rest goes on."""

from collections.abc import Callable
from pathlib import Path

import pytest

from collector.sources.logs.scan import Scanner
from deadwatch.contract.events import Event, encode
from tests.unit.collector.sources.logs.scanning import (
    NOW_MS,
    abandoned,
    flat,
    following,
    read_out,
    tasks_and_reasons,
)

FORMATS = ("text", "cri", "docker", "json")

Read = Callable[..., list[Event]]


def line(task: int, time: str = "2026-11-21 12:35:23,893") -> bytes:
    return abandoned(task, time).encode()


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """The events of a log that holds these bytes."""

    def read(*pieces: bytes, form: str = "") -> list[Event]:
        with (tmp_path / "a.log").open("wb") as file:
            file.writelines(pieces)
        return read_out(tmp_path / "a.log", following(scanner=Scanner(format=form)))[0]

    return read


ENDINGS = (
    b"failed to properly shut down, has become unresponsive, and may be consuming external resources."
    b" After being scheduled for shutdown, the orphan task threw an uncaught exception"
)
"""So that patterns are looked for: a line without them is passed over."""


@pytest.mark.parametrize("form", FORMATS)
def test_a_line_larger_than_memory_may_be_is_passed_over_in_flat_memory(read: Read, form: str) -> None:
    with flat(most_mb=12):
        events = read(line(0), *[b"Graceful stop of " * 62_500] * 16, b"\n", line(1), form=form)
    found = tasks_and_reasons(events)
    assert [one for one in found if one != "not_json"] == ["0", "line_too_long", "1"]


def test_the_line_behind_the_hole_of_a_log_that_was_cut_is_read(read: Read) -> None:
    """Its writer goes on where it was: it does not append, as what a shell has started with ``>``."""
    with flat(most_mb=12):
        assert tasks_and_reasons(read(*[b"\0" * 1_000_001] * 20, line(0))) == ["0"]


def test_an_entry_larger_than_memory_may_be_is_one_entry(read: Read) -> None:
    trace = (b"\tat " + b"o.a.k." * 70 + b"Something.run(Something.java:12)\n") * 1_000
    with flat(most_mb=12):
        events = read(line(0), *[trace] * 30, b"Topic t not present in metadata after 60000 ms.\n" + line(1))
    assert [event.position.offset for event in events][:2] == [0, 0]
    assert tasks_and_reasons(events) == ["0", "client_timeout", "1"]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("bad", [b"\xff\xfe\x80\xc3(", b"\0" * 5_000, b"\xed\xa0\x80", b"\r\r"])
def test_what_is_no_text_hides_nothing(read: Read, form: str, bad: bytes) -> None:
    events = read(bad, b"\n", line(0), bad, line(1), line(2).replace(b"ERROR", b"ERROR " + bad), form=form)
    assert [one for one in tasks_and_reasons(events) if one != "not_json"] == ["0", "1", "2"]
    assert all(encode(event) for event in events)


BEGINNINGS = (
    b"] Encountered ",
    b"stream-thread [",
    b"] Detected the states of tasks [0_1, ",
    b", 0_0",
    b"Graceful stop of task ",
    b"Connector '",
    b"w",
    b"Scheduled shutdown for WorkerConnector{id=",
)


def test_a_line_of_nothing_but_beginnings_hides_nothing(read: Read) -> None:
    """A pattern that looks at a byte twice would need hours for it."""
    lines = (beginning * (500_000 // len(beginning)) + ENDINGS + b"\n" for beginning in BEGINNINGS)
    assert tasks_and_reasons(read(*lines, line(0))) == ["0"]


def test_half_a_character_spelt_in_json_can_be_published(read: Read) -> None:
    (event,) = read(
        b'{"message": "\\ud800 Graceful stop of task \\udc00x-0 failed.", "a": NaN, "time": 1e999}\n'
    )
    assert b"?x" in encode(event)[1]


def test_json_that_is_too_deep_is_read_as_text(read: Read) -> None:
    events = read(b'{"a":' + b"[" * 100_000 + b'"Graceful stop of task x-0 failed."\n')
    assert tasks_and_reasons(events) == ["not_json", "0"]


@pytest.mark.parametrize(
    "time",
    [
        "9999-12-31T23:59:59.999Z",
        "9999-12-31 23:59:59,999",
        "9999-12-31T23:59:59-23:59",
        "2026-13-45 99:99:99,999",
    ],
)
def test_a_time_that_cannot_be_is_not_believed(read: Read, time: str) -> None:
    events = read(line(0, time), line(1))
    assert [event.happened_at_ms for event in events] == [NOW_MS, 1_795_264_523_893]
