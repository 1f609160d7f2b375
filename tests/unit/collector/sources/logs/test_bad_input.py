"""Bytes that no logger should write: bounded memory, one trouble each, and the rest goes on."""

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from collector.sources.logs.scan import Scanner
from deadwatch.contract.events import Event, encode
from tests.unit.collector.sources.logs.scanning import NOW_MS, abandoned, drain, log_source, tasks_and_reasons

FLAT_BYTES = 12 << 20
FORMATS = ("text", "cri", "docker", "json")


def line(task: int, time: str = "2026-11-21 12:35:23,893") -> bytes:
    return abandoned(task, time).encode()


def read(path: Path, form: str = "") -> list[Event]:
    source = log_source(path, scanner=Scanner(format=form))
    events, _ = drain(source)
    source.close()
    return events


@pytest.fixture
def flat() -> Iterator[Callable[[], None]]:
    tracemalloc.start()

    def check() -> None:
        assert tracemalloc.get_traced_memory()[1] < FLAT_BYTES

    yield check
    tracemalloc.stop()


ENDINGS = (
    b"failed to properly shut down, has become unresponsive, and may be consuming external resources."
    b" After being scheduled for shutdown, the orphan task threw an uncaught exception"
)
"""So that patterns are looked for: a line without them is passed over."""


@pytest.mark.parametrize("form", FORMATS)
def test_a_line_larger_than_memory_may_be_is_passed_over_in_flat_memory(
    tmp_path: Path, flat: Callable[[], None], form: str
) -> None:
    path = tmp_path / "a.log"
    with path.open("wb") as file:
        file.write(line(0))
        for _ in range(16):
            file.write(b"Graceful stop of " * 62_500)
        file.write(b"\n" + line(1))
    found = tasks_and_reasons(read(path, form))
    assert [one for one in found if one != "not_json"] == ["0", "line_too_long", "1"]
    flat()


def test_an_entry_larger_than_memory_may_be_is_one_entry(tmp_path: Path, flat: Callable[[], None]) -> None:
    path = tmp_path / "a.log"
    with path.open("wb") as file:
        file.write(line(0))
        for _ in range(30):
            file.write((b"\tat " + b"o.a.k." * 70 + b"Something.run(Something.java:12)\n") * 1_000)
        file.write(b"Topic t not present in metadata after 60000 ms.\n" + line(1))
    events = read(path)
    assert [event.position.offset for event in events][:2] == [0, 0]
    assert tasks_and_reasons(events) == ["0", "client_timeout", "1"]
    flat()


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("bad", [b"\xff\xfe\x80\xc3(", b"\0" * 5_000, b"\xed\xa0\x80", b"\r\r"])
def test_what_is_no_text_hides_nothing(tmp_path: Path, form: str, bad: bytes) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(bad + b"\n" + line(0) + bad + line(1) + line(2).replace(b"ERROR", b"ERROR " + bad))
    events = read(path, form)
    assert [one for one in tasks_and_reasons(events) if one != "not_json"] == ["0", "1", "2"]
    assert all(encode(event) for event in events)


def test_a_line_of_nothing_but_beginnings_hides_nothing(tmp_path: Path) -> None:
    """A pattern that looks at a byte twice would need hours for it."""
    path = tmp_path / "a.log"
    with path.open("wb") as file:
        for beginning in (
            b"] Encountered ",
            b"stream-thread [",
            b"] Detected the states of tasks [0_1, ",
            b", 0_0",
            b"Graceful stop of task ",
            b"Connector '",
            b"w",
            b"Scheduled shutdown for WorkerConnector{id=",
        ):
            file.write(beginning * (500_000 // len(beginning)) + ENDINGS + b"\n")
        file.write(line(0))
    assert tasks_and_reasons(read(path)) == ["0"]


def test_half_a_character_spelt_in_json_can_be_published(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(
        b'{"message": "\\ud800 Graceful stop of task \\udc00x-0 failed.", "a": NaN, "time": 1e999}\n'
    )
    (event,) = read(path)
    assert b"?x" in encode(event)[1]


def test_json_that_is_too_deep_is_read_as_text(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b'{"a":' + b"[" * 100_000 + b'"Graceful stop of task x-0 failed."\n')
    assert tasks_and_reasons(read(path)) == ["not_json", "0"]


@pytest.mark.parametrize(
    "time",
    [
        "9999-12-31T23:59:59.999Z",
        "9999-12-31 23:59:59,999",
        "9999-12-31T23:59:59-23:59",
        "2026-13-45 99:99:99,999",
    ],
)
def test_a_time_that_cannot_be_is_not_believed(tmp_path: Path, time: str) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(line(0, time) + line(1))
    assert [event.happened_at_ms for event in read(path)] == [NOW_MS, 1_795_264_523_893]
