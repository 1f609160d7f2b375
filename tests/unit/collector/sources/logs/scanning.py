"""Writes logs, and scans whole ones as a source does: block by block, with the memory saved in between if
wanted.
"""

import json
import os
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import NoReturn

from pydantic import TypeAdapter

from collector.settings import DEFAULT_NAME
from collector.sources.logs.files import Following, LogSource
from collector.sources.logs.patterns import LogGlob
from collector.sources.logs.scan import Found, Memory, Scanner
from collector.sources.source import Publishing, State
from deadwatch.contract.events import Event, Position, Quarantined
from tests.paths import DATA

LOGS = DATA / "logs"
TRUTH = json.loads((LOGS / "truth.json").read_text())
MEMORY = TypeAdapter(Memory)
NOW_MS = 1_795_300_000_000
DETECTING = Scanner()
Maybe = Callable[[Callable[[], None]], None]
"""Does what it is given, or does not: a test has to hold both ways."""


def abandoned(task: int, time: str = "2026-11-21 12:35:23,893") -> str:
    """A line that a worker writes about an abandoned task."""
    return f"[{time}] ERROR [x|task-{task}] Graceful stop of task x-{task} failed. (o.Worker)\n"


class Writer:
    """Writes entries, each with a number of its own from 1, and rotates its file."""

    def __init__(self, path: Path, *, wrapped: bool = False) -> None:
        self.path, self.written, self.rotations, self.unseen = path, 0, 0, False
        self._wrapped = wrapped
        self._left = b""

    def every(self) -> list[str]:
        """The tasks of all entries."""
        return [str(task) for task in range(1, self.written + 1)]

    def write(self, entries: int = 1) -> None:
        for _ in range(entries):
            self._append(self._left or self._entry())
            self._left = b""

    def part(self, at: int = 40) -> None:
        whole = self._left or self._entry()
        cut = 1 + at % (len(whole) - 1) if len(whole) > 1 else 1
        self._append(whole[:cut])
        self._left = whole[cut:]

    def finish(self) -> None:
        if self._left:
            self.write()

    def rename(self) -> None:
        """What was begun is finished in the file that was open."""
        if not self.path.exists():
            return
        old = self.path.rename(self._rotation())
        with old.open("ab") as file:
            file.write(self._left)
        self._left = b""

    def delete(self) -> None:
        self.unseen = True
        self.path.unlink(missing_ok=True)

    def copytruncate(self) -> None:
        if self.path.exists():
            self._rotation().write_bytes(self.path.read_bytes())
            self.truncate()

    def truncate(self) -> None:
        if self.path.exists():
            self.unseen = True
            os.truncate(self.path, 0)

    def _rotation(self) -> Path:
        self.rotations += 1
        return self.path.with_name(f"{self.path.name}.{self.rotations}")

    def _append(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)

    def _entry(self) -> bytes:
        self.written += 1
        entry = abandoned(self.written)
        return (
            f"2026-11-21T12:35:23.893Z stdout F {entry}".encode()
            if self._wrapped
            else f"{entry}\tat a.B\n".encode()
        )


@contextmanager
def flat(*, most_mb: int) -> Iterator[None]:
    """No more than that is held at once inside of it."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most_mb << 20
    finally:
        tracemalloc.stop()


def refusing(number: int) -> Callable[..., NoReturn]:
    """In place of a call that the system refuses."""

    def fail(*_: object, **__: object) -> NoReturn:
        raise OSError(number, os.strerror(number))

    return fail


def following(
    saved: State | None = None,
    *,
    worker: str = "",
    scanner: Scanner = DETECTING,
    clock: Callable[[], int] = lambda: NOW_MS,
    collector: str = DEFAULT_NAME,
    states: Mapping[str, State | None] | None = None,
) -> Following:
    """What a source is given that has ``saved`` this, or what is in ``states`` under its name."""
    publishing = Publishing(
        lambda name: saved if states is None else states.get(name), "c", 1, clock, collector
    )
    return Following(publishing, 1, scanner, worker)


def log_source(
    path: Path, saved: State | None = None, *, worker: str = "", scanner: Scanner = DETECTING
) -> LogSource:
    return LogSource(path, following(saved, worker=worker, scanner=scanner))


def glob_of(
    pattern: Path,
    found: list[str],
    saved: State | None = None,
    *,
    follows: Callable[[Path], bool] = lambda _: True,
) -> LogGlob:
    """A pattern that says in ``found`` which files it follows."""
    return LogGlob(str(pattern), following(saved), lambda path, *_: found.append(path.name), follows)


def drain(source: LogSource) -> tuple[list[Event], State | None]:
    """Events up to the end of the file, and the last state."""
    events: list[Event] = []
    state: State | None = None
    while chunk := source.poll():
        events += chunk.events
        state = chunk.state
    return events, state


def read_out(path: Path, known: Following) -> tuple[list[Event], State | None]:
    """What a source of the file finds up to its end, and its last state."""
    with closing(LogSource(path, known, of_pattern=True)) as source:
        return drain(source)


def tasks_and_reasons(events: Iterable[Event]) -> list[str]:
    """The task that each event is about, or why something could not be read."""
    return [
        event.reason if isinstance(event, Quarantined) else getattr(event, "task", event.kind)
        for event in events
    ]


def events_of(found: Iterable[Found]) -> Iterator[Event]:
    for cause in found:
        yield cause.cause.event(
            source="log:x",
            position=Position(0, cause.offset, cause.ordinal),
            happened_at_ms=cause.at_ms or 0,
            observed_at_ms=0,
            kafka_cluster="c",
        )


def restarted(memory: Memory) -> Memory:
    """The memory after it was saved as JSON and loaded again."""
    return MEMORY.validate_python(json.loads(json.dumps(MEMORY.dump_python(memory, mode="json"))))


def scan(
    data: bytes, cuts: Iterable[int] = (), scanner: Scanner = DETECTING, *, restart: bool = False
) -> list[Event]:
    """Everything that is found when at each time only the bytes up to the next cut are there.

    With ``restart`` the memory is saved and restored after each block.
    """
    memory, events = Memory(), list[Event]()
    for end in (*cuts, len(data)):
        while True:
            block = data[memory.offset : min(end, memory.offset + scanner.max_line_bytes)]
            after, found = scanner.scan(memory, block)
            events += events_of(found)
            passed = after.offset > memory.offset
            memory = restarted(after) if restart else after
            if not passed:
                break
    return events


def read(data: bytes) -> list[Event]:
    """Every event of a log that is complete."""
    memory, events = Memory(), list[Event]()
    while memory.offset < len(data):
        memory, found = DETECTING.scan(memory, data[memory.offset :], final=True)
        events += events_of(found)
    return events


def expect_provoked(file: str, data: bytes, *, restart: bool = False) -> None:
    """A real log, however it is wrapped, gives what was provoked when it was recorded, and nothing else."""
    seen: dict[str, list[dict[str, object]]] = {}
    for event in scan(data, restart=restart):
        seen.setdefault(event.kind, []).append(asdict(event))
    assert set(seen) == set(TRUTH[file])
    for kind, expected in TRUTH[file].items():
        facts = [{name: event[name] for name in expected[0]} for event in seen[kind]]
        assert sorted(facts, key=str) == sorted(expected, key=str)
