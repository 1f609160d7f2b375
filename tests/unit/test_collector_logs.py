"""A log file through its life: absent, growing, rotated, truncated, followed by a restarted collector."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from collector.contract.events import Event, TaskAbandoned
from collector.sources.log_glob import NOTHING_MATCHES, LogGlob, is_pattern
from collector.sources.log_scan import Scanner
from collector.sources.logs import LogSource
from collector.sources.source import SourceDownError, State

Open = Callable[..., LogSource]
NOW_MS = 1_795_300_000_000


def line(task: int) -> str:
    return (
        f"[2026-11-21 12:35:23,893] ERROR [x|task-{task}] Graceful stop of task x-{task} failed. (o.Worker)\n"
    )


@pytest.fixture
def follow() -> Iterator[Open]:
    opened: list[LogSource] = []

    def follow(path: Path, saved: State | None = None, worker: str = "") -> LogSource:
        source = LogSource(
            path,
            saved=saved,
            scanner=Scanner(),
            worker=worker,
            kafka_cluster="c",
            poll_interval_ms=1,
            clock=lambda: NOW_MS,
        )
        opened.append(source)
        return source

    yield follow
    for source in opened:
        source.close()


def drain(source: LogSource) -> tuple[list[Event], State | None]:
    """Events up to the end of the file, and the last state."""
    events: list[Event] = []
    state: State | None = None
    while chunk := source.poll():
        events += chunk.events
        state = chunk.state
    return events, state


def tasks(events: list[Event]) -> list[str]:
    return [event.task for event in events if isinstance(event, TaskAbandoned)]


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_a_file_is_read_from_its_beginning_when_it_appears(tmp_path: Path, follow: Open) -> None:
    source = follow(tmp_path / "connect.log")
    with pytest.raises(SourceDownError, match="does not exist yet"):
        source.poll()
    append(tmp_path / "connect.log", line(0))
    assert tasks(drain(source)[0]) == ["0"]


def test_times_and_names_of_an_event(tmp_path: Path, follow: Open) -> None:
    append(tmp_path / "a.log", line(0) + "no header\n")
    (event,), _ = drain(follow(tmp_path / "a.log", worker="w:1"))
    assert (event.source, event.position) == (f"log:{tmp_path}/a.log", (0, 0, 0))
    assert (event.happened_at_ms, event.observed_at_ms) == (1_795_264_523_893, NOW_MS)
    assert isinstance(event, TaskAbandoned)
    assert event.worker == "w:1"


def test_what_carries_no_time_happened_when_it_was_seen(tmp_path: Path, follow: Open) -> None:
    append(tmp_path / "a.log", "Graceful stop of task x-0 failed.\n")
    (event,), _ = drain(follow(tmp_path / "a.log"))
    assert event.happened_at_ms == NOW_MS


def test_a_restart_goes_on_where_the_saved_state_stands(tmp_path: Path, follow: Open) -> None:
    path = tmp_path / "a.log"
    append(path, line(0) + line(1)[:20])
    _, state = drain(follow(path))
    append(path, line(1)[20:])
    events, _ = drain(follow(path, state))
    assert [(event.position.epoch, event.position.offset) for event in events] == [(0, len(line(0)))]


def test_a_renamed_file_is_read_to_its_end_before_its_successor(tmp_path: Path, follow: Open) -> None:
    path, old = tmp_path / "a.log", tmp_path / "a.log.1"
    append(path, line(0))
    source = follow(path)
    before, _ = drain(source)
    path.rename(old)
    append(old, line(1))
    append(path, line(2))
    after, _ = drain(source)
    assert tasks(before + after) == ["0", "1", "2"]
    assert [event.position.epoch for event in after] == [0, 1]


def test_a_file_renamed_while_nobody_looked_is_found_by_its_inode(tmp_path: Path, follow: Open) -> None:
    path, old = tmp_path / "a.log", tmp_path / "a.log.1"
    append(path, line(0))
    first = follow(path)
    _, state = drain(first)
    first.close()
    append(path, line(1))
    path.rename(old)
    append(path, line(2))
    events, _ = drain(follow(path, state))
    assert [(task, event.position.epoch) for task, event in zip(tasks(events), events, strict=True)] == [
        ("1", 0),
        ("2", 1),
    ]


def test_between_a_file_and_its_successor_the_source_is_down(tmp_path: Path, follow: Open) -> None:
    path = tmp_path / "a.log"
    append(path, line(0) + line(1).rstrip())
    source = follow(path)
    assert source.poll() is not None
    path.rename(tmp_path / "a.log.1")
    with pytest.raises(SourceDownError, match="gone"):
        source.poll()
    append(path, line(2))
    assert tasks(drain(source)[0]) == ["1", "2"]


def test_a_truncated_file_begins_again_as_the_next_one(tmp_path: Path, follow: Open) -> None:
    path = tmp_path / "a.log"
    append(path, line(0) + line(1))
    source = follow(path)
    drain(source)
    os.truncate(path, 0)
    append(path, line(2))
    events, _ = drain(source)
    assert [(event.position.epoch, event.position.offset) for event in events] == [(1, 0)]


def test_a_directory_is_refused_with_what_to_do(tmp_path: Path, follow: Open) -> None:
    with pytest.raises(SourceDownError, match="name a file, or a pattern"):
        follow(tmp_path).poll()


def test_an_unreadable_file_is_read_once_it_may_be(tmp_path: Path, follow: Open) -> None:
    path = tmp_path / "a.log"
    path.symlink_to(path)
    source = follow(path)
    with pytest.raises(SourceDownError, match="cannot be read"):
        source.poll()
    path.unlink()
    append(path, line(0))
    assert tasks(drain(source)[0]) == ["0"]


def test_a_huge_line_is_passed_over_in_flat_memory(tmp_path: Path, follow: Open) -> None:
    path = tmp_path / "a.log"
    append(path, line(0) + "x" * 5_000_000 + "\n" + line(1))
    events, _ = drain(follow(path))
    assert [event.kind for event in events] == ["task_abandoned", "quarantined", "task_abandoned"]


def test_half_a_million_lines_without_a_failure_pass_in_a_second(tmp_path: Path, follow: Open) -> None:
    path = tmp_path / "a.log"
    quiet = "[2026-11-21 12:35:18,541] INFO stream-thread [a-StreamThread-1] task [1_0] Restored (o.S:307)\n"
    path.write_text(quiet * 500_000)
    begin = time.process_time()
    assert drain(follow(path))[0] == []
    assert time.process_time() - begin < 1.0


def glob_of(pattern: Path, found: list[str], saved: State | None = None) -> LogGlob:
    return LogGlob(str(pattern), saved=saved, follow=lambda path: found.append(path.name), poll_interval_ms=1)


def test_a_pattern_follows_each_file_once(tmp_path: Path) -> None:
    found: list[str] = []
    source = glob_of(tmp_path / "*.log", found)
    with pytest.raises(SourceDownError, match=NOTHING_MATCHES):
        source.poll()
    for name in ("b.log", "a.log", "c.txt"):
        append(tmp_path / name, "x\n")
    assert source.poll() is not None
    append(tmp_path / "d.log", "x\n")
    assert source.poll() is not None
    assert source.poll() is None
    assert found == ["a.log", "b.log", "d.log"]


def test_a_rotated_file_that_still_matches_is_not_read_twice(tmp_path: Path) -> None:
    found: list[str] = []
    append(tmp_path / "a.log", "x\n")
    source = glob_of(tmp_path / "a.log*", found)
    first = source.poll()
    (tmp_path / "a.log").rename(tmp_path / "a.log.1")
    append(tmp_path / "a.log", "y\n")
    second = source.poll()
    assert first is not None
    assert second is not None
    for state in (first.state, second.state):
        glob_of(tmp_path / "a.log*", found, state).poll()
    assert found == ["a.log", "a.log", "a.log"]


def test_what_is_a_pattern() -> None:
    assert [is_pattern(path) for path in ("/var/log/a.log", "/var/log/*.log", "a[12].log")] == [
        False,
        True,
        True,
    ]
