"""What the scanner finds depends on the bytes of the file alone."""

from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.sources.logs.scan import MAX_FOUND, MAX_IDENTITIES, Memory, Scanner
from tests.unit.collector.sources.logs.scanning import LOGS, MEMORY, TRUTH, expect_provoked, scan

SHORT = 400
"""Lines of that many bytes are too long for the scanner of the property test."""

NO_PROGRESS = b"Task %b did not make progress within 4004 ms. Adjust `task.timeout.ms` if needed."
LINES = (
    b"[2026-11-21 12:35:26,892] ERROR stream-thread [a-StreamThread-1] Error encountered sending due to:\n",
    b"[2026-11-21 12:35:26,893] INFO nothing of note\n",
    b"2026-11-21T12:35:40.000Z WARN later\r\n",
    b"o.TimeoutException: Expiring 2 record(s) for t-0:3001 ms has passed since batch creation\n",
    b"Caused by: o.TimeoutException: Expiring 2 record(s) for t-0:3001 ms has passed since batch creation\n",
    b"o.StreamsException: " + NO_PROGRESS % b"0_1" + b"\n",
    NO_PROGRESS % b"0_1" + b" " + NO_PROGRESS % b"0_2" + b"\n",
    b"[2026-11-21 12:35:27,000] ERROR [x|task-0] Graceful stop of task x-0 failed. (o.Worker:1104)\n",
    b"[2026-11-21 12:35:27,000] ERROR Connector 'x' failed to properly shut down, has become unresponsive,"
    b" and may be consuming external resources.\n",
    b"[2026-11-21 12:35:27,500] INFO Completed shutdown for WorkerConnector{id=x} (o.WorkerConnector:318)\n",
    b"[2026-11-21 12:35:28,000] ERROR Failed to write to DLQ, proceeding to ARCHIVED regardless."
    b" (k.S:3400)\n",
    b"o.ConfigException: DLQ is not enabled on configured DLQ topic for share group: g1, topic: t.\n",
    b"\tat o.Something.run(Something.java:12)\n",
    b"\n",
    b"\xff\xfe not text \x80\n",
    b"Topic t not present in metadata after 60000 ms.\n",
    b"y" * (SHORT + 60) + b"\n",
    b"[2026-11-21 12:35:29,000] INFO " + b"z" * SHORT + b"\n",
)


@pytest.mark.parametrize("file", sorted(TRUTH))
def test_real_logs_hold_what_was_provoked(file: str) -> None:
    expect_provoked(file, (LOGS / file).read_bytes())


@settings(max_examples=30)
@given(
    lines=st.lists(st.sampled_from(LINES), max_size=30),
    cuts=st.lists(st.integers(0, 4_000), max_size=12),
    restart=st.booleans(),
)
def test_reads_and_restarts_change_nothing(lines: list[bytes], cuts: list[int], restart: bool) -> None:
    data, scanner = b"".join(lines), Scanner(max_line_bytes=SHORT)
    whole = scan(data, scanner=scanner)
    assert scan(data, sorted(cuts), scanner, restart=restart) == whole
    positions = [event.position for event in whole]
    assert positions == sorted(set(positions))


@dataclass(frozen=True)
class Case:
    name: str
    lines: tuple[int, ...]
    expected: tuple[tuple[str, int, int], ...]


def _start(lines: tuple[int, ...], line: int) -> int:
    return sum(len(LINES[number]) for number in lines[:line])


CASES = [
    Case("an entry repeats its text", (0, 3, 12, 4), (("delivery_timeout", 0, 0),)),
    Case("two causes in one entry", (0, 3, 5), (("delivery_timeout", 0, 0), ("task_timeout", 0, 1))),
    Case("two causes in one line", (0, 6), (("task_timeout", 0, 0), ("task_timeout", 0, 1))),
    Case("the same hit in a later entry", (0, 5, 1, 5), (("task_timeout", 0, 0),)),
    Case("after the window", (0, 5, 2, 5), (("task_timeout", 0, 0), ("task_timeout", _start((0, 5), 2), 0))),
    Case("without a header a line stands for itself", (12, 5), (("task_timeout", _start((12,), 1), 0),)),
    Case("a group on the next line", (10, 11), (("share_dead_letter_lost", 0, 0),)),
    Case("too long a line within an entry", (0, 3, 16), (("delivery_timeout", 0, 0), ("quarantined", 0, 1))),
    Case("too long a line that begins an entry", (17, 5), (("quarantined", 0, 0), ("task_timeout", 0, 1))),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_causes_and_their_positions(case: Case) -> None:
    events = scan(b"".join(LINES[line] for line in case.lines), scanner=Scanner(max_line_bytes=SHORT))
    assert tuple((e.kind, e.position.offset, e.position.ordinal) for e in events) == case.expected


def test_a_cause_counts_as_soon_as_its_line_is_complete() -> None:
    data = LINES[0] + LINES[3]
    assert scan(data[:-1]) == []
    assert len(scan(data)) == 1


def test_a_block_full_of_hits_is_left_in_portions() -> None:
    data = LINES[7] * (MAX_FOUND + 1)
    memory, found = Scanner().scan(Memory(), data)
    assert len(found) == MAX_FOUND
    assert memory.offset == MAX_FOUND * len(LINES[7])


@pytest.mark.parametrize(
    "line",
    [
        b"Topic t%d not present in metadata after 60000 ms.\n",
        b"Timeout of 9ms expired before successfully committing offsets {in-0=%d"
        + b", in-1=9" * 300
        + b"}\n",
    ],
    ids=["short ones", "long ones"],
)
def test_what_is_remembered_stays_small(line: bytes) -> None:
    data = LINES[0] + b"".join(line % number for number in range(900))
    scanner = Scanner(max_line_bytes=len(data) + 1)
    memory, found = scanner.scan(Memory(), data + line % 899)
    assert len(found) == 900
    assert len(MEMORY.dump_json(memory)) < 100_000


def test_what_is_always_new_lets_no_cause_be_forgotten_that_is_logged_again() -> None:
    """As the timers of many tasks, between a timeout in the log of a thread and in that of its client."""
    at, client = "[2026-11-21 12:35:23,893] ERROR ", "app-7f99e2d8-5383-481a-8dd1-773528d54f71"
    hit = "Task 0_0 did not make progress within 9 ms. Adjust `task.timeout.ms` if needed.\n"
    timers = (
        f"{at}stream-thread [{client}-StreamThread-1] Could not complete processing records for 1_{task}"
        " due to the following exception; will move to next task and retry later\n"
        for task in range(MAX_IDENTITIES)
    )
    told = (
        f"{at}stream-thread [{client}-StreamThread-1] x: {hit}",
        *timers,
        f"{at}stream-client [{client}] x: {hit}",
    )
    kinds = Counter(event.kind for event in scan("".join(told).encode()))
    assert kinds == {"task_timeout": 1, "task_timer_started": MAX_IDENTITIES}
