"""A log that is rotated at any moment, and a source that is restarted at any moment: nothing is lost, nothing
comes twice.
"""

import os
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.sources.logs.files import LogSource
from collector.sources.logs.scan import Scanner
from collector.sources.source import SourceDownError, State
from deadwatch.contract.events import Position, Quarantined, TaskAbandoned
from tests.unit.collector.sources.logs.scanning import log_source

STEPS = ("write", "write", "write", "part", "poll", "restart", "rename", "copytruncate", "truncate", "delete")


class Writer:
    """Writes entries, each with a number of its own, and rotates its file."""

    def __init__(self, path: Path, wrapped: bool) -> None:
        self.path, self.written, self.rotations, self.unseen = path, 0, 0, False
        self._wrapped = wrapped
        self._left = b""

    def write(self) -> None:
        self._append(self._left or self._entry())
        self._left = b""

    def part(self, at: int) -> None:
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
        self.rotations += 1
        old = self.path.rename(self.path.with_name(f"x.log.{self.rotations}"))
        with old.open("ab") as file:
            file.write(self._left)
        self._left = b""

    def delete(self) -> None:
        self.unseen = True
        self.path.unlink(missing_ok=True)

    def copytruncate(self) -> None:
        if self.path.exists():
            self.rotations += 1
            copy = self.path.with_name(f"x.log.{self.rotations}")
            copy.write_bytes(self.path.read_bytes())
            self.truncate()

    def truncate(self) -> None:
        if self.path.exists():
            self.unseen = True
            os.truncate(self.path, 0)

    def _append(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)

    def _entry(self) -> bytes:
        self.written += 1
        message = f"Graceful stop of task x-{self.written} failed."
        if self._wrapped:
            return f"2026-11-21T12:35:23.893Z stdout F [2026-11-21 12:35:23,893] ERROR {message}\n".encode()
        return f"[2026-11-21 12:35:23,893] ERROR {message}\n\tat a.B.c(B.java:1)\n".encode()


class Reader:
    """A source that is restarted from its saved state; like streaming, it drops what was counted."""

    def __init__(self, path: Path) -> None:
        self.tasks: list[str] = []
        self.gaps: list[tuple[str, str]] = []
        self._path = path
        self._state: State | None = None
        self._position = Position(-1)
        self._source = self._begin(None)

    def restart(self) -> None:
        self._source.close()
        self._source = self._begin(self._state)

    def drain(self) -> None:
        try:
            while self.poll():
                pass
        except SourceDownError:
            return

    def poll(self) -> bool:
        chunk = self._source.poll()
        if chunk is None:
            return False
        for event in chunk.events:
            assert event.position > self._position
            self._position = event.position
            if isinstance(event, TaskAbandoned):
                self.tasks.append(event.task)
            else:
                assert isinstance(event, Quarantined)
                self.gaps.append((event.reason, event.excerpt))
        self._state = chunk.state
        return True

    def close(self) -> None:
        self._source.close()

    def _begin(self, saved: State | None) -> LogSource:
        return log_source(self._path, saved, scanner=Scanner(max_line_bytes=300))


def step(name: str, writer: Writer, reader: Reader, at: int) -> None:
    """Whoever deletes or truncates a log loses what was not read: here all was read before. A new log was
    seen under its first name.
    """
    if name in ("truncate", "delete"):
        writer.finish()
        reader.drain()
    elif name in ("rename", "copytruncate"):
        if writer.unseen:
            writer.finish()
            writer.write()
            reader.drain()
            writer.unseen = False
        writer.write()
        if name == "rename":
            writer.part(at)
    if name == "part":
        writer.part(at)
    elif name in ("poll", "restart"):
        getattr(reader, "drain" if name == "poll" else name)()
    else:
        getattr(writer, name)()


@settings(max_examples=40)
@given(steps=st.lists(st.sampled_from(STEPS), max_size=40), seed=st.integers(0, 1_000), wrapped=st.booleans())
def test_totals_are_exact_whatever_happens_to_the_file(steps: list[str], seed: int, wrapped: bool) -> None:
    rng = Random(seed)
    with TemporaryDirectory() as directory:
        writer = Writer(Path(directory) / "x.log", wrapped)
        reader = Reader(writer.path)
        try:
            writer.write()
            reader.drain()
            for name in steps:
                step(name, writer, reader, rng.randrange(1_000))
            writer.finish()
            writer.write()
            reader.drain()
        finally:
            reader.close()
    assert reader.tasks == [str(task) for task in range(1, writer.written + 1)]


@pytest.mark.parametrize("restart", [False, True])
def test_an_entry_goes_on_in_the_renamed_file(tmp_path: Path, restart: bool) -> None:
    writer = Writer(tmp_path / "x.log", wrapped=False)
    reader = Reader(writer.path)
    writer.part(40)
    reader.drain()
    if restart:
        reader.restart()
    writer.rename()
    writer.write()
    reader.drain()
    reader.close()
    assert reader.tasks == ["1", "2"]


@pytest.mark.parametrize("restart", [False, True])
def test_a_file_that_was_rewritten_longer_than_before_is_another(tmp_path: Path, restart: bool) -> None:
    writer = Writer(tmp_path / "x.log", wrapped=False)
    reader = Reader(writer.path)
    writer.write()
    reader.drain()
    os.truncate(writer.path, 0)
    for _ in range(5):
        writer.write()
    if restart:
        reader.restart()
    reader.drain()
    reader.close()
    assert reader.tasks == ["1", "2", "3", "4", "5", "6"]


ROTATIONS = {
    "a number": "x.log.{}",
    "a day": "x.log.2026-11-{:02}",
    "a day before the suffix": "x-2026-11-{:02}.log",
    "an hour": "x.log.2026-11-21-{:02}",
}


@pytest.mark.parametrize("name", ROTATIONS.values(), ids=ROTATIONS.keys())
@pytest.mark.parametrize("restart", [False, True])
def test_a_log_rotated_often_while_nobody_read_is_read_through_all_of_them(
    tmp_path: Path, restart: bool, name: str
) -> None:
    writer = Writer(tmp_path / "x.log", wrapped=False)
    reader = Reader(writer.path)
    (tmp_path / name.format(1)).write_text(
        "[2026-11-21 12:35:23,893] ERROR Graceful stop of task x-0 failed.\n"
    )
    (tmp_path / "y.log.1").write_text("[2026-11-21 12:35:23,893] ERROR Graceful stop of task y-0 failed.\n")
    writer.write()
    reader.drain()
    if restart:
        reader.restart()
    for rotation in range(2, 6):
        writer.write()
        writer.path.rename(tmp_path / name.format(rotation))
        writer.write()
    reader.drain()
    reader.close()
    assert reader.tasks == [str(task) for task in range(1, writer.written + 1)]
    assert not reader.gaps


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("copies", [1, 3])
def test_what_was_not_read_of_a_log_that_was_copied_and_cut_is_read_in_its_copy(
    tmp_path: Path, restart: bool, copies: int
) -> None:
    writer = Writer(tmp_path / "x.log", wrapped=False)
    reader = Reader(writer.path)
    writer.write()
    reader.drain()
    for _ in range(copies):
        writer.write()
        writer.write()
        writer.copytruncate()
        writer.write()
    if restart:
        reader.restart()
    reader.drain()
    reader.close()
    assert reader.tasks == [str(task) for task in range(1, writer.written + 1)]
    assert not reader.gaps


@pytest.mark.parametrize("restart", [False, True])
def test_a_log_that_was_cut_and_has_no_copy_is_a_gap_unless_it_was_read_to_its_end(
    tmp_path: Path, restart: bool
) -> None:
    writer = Writer(tmp_path / "x.log", wrapped=False)
    reader = Reader(writer.path)
    writer.write()
    writer.write()
    reader.drain()
    read = writer.path.stat().st_size
    if restart:
        reader.restart()
    writer.truncate()
    writer.write()
    reader.drain()
    reader.close()
    assert reader.tasks == ["1", "2", "3"]
    assert reader.gaps == ([("log_file_gone", f"after {read} bytes")] if restart else [])


def test_what_is_written_to_a_renamed_file_until_its_writer_knows_is_read(tmp_path: Path) -> None:
    """As by ``create`` of logrotate, which tells the writer when the new file is there."""
    writer = Writer(tmp_path / "x.log", wrapped=False)
    reader = Reader(writer.path)
    writer.write()
    reader.drain()
    renamed = writer.path.rename(tmp_path / "x.log.1")
    (tmp_path / "x.log").touch()
    reader.drain()
    writer.path = renamed
    writer.write()
    writer.path = tmp_path / "x.log"
    writer.write()
    reader.drain()
    reader.close()
    assert reader.tasks == ["1", "2", "3"]


def test_an_empty_successor_is_believed_when_the_renamed_file_has_been_quiet(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "x.log", wrapped=False)
    reader = Reader(writer.path)
    writer.write()
    reader.drain()
    renamed = writer.path.rename(tmp_path / "x.log.1")
    (tmp_path / "x.log").touch()
    assert not reader.poll()
    os.utime(renamed, (0, 0))
    assert reader.poll()
    reader.close()


@pytest.mark.parametrize("restart", [False, True])
def test_a_link_is_followed_to_the_rotations_beside_its_file(tmp_path: Path, restart: bool) -> None:
    """As those of /var/log/containers on Kubernetes."""
    pod, link = tmp_path / "pod", tmp_path / "containers" / "x.log"
    for directory in (pod, link.parent):
        directory.mkdir()
    writer = Writer(pod / "0.log", wrapped=True)
    writer.write()
    link.symlink_to(writer.path)
    reader = Reader(link)
    reader.drain()
    if restart:
        reader.restart()
    for at in range(2):
        writer.write()
        writer.path.rename(pod / f"0.log.20261121-06363{at}")
        writer.write()
    reader.drain()
    reader.close()
    assert reader.tasks == [str(task) for task in range(1, writer.written + 1)]
    assert not reader.gaps


@pytest.mark.parametrize("cut", [False, True])
def test_the_log_of_another_process_is_not_read_for_a_rotation(tmp_path: Path, cut: bool) -> None:
    """``x-1.log`` beside ``x.log``, though it is written last."""
    writer, other = Writer(tmp_path / "x.log", wrapped=False), tmp_path / "x-1.log"
    reader = Reader(writer.path)
    writer.write()
    reader.drain()
    if cut:
        writer.copytruncate()
    else:
        writer.rename()
    other.write_text("[2026-11-21 12:35:23,893] ERROR Graceful stop of task x-0 failed.\n")
    writer.write()
    reader.drain()
    reader.close()
    assert reader.tasks == ["1", "2"]


def test_rotations_written_at_the_same_time_are_read_once(tmp_path: Path) -> None:
    """As file systems keep times that count whole seconds, or what was copied from elsewhere."""
    writer = Writer(tmp_path / "x.log", wrapped=False)
    reader = Reader(writer.path)
    writer.write()
    reader.drain()
    for _ in range(3):
        writer.rename()
        os.utime(tmp_path / f"x.log.{writer.rotations}", (1_000, 1_000))
        writer.write()
    reader.drain()
    reader.close()
    assert len(reader.tasks) == len(set(reader.tasks))


def test_a_file_that_went_while_nobody_read_is_a_counted_gap(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "x.log", wrapped=False)
    reader = Reader(writer.path)
    writer.write()
    reader.drain()
    reader.restart()
    read = writer.path.stat().st_size
    held = writer.path.open("rb")  # its number is not given to the next file
    writer.delete()
    writer.write()
    reader.drain()
    held.close()
    reader.close()
    assert reader.tasks == ["1", "2"]
    assert reader.gaps == [("log_file_gone", f"after {read} bytes")]
