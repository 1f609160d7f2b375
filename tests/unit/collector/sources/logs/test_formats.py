"""Real logs say the same in every format that wraps them, however they are read."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC
from functools import partial
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.sources.logs.formats import detect
from collector.sources.logs.layout import HEADER
from collector.sources.logs.lines import TRIGGERS
from collector.sources.logs.scan import MAX_HELD_BYTES, MAX_HELD_PARTS, Memory, Scanner
from tests.tables import named
from tests.unit.collector.sources.logs import scanning
from tests.unit.collector.sources.logs.scanning import LOGS, TRUTH, expect_provoked
from tests.unit.collector.sources.logs.test_scan import LINES

scan = partial(scanning.scan, restart=True)
SHORT = 700
"""Lines of that many bytes are too long for the scanner of the property test."""

PART = 60
TIMESTAMP = '{"@timestamp": "'


def entries(data: bytes) -> Iterator[tuple[str, str, str]]:
    """Time, first line and the rest of each entry."""
    found: list[list[str]] = []
    for line in data.decode().splitlines():
        if HEADER.match(line.encode()) or not found:
            found.append([line])
        else:
            found[-1].append(line)
    for first, *rest in found:
        time, _, message = first.removeprefix("[").partition("] ")
        yield f"{time.replace(',', '.').replace(' ', 'T')}Z", message, "\n".join(rest)


def cri(data: bytes) -> bytes:
    return _by_line(data, lambda time, text, more: f"{time}000000Z stdout {'P' if more else 'F'} {text}")


def docker(data: bytes) -> bytes:
    return _by_line(
        data,
        lambda time, text, more: json.dumps(
            {"log": text + ("" if more else "\n"), "stream": "stdout", "time": f"{time}000000Z"},
            separators=(",", ":"),
        ),
    )


def ecs(data: bytes) -> bytes:
    return _by_entry(
        data,
        lambda time, message, rest: {
            "@timestamp": time,
            "ecs.version": "1.2.0",
            "message": message,
            "error": {"stack_trace": rest},
        },
    )


def logstash(data: bytes) -> bytes:
    return _by_entry(
        data,
        lambda time, message, rest: {
            "@timestamp": time.replace("Z", "+00:00"),
            "@version": "1",
            "message": message,
            "level_value": 40000,
            "stack_trace": rest,
        },
    ).replace(b"=", b"\\u003d")


WRAPPERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "cri": cri,
    "docker": docker,
    "ecs": ecs,
    "logstash": logstash,
    "ecs in docker": lambda data: docker(ecs(data)),
}


def _by_line(data: bytes, wrap: Callable[[str, str, bool], str]) -> bytes:
    """Long lines in parts; the wrapper's time is that of the entry."""
    lines, time = [], "2026-11-21T12:35:00.000"
    for line in data.decode(errors="replace").split("\n")[:-1]:
        if line.startswith(TIMESTAMP):
            time = line[len(TIMESTAMP) :][:23]
        elif line.startswith("["):
            time = line[1:24].replace(",", ".").replace(" ", "T")
        parts = [line[at : at + PART] for at in range(0, len(line), PART)] or [""]
        lines += [
            wrap(time, part, more)
            for part, more in zip(parts, [True] * (len(parts) - 1) + [False], strict=True)
        ]
    return "".join(f"{line}\n" for line in lines).encode()


def _by_entry(data: bytes, wrap: Callable[[str, str, str], dict[str, object]]) -> bytes:
    return "".join(f"{json.dumps(wrap(*entry))}\n" for entry in entries(data)).encode()


@pytest.mark.parametrize("format_", sorted(WRAPPERS))
@pytest.mark.parametrize("file", sorted(TRUTH))
def test_real_logs_hold_what_was_provoked_in_every_format(file: str, format_: str) -> None:
    expect_provoked(file, WRAPPERS[format_]((LOGS / file).read_bytes()), restart=True)


@pytest.mark.parametrize("format_", sorted(WRAPPERS))
def test_a_wrapped_log_tells_the_times_of_the_plain_one(format_: str) -> None:
    data = (LOGS / "connect.log").read_bytes()
    plain = [event.happened_at_ms for event in scan(data)]
    wrapped = [event.happened_at_ms for event in scan(WRAPPERS[format_](data))]
    assert wrapped == plain


def test_lines_like_docker_s_that_name_no_stream_open_entries_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "PART", MAX_HELD_BYTES)
    lines = [scanning.abandoned(task) for task in range(3)]
    data = (lines[0] + "".join(f"Caused by: {line.partition('] ')[2]}" for line in lines)).encode()
    wrapped = docker(data).replace(b'"stream":"stdout",', b"")
    ends = [at + 1 for at, byte in enumerate(wrapped) if byte == ord("\n")]
    found = scan(wrapped, ends)
    assert [event.position.ordinal for event in found] == [0, 1, 2]
    assert {event.position.offset for event in found} == {0}


HEADED, ABANDONED, LOST = LINES[0] + LINES[3] + LINES[12], LINES[7], LINES[10] + LINES[11]
LONG = b"[2026-11-21 12:35:29,000] INFO " + b"z" * (2 * SHORT) + b"\n"
UNWRAPPED = (b"\n", b"\xff not of this format \0\n", b'{"a\n')
PIECES = {name: [*map(wrap, (HEADED, ABANDONED, LOST, LONG)), *UNWRAPPED] for name, wrap in WRAPPERS.items()}


@settings(max_examples=30)
@given(
    format_=st.sampled_from(sorted(WRAPPERS)),
    order=st.lists(st.integers(0, 6), max_size=20),
    cuts=st.lists(st.integers(0, 8_000), max_size=10),
)
def test_reads_and_restarts_change_nothing_in_any_format(
    format_: str, order: list[int], cuts: list[int]
) -> None:
    data = b"".join(PIECES[format_][piece] for piece in (1, *order))
    scanner = Scanner(max_line_bytes=SHORT)
    whole = scan(data, scanner=scanner)
    assert scan(data, sorted(cuts), scanner) == whole
    positions = [event.position for event in whole]
    assert positions == sorted(set(positions))


def in_two_streams(said: list[bytes], wrap: Callable[[bytes], bytes], order: list[bool]) -> bytes:
    """The entries by turns on stdout and stderr, whose lines and their parts come in this order."""
    streams = [
        wrap(b"".join(said[::2])).splitlines(keepends=True),
        wrap(b"".join(said[1::2])).replace(b"stdout", b"stderr").splitlines(keepends=True),
    ]
    mixed = [streams[second].pop(0) for second in order if streams[second]]
    return b"".join((*mixed, *streams[0], *streams[1]))


@settings(max_examples=100)
@given(
    wrap=st.sampled_from([cri, docker, lambda data: cri(ecs(data))]),
    order=st.lists(st.booleans(), max_size=60),
    cuts=st.lists(st.integers(0, 8_000), max_size=10),
)
def test_entries_and_the_parts_of_their_lines_are_told_apart_by_stream(
    wrap: Callable[[bytes], bytes], order: list[bool], cuts: list[int]
) -> None:
    """So the cause of a stack trace is counted once, though lines of the other stream come in between."""
    lines = [scanning.abandoned(task) for task in range(16)]
    causes = [f"Caused by: {line.partition('] ')[2]}" for line in lines]
    said = ["".join((lines[at], causes[at], causes[8 + at])).encode() for at in range(8)]
    data = in_two_streams(said, wrap, order)
    found = scan(data)
    assert sorted(map(int, scanning.tasks_and_reasons(found))) == [*range(16)]
    assert scan(data, sorted(cuts)) == found
    positions = [event.position for event in found]
    assert positions == sorted(set(positions))


@pytest.mark.parametrize("interrupted", [True, False])
def test_what_of_a_line_in_parts_is_there_is_read_at_the_end_of_its_file(interrupted: bool) -> None:
    part = b"2026-11-21T12:35:23.893Z stdout P " + ABANDONED
    other = b"2026-11-21T12:35:23.893Z stderr F x\n" if interrupted else b""
    memory, none = Scanner().scan(Memory(), part + other)
    memory, (found,) = Scanner().scan(memory, (part + other)[memory.offset :], final=True)
    assert (none, found.cause.identity[0], memory.held) == ([], "task_abandoned", {})
    assert not Scanner().scan(memory, b"", final=True)[1]


def test_an_interrupted_line_is_an_entry_with_the_time_of_its_first_part() -> None:
    header, message = ABANDONED[:30], ABANDONED[30:]
    log = (
        b"2026-11-21T12:35:01.000Z stdout P " + header + b"\n"
        b"2026-11-21T12:35:02.000Z stderr F [2026-11-21 12:35:02,000] INFO not stdout\n"
        b"2026-11-21T12:35:03.000Z stdout P " + message[:30] + b"\n"
        b"2026-11-21T12:35:04.000Z stderr F [2026-11-21 12:35:04,000] INFO nor stdout\n"
        b"2026-11-21T12:35:05.000Z stdout F " + message[30:]
    )
    _, (found,) = Scanner().scan(Memory(), log)
    assert (found.offset, found.at_ms) == (log.rindex(b"2026-11-21T12:35:05"), 1_795_264_501_000)


@pytest.mark.parametrize(("part_bytes", "parts"), [(1, 1_000), (10_000, 50)])
def test_an_interrupted_line_is_held_up_to_a_bound_and_then_read_as_it_is(
    part_bytes: int, parts: int
) -> None:
    begin, other = b"2026-11-21T12:35:23.893Z stdout P ", b"2026-11-21T12:35:23.893Z stderr F x\n"
    endless = begin + ABANDONED + other + (begin + b"." * part_bytes + b"\n" + other) * parts
    memory, (found,) = Scanner().scan(Memory(), endless)
    held = memory.held["stdout"]
    assert found.cause.identity[0] == "task_abandoned"
    assert len(held) <= MAX_HELD_PARTS
    assert sum(map(len, held)) <= MAX_HELD_BYTES


@pytest.mark.parametrize("format_", sorted(WRAPPERS))
def test_a_group_on_the_next_line_is_found_in_every_format(format_: str) -> None:
    (event,) = scan(WRAPPERS[format_](LOST + ABANDONED))[:1]
    assert asdict(event)["consumergroup"] == "g1"


def test_triggers_hold_no_character_that_a_json_writer_escapes() -> None:
    escaped = set(b"\"\\/<>&='\t\n") | set(range(128, 256))
    assert [trigger for trigger in TRIGGERS if escaped & set(trigger)] == []


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (b"[2026-11-21 12:35:26,892] INFO x\n", "text"),
        (b"2026-11-21T06:36:31.123456789Z stdout F x\n", "cri"),
        (b"2026-11-21T06:36:31.123456789+01:00 stderr P x\n", "cri"),
        (b'{"log":"x\\n","stream":"stdout","time":"2026-11-21T06:36:31Z"}\n', "docker"),
        (b'{"@timestamp":"2026-11-21T06:36:31Z","message":"x"}\n', "json"),
        (b"\n\n{not json\n", "text"),
        (b"\n\n", ""),
        (b"", ""),
    ],
)
def test_the_format_is_known_by_the_first_line(first: bytes, expected: str) -> None:
    assert detect(first) == expected


NOT_JSON = [
    (
        "lines in a row count once",
        ecs(ABANDONED) + HEADED * 3 + ecs(ABANDONED) + b"Picked up JAVA_TOOL_OPTIONS\n",
        "",
        ["task_abandoned", "not_json", "delivery_timeout", "task_abandoned", "not_json"],
    ),
    ("a text that is said to be JSON", b"[2026-11-21 12:35:26,892] INFO x\n" * 10_000, "json", ["not_json"]),
    ("an object that breaks off", ecs(ABANDONED)[:-4] + b"\n", "", ["not_json", "task_abandoned"]),
]


@pytest.mark.parametrize(("data", "form", "expected"), named(NOT_JSON))
def test_what_is_not_json_is_read_as_text_and_counted(data: bytes, form: str, expected: list[str]) -> None:
    events = scan(data, scanner=Scanner(format=form))
    assert [getattr(event, "reason", event.kind) for event in events] == expected


def test_lines_in_a_row_that_are_not_json_are_counted_once_over_two_reads() -> None:
    first, second = ecs(ABANDONED) + b"one\n", b"two\n"
    found = scan(first + second, [len(first)])
    assert [event.kind for event in found] == ["task_abandoned", "quarantined"]


@pytest.mark.parametrize(
    "time",
    [
        '"timestamp": 1795264526.892',
        '"timeMillis": 1795264526892',
        '"instant": {"epochSecond": 1795264526.892}',
        '"instant": {"epochSecond": 1795264526, "nanoOfSecond": 892000000}',
        '"instant": {"epochSecond": 1795264526.892, "nanoOfSecond": "?"}',
        '"time": "2026-11-21T12:35:26.892Z"',
        '"timestamp": "2026-11-21 12:35:26,892"',
    ],
)
def test_times_of_json_layouts(time: str) -> None:
    line = f'{{{time}, "level": "ERROR", "message": "Graceful stop of task x-0 failed."}}\n'.encode()
    _, (found,) = Scanner(UTC).scan(Memory(), line)
    assert found.at_ms == 1_795_264_526_892


@pytest.mark.parametrize("before", [b"\0" * 99, b"\xef\xbb\xbf"], ids=["a lost block", "a byte order mark"])
@pytest.mark.parametrize("wrap", [bytes, *WRAPPERS.values()])
def test_what_stands_before_an_entry_that_is_no_text_changes_nothing(
    wrap: Callable[[bytes], bytes], before: bytes
) -> None:
    """As where a machine has lost power while it wrote, or at the beginning of what Windows writes."""
    log, another = wrap(HEADED + ABANDONED), wrap(ABANDONED)
    expected = [(event.kind, event.happened_at_ms) for event in scan(log + another)]
    found = scan(before + log + (before if b"\0" in before else b"") + another)
    assert [(event.kind, event.happened_at_ms) for event in found] == expected


@pytest.mark.parametrize("wrap", [bytes, cri, docker])
def test_an_entry_in_colours_is_one(wrap: Callable[[bytes], bytes]) -> None:
    """As Spring Boot's on a terminal, of which each line would be an entry else: causes would count again."""
    expired = "Expiring 1 record(s) for topic-0:1 ms has passed since batch creation"
    first_line = "\x1b[2m2026-11-21T12:35:23.893Z\x1b[0;39m \x1b[31mERROR\x1b[0;39m x"
    found = scan(wrap(f"{first_line}\nE: {expired}\nCaused by: {expired}\n".encode()) * 2)
    assert [event.kind for event in found] == ["delivery_timeout"] * 2
