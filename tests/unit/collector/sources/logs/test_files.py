"""A log file through its life: absent, growing, rotated, truncated, followed by a restarted collector."""

import errno
import gzip
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from collector.sources.logs.files import GONE_MS, LogSource
from collector.sources.logs.patterns import NOTHING_MATCHES, LogGlob
from collector.sources.source import SourceDownError, State
from deadwatch.contract.events import TaskAbandoned, encode
from tests.unit.collector.sources.logs.scanning import (
    NOW_MS,
    abandoned,
    drain,
    following,
    glob_of,
    log_source,
    read_out,
    refusing,
    tasks_and_reasons,
)

Open = Callable[..., LogSource]


@pytest.fixture
def follow() -> Iterator[Open]:
    with ExitStack() as opened:

        def follow(path: Path, saved: State | None = None, worker: str = "") -> LogSource:
            return opened.enter_context(closing(log_source(path, saved, worker=worker)))

        yield follow


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


@pytest.mark.parametrize("loop", [False, True], ids=["it is not there", "it is a link to itself"])
def test_a_file_is_read_from_its_beginning_once_it_can_be(tmp_path: Path, follow: Open, loop: bool) -> None:
    path = tmp_path / "connect.log"
    if loop:
        path.symlink_to(path)
    source = follow(path)
    with pytest.raises(SourceDownError, match="cannot be read" if loop else "does not exist yet"):
        source.poll()
    path.unlink(missing_ok=True)
    append(path, abandoned(0))
    assert tasks_and_reasons(drain(source)[0]) == ["0"]


def test_times_and_names_of_an_event(tmp_path: Path, follow: Open) -> None:
    append(tmp_path / "a.log", abandoned(0) + "no header\n")
    (event,), _ = drain(follow(tmp_path / "a.log", worker="w:1"))
    assert (event.source, event.position) == (f"log:{tmp_path}/a.log", (0, 0, 0))
    assert (event.happened_at_ms, event.observed_at_ms) == (1_795_264_523_893, NOW_MS)
    assert isinstance(event, TaskAbandoned)
    assert event.worker == "w:1"


def test_a_file_whose_name_is_no_utf8_is_read_and_its_events_can_be_written(tmp_path: Path) -> None:
    path = Path(os.fsdecode(bytes(tmp_path / "caf") + b"\xe9.log"))
    append(path, abandoned(0))
    found: list[Path] = []
    LogGlob(f"{tmp_path}/*.log", following(), lambda path, *_: found.append(path)).poll()
    (event,), _ = read_out(found[0], following())
    assert following().source(path) == event.source == f"log:{tmp_path}/caf\\xe9.log"
    assert encode(event)


def test_files_of_one_path_on_several_machines_are_told_apart_by_their_collectors(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    append(path, abandoned(0))
    for collector, name in (("collector", f"log:{path}"), ("kafka-1", f"log:{path}@kafka-1")):
        (event,), _ = read_out(path, following(collector=collector))
        assert event.source == name
    assert LogGlob("*.log", following(collector="kafka-1"), lambda *_: None).name == "log:*.log@kafka-1"


def test_a_collector_goes_on_from_what_it_saved_before_its_name_was_part_of_the_files(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    append(path, abandoned(0))
    _, saved = read_out(path, following())
    append(path, abandoned(1))
    pattern = f"{tmp_path}/*.log*"
    kept = {f"log:{path}": saved, f"log:{pattern}": {"paths": [str(path)]}}
    reading = following(collector="kafka-1", states=kept)
    assert tasks_and_reasons(read_out(path, reading)[0]) == ["1"]
    followed: list[Path] = []
    path.with_suffix(".log.gz").touch()  # beside files that are known it is one of them, compressed
    LogGlob(pattern, reading, lambda path, *_: followed.append(path)).poll()
    assert followed == [path]


def test_between_a_file_and_its_successor_the_source_is_down(tmp_path: Path, follow: Open) -> None:
    path = tmp_path / "a.log"
    append(path, abandoned(0) + abandoned(1).rstrip())
    source = follow(path)
    assert source.poll() is not None
    path.rename(tmp_path / "a.log.1")
    with pytest.raises(SourceDownError, match="gone"):
        source.poll()
    append(path, abandoned(2))
    assert tasks_and_reasons(drain(source)[0]) == ["1", "2"]


def test_a_file_of_a_pattern_that_is_gone_ends_and_one_that_comes_again_is_another(tmp_path: Path) -> None:
    path, now_ms = tmp_path / "a.log", [NOW_MS]
    reading = following(clock=lambda: now_ms[0])
    timed_out = "Task 1_0 did not make progress within 9 ms. Adjust `task.timeout.ms` if needed.\n"
    append(path, timed_out + abandoned(0) + abandoned(1).rstrip())
    source = LogSource(path, reading, of_pattern=True)
    assert tasks_and_reasons(drain(source)[0]) == ["1_0", "0"]
    path.unlink()
    for after_ms in (0, GONE_MS - 1):
        now_ms[0] = NOW_MS + after_ms
        with pytest.raises(SourceDownError, match="gone"):
            source.poll()
    now_ms[0] = NOW_MS + GONE_MS
    chunk = source.poll()
    assert chunk is not None
    assert (chunk.ended, tasks_and_reasons(list(chunk.events))) == (True, ["1"])
    assert not chunk.state["memory"]["entry"]
    assert not chunk.state["memory"]["recent"], "what is kept for long is small"
    append(path, abandoned(2))
    events, _ = read_out(path, following(chunk.state))
    assert tasks_and_reasons(events) == ["2"], "and nothing was lost"
    assert events[0].position > chunk.events[0].position


def test_a_line_that_became_whole_before_its_log_was_gone_is_read_once(tmp_path: Path) -> None:
    """Though it was the log's last, and could not be looked at again: its handle has become stale."""
    path, now_ms = tmp_path / "a.log", [NOW_MS]
    append(path, abandoned(0).rstrip())
    source = LogSource(path, following(clock=lambda: now_ms[0]), of_pattern=True)
    assert drain(source)[0] == []
    append(path, "\n")
    told = [source.poll()]
    path.unlink()
    source.close()
    with pytest.raises(SourceDownError, match="does not exist"):
        source.poll()
    now_ms[0] += GONE_MS
    told += [source.poll()]
    assert [tasks_and_reasons(chunk.events) for chunk in told if chunk is not None] == [["0"], []]


@pytest.mark.parametrize("read_once", [False, True])
@pytest.mark.parametrize("gone", [{"gone_ms": NOW_MS}, {"whole": True}], ids=["", "by an earlier version"])
def test_a_file_that_was_gone_and_has_come_back_is_saved_as_there(
    tmp_path: Path, read_once: bool, gone: dict[str, int]
) -> None:
    path = tmp_path / ("a.gz" if read_once else "a.log")
    path.write_bytes(gzip.compress(abandoned(0).encode()) if read_once else abandoned(0).encode())
    events, state = read_out(path, following())
    assert state is not None
    assert tasks_and_reasons(events) == ["0"]
    was_gone = {name: value for name, value in state.items() if name != "gone_ms"} | gone
    with closing(LogSource(path, following(was_gone), of_pattern=True)) as again:
        chunk = again.poll()
        assert chunk is not None
        assert (chunk.events, chunk.ended, chunk.state["gone_ms"]) == ((), False, 0)
        assert again.poll() is None


def test_a_file_that_was_read_once_has_not_ended_where_we_may_not_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress(abandoned(0).encode()))
    source = LogSource(path, following(), of_pattern=True)
    assert tasks_and_reasons(drain(source)[0]) == ["0"]
    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", refusing(errno.EACCES))
        with pytest.raises(SourceDownError, match="Permission denied"):
            source.poll()
    assert source.poll() is None


@pytest.mark.parametrize("read", [[], ["0"]])
@pytest.mark.parametrize("call", ["fstat", "pread"])
def test_a_file_whose_handle_is_stale_is_opened_again(
    tmp_path: Path, follow: Open, monkeypatch: pytest.MonkeyPatch, call: str, read: list[str]
) -> None:
    """As after NFS has come back with another export; closing fails, too."""
    append(tmp_path / "a.log", "".join(abandoned(int(task)) for task in read))
    source = follow(tmp_path / "a.log")
    assert tasks_and_reasons(drain(source)[0]) == read
    with monkeypatch.context() as patched:
        patched.setattr(os, call, refusing(errno.ESTALE))
        patched.setattr(os, "close", closing_with_an_error(os.close))
        with pytest.raises(SourceDownError, match="Stale file handle"):
            source.poll()
    append(tmp_path / "a.log", abandoned(1))
    opened = list[Path]()
    monkeypatch.setattr(os, "open", recording(opened, os.open))
    assert tasks_and_reasons(drain(source)[0]) == ["1"]
    assert opened == [tmp_path / "a.log"]


def recording(opened: list[Path], open_: Callable[[Path, int], int]) -> Callable[[Path, int], int]:
    def record(path: Path, flags: int) -> int:
        opened.append(path)
        return open_(path, flags)

    return record


def closing_with_an_error(close: Callable[[int], None]) -> Callable[[int], None]:
    def fail(descriptor: int) -> None:
        close(descriptor)
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    return fail


def test_a_directory_is_refused_with_what_to_do(tmp_path: Path, follow: Open) -> None:
    with pytest.raises(SourceDownError, match="name a file, or a pattern"):
        follow(tmp_path).poll()


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


def test_a_file_whose_source_has_ended_is_followed_when_it_comes_again(tmp_path: Path) -> None:
    found: list[str] = []
    ended: set[str] = set()
    source = glob_of(tmp_path / "*.log*", found, follows=lambda path: path.name not in ended)
    append(tmp_path / "a.log", "x\n")
    append(tmp_path / "b.log", "x\n")
    assert source.poll() is not None
    (tmp_path / "a.log").unlink()
    assert source.poll() is not None
    append(tmp_path / "a.log", "y\n")
    assert source.poll() is not None
    assert found == ["a.log", "b.log"], "it is still followed"
    (tmp_path / "a.log").unlink()
    ended.add("a.log")
    chunk = source.poll()
    assert chunk is not None
    assert chunk.state["paths"] == [str(tmp_path / "b.log")], "what is gone is forgotten"
    append(tmp_path / "a.log", "z\n")
    source.poll()
    assert found == ["a.log", "b.log", "a.log"]
    (tmp_path / "b.log.gz").write_bytes(gzip.compress((tmp_path / "b.log").read_bytes()))
    for name in ("a.log", "b.log"):
        (tmp_path / name).unlink()
    ended.add("b.log")
    source.poll()
    after_a_start: list[str] = []
    (state,) = [one.state for one in [source.poll() or chunk]]
    glob_of(tmp_path / "*.log*", after_a_start, state).poll()
    assert after_a_start == [], "it was read before it was compressed"


def test_a_file_that_cannot_be_followed_is_tried_again_and_loses_no_other(tmp_path: Path) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text("")
    found: list[str] = []

    def follow(path: Path, *_: object) -> None:
        if path.name == "b.log" and len(found) == 1:
            found.append("trouble")
            raise OSError("no thread")
        found.append(path.name)

    source = LogGlob(str(tmp_path / "*.log"), following(), follow)
    with pytest.raises(OSError, match="no thread"):
        source.poll()
    chunk = source.poll()
    assert found == ["a.log", "trouble", "b.log"]
    assert chunk is not None
    after_a_start: list[str] = []
    glob_of(tmp_path / "*.log", after_a_start, chunk.state).poll()
    assert after_a_start == ["a.log", "b.log"]
