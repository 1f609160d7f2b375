"""A log that is rotated at any moment, and a source that is restarted at any moment: nothing is lost, nothing
comes twice.
"""

import os
from collections.abc import Iterator
from contextlib import closing
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
from tests.tables import named
from tests.unit.collector.sources.logs.scanning import Maybe, Writer, abandoned, log_source

STEPS = ("write", "write", "write", "part", "poll", "restart", "rename", "copytruncate", "truncate", "delete")


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

    def all(self) -> list[str]:
        """The tasks of all that was read, to the end of what there is."""
        self.drain()
        return self.tasks

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
        writer = Writer(Path(directory) / "x.log", wrapped=wrapped)
        with closing(Reader(writer.path)) as reader:
            writer.write()
            reader.drain()
            for name in steps:
                step(name, writer, reader, rng.randrange(1_000))
            writer.finish()
            writer.write()
            reader.drain()
    assert reader.tasks == writer.every()


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(tmp_path / "x.log")


@pytest.fixture
def reader(writer: Writer) -> Iterator[Reader]:
    """It has read a first entry."""
    with closing(Reader(writer.path)) as reader:
        writer.write()
        reader.drain()
        yield reader


def test_an_entry_goes_on_in_the_renamed_file(writer: Writer, reader: Reader, maybe: Maybe) -> None:
    writer.part()
    reader.drain()
    maybe(reader.restart)
    writer.rename()
    writer.write()
    assert reader.all() == writer.every()


@pytest.mark.parametrize("copies", [1, 3])
def test_what_was_not_read_of_a_log_that_was_copied_and_cut_is_read_in_its_copy(
    writer: Writer, reader: Reader, maybe: Maybe, copies: int
) -> None:
    for _ in range(copies):
        writer.write(2)
        writer.copytruncate()
        writer.write()
    maybe(reader.restart)
    assert reader.all() == writer.every()
    assert not reader.gaps


@pytest.mark.parametrize("rotate", ["copytruncate", "rename"])
def test_an_entry_that_goes_on_in_the_next_file_is_one(writer: Writer, reader: Reader, rotate: str) -> None:
    """As a stack trace in a container's log, of which each line is written by itself."""
    getattr(writer, rotate)()
    line = f"Caused by: {abandoned(writer.written).partition('] ')[2]}"
    writer.path.write_text(line[:3])
    reader.drain()
    writer.path.write_text(line)
    writer.write()
    assert reader.all() == writer.every()


def test_lines_of_no_known_layout_are_none_of_the_entry_in_the_file_before(
    writer: Writer, reader: Reader
) -> None:
    for _ in range(2):
        writer.rename()
        writer.path.write_text(2 * abandoned(0).partition("] ")[2])
        reader.drain()
    assert len(reader.tasks) == 5


ROTATIONS = [
    ("a number", "x.log.{}"),
    ("a day", "x.log.2026-11-{:02}"),
    ("a day before the suffix", "x-2026-11-{:02}.log"),
    ("an hour", "x.log.2026-11-21-{:02}"),
]


@pytest.mark.parametrize("name", named(ROTATIONS))
def test_a_log_rotated_often_while_nobody_read_is_read_through_all_of_them(
    tmp_path: Path, writer: Writer, reader: Reader, maybe: Maybe, name: str
) -> None:
    for other in (name.format(1), "y.log.1"):
        (tmp_path / other).write_text(abandoned(0))
    writer.write()
    reader.drain()
    maybe(reader.restart)
    for rotation in range(2, 6):
        writer.write()
        writer.path.rename(tmp_path / name.format(rotation))
        writer.write()
    assert reader.all() == writer.every()
    assert not reader.gaps


GOES = [
    ("cut", "truncate", 1),
    ("deleted", "delete", 1),
    ("rewritten longer than before", "truncate", 5),
]


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize(("goes", "then"), named(GOES))
def test_a_log_that_is_gone_without_a_copy_is_a_counted_gap_unless_it_was_read_to_its_end(
    writer: Writer, reader: Reader, restart: bool, goes: str, then: int
) -> None:
    writer.write(2)
    reader.drain()
    read = writer.path.stat().st_size
    if restart:
        reader.restart()
    with writer.path.open("rb"):  # its number is not given to the next file
        getattr(writer, goes)()
        writer.write(then)
        reader.drain()
    assert reader.tasks == writer.every()
    assert reader.gaps == ([("log_file_gone", f"after {read} bytes")] if restart else [])


def test_what_is_written_to_a_renamed_file_until_its_writer_knows_is_read(
    tmp_path: Path, writer: Writer, reader: Reader
) -> None:
    """As by ``create`` of logrotate, which tells the writer when the new file is there."""
    renamed = writer.path.rename(tmp_path / "x.log.1")
    (tmp_path / "x.log").touch()
    reader.drain()
    writer.path = renamed
    writer.write()
    writer.path = tmp_path / "x.log"
    writer.write()
    assert reader.all() == writer.every()


def test_an_empty_successor_is_believed_when_the_renamed_file_has_been_quiet(
    tmp_path: Path, writer: Writer, reader: Reader
) -> None:
    writer.rename()
    writer.path.touch()
    assert not reader.poll()
    os.utime(tmp_path / "x.log.1", (0, 0))
    assert reader.poll()


def test_a_link_to_each_days_file_is_followed_through_the_days(tmp_path: Path, maybe: Maybe) -> None:
    """As cronolog and others write a log: the file that is written has its day in its name from the start."""
    link = tmp_path / "x.log"
    with closing(Reader(link)) as reader:
        for day in range(21, 25):
            file = tmp_path / f"x-2026-11-{day}.log"
            file.write_text(abandoned(day))
            os.utime(file, ns=(day * 10**9, day * 10**9))
            link.unlink(missing_ok=True)
            link.symlink_to(file.name)
            if day == 21:
                reader.drain()
        maybe(reader.restart)
        reader.drain()
    assert reader.tasks == ["21", "22", "23", "24"]


def test_rotations_of_another_log_that_is_called_as_a_link_are_not_those_of_its_file(tmp_path: Path) -> None:
    link, file, other = tmp_path / "x.log", tmp_path / "data" / "y.log", tmp_path / "data" / "x.log.1"
    file.parent.mkdir()
    link.symlink_to(file)
    with closing(Reader(link)) as reader:
        for second, path in enumerate((file, other, file), 1):
            if path.exists():
                path.rename(f"{path}.1")
            path.write_text(abandoned(second))
            os.utime(path, ns=(second * 10**9, second * 10**9))
            if second != 2:
                reader.drain()
    assert reader.tasks == ["1", "3"]


def test_a_link_is_followed_to_the_rotations_beside_its_file(tmp_path: Path, maybe: Maybe) -> None:
    """As those of /var/log/containers on Kubernetes."""
    pod, link = tmp_path / "pod", tmp_path / "containers" / "x.log"
    for directory in (pod, link.parent):
        directory.mkdir()
    writer = Writer(pod / "0.log", wrapped=True)
    writer.write()
    link.symlink_to(writer.path)
    with closing(Reader(link)) as reader:
        reader.drain()
        maybe(reader.restart)
        for at in range(2):
            writer.write()
            writer.path.rename(pod / f"0.log.20261121-06363{at}")
            writer.write()
        reader.drain()
    assert reader.tasks == writer.every()
    assert not reader.gaps


@pytest.mark.parametrize("rotate", ["copytruncate", "rename"])
def test_the_log_of_another_process_is_not_read_for_a_rotation(
    tmp_path: Path, writer: Writer, reader: Reader, rotate: str
) -> None:
    """``x-1.log`` beside ``x.log``, though it is written last."""
    getattr(writer, rotate)()
    (tmp_path / "x-1.log").write_text(abandoned(0))
    writer.write()
    assert reader.all() == writer.every()


def test_rotations_written_at_the_same_time_are_read_once(
    tmp_path: Path, writer: Writer, reader: Reader
) -> None:
    """As file systems keep times that count whole seconds, or what was copied from elsewhere."""
    for _ in range(3):
        writer.rename()
        os.utime(tmp_path / f"x.log.{writer.rotations}", (1_000, 1_000))
        writer.write()
    reader.drain()
    assert len(reader.tasks) == len(set(reader.tasks))


def test_what_was_rotated_before_the_successor_was_opened_is_read(writer: Writer, reader: Reader) -> None:
    writer.rename()
    writer.write()
    assert reader.poll(), "the file that was renamed has ended"
    for _ in range(2):
        writer.rename()
        writer.write()
    assert reader.all() == writer.every()


@pytest.mark.parametrize("name", ["y.log", "x.log.1"])
def test_the_number_of_the_file_that_was_left_may_be_that_of_another_log(
    tmp_path: Path, writer: Writer, reader: Reader, name: str
) -> None:
    reader.restart()
    other = writer.path.rename(tmp_path / name)
    other.write_text(abandoned(0) * 3)
    os.utime(other, (0, 0))
    for _ in range(2):
        reader.drain()
    writer.write()
    assert reader.all() == writer.every()


def test_an_older_rotation_that_begins_alike_is_no_copy(
    tmp_path: Path, writer: Writer, reader: Reader
) -> None:
    banner = "=" * 80 + "\n"
    (tmp_path / "x.log.1").write_text(banner + abandoned(0))
    os.utime(tmp_path / "x.log.1", (0, 0))
    writer.path.write_text(banner)
    reader.drain()
    writer.truncate()
    writer.write()
    assert reader.all() == writer.every()
