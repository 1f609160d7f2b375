"""A pattern beside the sources that it has started: each line is read once, whatever becomes of the files."""

import gzip
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, nullcontext, suppress
from itertools import pairwise
from pathlib import Path

import pytest

from collector.sources.logs.files import LogSource
from collector.sources.logs.followed_file import GONE
from collector.sources.logs.patterns import START_BYTES, LogGlob
from collector.sources.source import SourceDownError, State
from tests.unit.collector.sources.logs.scanning import (
    Maybe,
    Writer,
    abandoned,
    drain,
    following,
    glob_of,
    tasks_and_reasons,
)

LINES = START_BYTES // len(abandoned(0)) + 1
"""So many entries fill what is compared of a file."""


class Collector:
    """A pattern and its sources; what they save is what the next one begins with."""

    def __init__(self, pattern: Path) -> None:
        self._pattern, self._saved = pattern, dict[str, State]()
        self._following = following(states=self._saved)
        self.sources = dict[Path, LogSource]()
        self.tasks = list[str]()
        self.start()

    def start(self) -> None:
        self.close()
        self._glob = LogGlob(str(self._pattern), self._following, self._follow, self.sources.__contains__)

    def end(self, path: Path) -> None:
        """End the source of a file, as one does whose file is gone for long."""
        self.sources.pop(path).close()

    def close(self) -> None:
        for source in self.sources.values():
            source.close()
        self.sources.clear()

    def look(self, times: int = 1) -> None:
        """Look for files; then read what there is."""
        for _ in range(times):
            if (chunk := self._glob.poll()) is not None:
                self._saved[self._glob.name] = chunk.state
            self.read()

    def entries(self, looks: int = 0) -> list[str]:
        """The tasks that were read after so many more looks, in their order; after them what was not read."""
        self.look(looks)
        return sorted(self.tasks, key=lambda task: (not task.isdecimal(), len(task), task))

    def read(self) -> None:
        """Read what there is."""
        for source in self.sources.values():
            try:
                events, state = drain(source)
            except SourceDownError:
                continue
            self.tasks += tasks_and_reasons(events)
            self._saved.update({source.name: state} if state is not None else {})

    def read_on(self, path: Path) -> None:
        """Look for files, and read the one that had this name; raises once there is no more of it."""
        self._glob.poll()
        while (chunk := self.sources[path].poll()) is not None:
            self.tasks += tasks_and_reasons(chunk.events)

    def _follow(self, path: Path, once: bool, taken: Callable[[], bool]) -> None:
        self.sources[path] = LogSource(path, self._following, of_pattern=True, once=once, taken=taken)


Collect = Callable[..., Collector]


@pytest.fixture
def collect(tmp_path: Path) -> Iterator[Collect]:
    """Starts a collector of what matches a pattern, and has it look so often."""
    with ExitStack() as opened:

        def collect(pattern: str, looks: int = 1) -> Collector:
            collector = opened.enter_context(closing(Collector(tmp_path / pattern)))
            collector.look(looks)
            return collector

        yield collect


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    writer = Writer(tmp_path / "x.log")
    writer.write(LINES)
    return writer


def rotate(writer: Writer, rotations: int) -> None:
    """Move the numbers of all rotations on, of which there are so many then."""
    numbered = [writer.path, *(writer.path.with_name(f"x.log.{number + 1}") for number in range(rotations))]
    for number in range(rotations, 0, -1):
        numbered[number - 1].rename(numbered[number])


@pytest.fixture(params=["*.log", "x*log*"])
def collector(request: pytest.FixtureRequest, collect: Collect, writer: Writer) -> Collector:  # noqa: ARG001
    """It has read the log once."""
    return collect(request.param)


ROTATED = ("x-2026-11-{}.log", "x.log.{}")


@pytest.mark.parametrize("restart", [False, True])
def test_a_directory_that_is_not_there_for_a_moment_is_read_on_once_it_is_back(
    tmp_path: Path, collect: Collect, restart: bool
) -> None:
    """As a volume that is mounted only after the collector has started."""
    logs, away = tmp_path / "logs", tmp_path / "away"
    logs.mkdir()
    collector, writer = collect("logs/x.log*", 0), Writer(logs / "x.log")
    for _ in range(2):
        writer.write(LINES)
        collector.look()
        writer.rename()
        writer.write()
        collector.look()
    logs.rename(away)
    if restart:
        collector.start()
    with pytest.raises(SourceDownError) if restart else nullcontext():
        collector.look()
    away.rename(logs)
    writer.write()
    assert collector.entries(2) == writer.every()


@pytest.mark.parametrize("returned", [False, True])
@pytest.mark.parametrize("start", ["", "=" * START_BYTES + "\n"], ids=["empty", "banner"])
def test_a_log_with_the_number_of_a_deleted_one_is_read_after_there_was_none(
    tmp_path: Path, collect: Collect, start: str, returned: bool, maybe: Maybe
) -> None:
    logs, free, kept = tmp_path / "logs", tmp_path / "free", tmp_path / "kept"
    logs.mkdir()
    (logs / "a.log").write_text(start)
    (logs / "kept.log").write_text(abandoned(1))
    collector = collect("logs/*.log")
    (logs / "a.log").rename(free)
    (logs / "kept.log").rename(kept)
    collector.look()
    if returned:
        kept.rename(logs / "kept.log")
        collector.look()
    maybe(collector.start)
    free.write_text(start + abandoned(2))
    free.rename(logs / "b.log")
    assert collector.entries(2) == ["1", "2"]


def test_a_log_that_was_rotated_while_there_was_none_is_read_once(collect: Collect, writer: Writer) -> None:
    collector = collect("x.log*")
    writer.path.rename(writer.path.with_name("away"))
    collector.look()
    (writer.path.with_name("away")).rename(writer.path.with_name("x.log.1"))
    collector.look()
    writer.write(LINES)
    assert collector.entries(2) == writer.every()


def test_a_log_that_is_renamed_between_two_starts_after_there_was_none_is_read_once(
    tmp_path: Path, collect: Collect, writer: Writer
) -> None:
    collector, away = collect("*.log"), tmp_path / "away"
    writer.path.rename(away)
    collector.look()
    away.rename(writer.path)
    collector.look()
    writer.path.rename(tmp_path / "y.log")
    collector.start()
    assert collector.entries(2) == writer.every()


@pytest.mark.parametrize("none", [False, True])
@pytest.mark.parametrize("name", ROTATED)
def test_a_log_rotated_several_times_between_two_looks_is_read_once(
    collector: Collector, writer: Writer, tmp_path: Path, *, name: str, none: bool, maybe: Maybe
) -> None:
    """Also where a look finds none, before or after: its writer has nothing to write for a while."""
    if none:
        writer.path.rename(tmp_path / name.format(20))
        collector.look()
    maybe(collector.start)
    for number in range(3):
        writer.write(LINES)
        writer.path.rename(tmp_path / name.format(21 + number))
        writer.write(LINES)
    if none:
        writer.path.rename(tmp_path / name.format(24))
        with pytest.raises(SourceDownError):
            collector.read_on(writer.path)
        writer.write(LINES)
    assert collector.entries(3) == writer.every()


def test_a_rotation_that_gets_a_name_that_is_known_is_read(
    collect: Collect, writer: Writer, tmp_path: Path
) -> None:
    """Where numbers stand as in the names of other logs, and the last look has found no log."""
    first, collector = tmp_path / "x.1.log", collect("*.log")
    writer.path.rename(first)
    with pytest.raises(SourceDownError, match=GONE):
        collector.read_on(writer.path)
    writer.write(LINES)
    first.rename(tmp_path / "x.2.log")
    writer.path.rename(first)
    writer.write(LINES)
    assert collector.entries(3) == writer.every()


@pytest.mark.parametrize("name", ["x.log.1", "x-2026-11-21.log", "y.log"])
def test_a_log_that_is_renamed_while_nobody_reads_is_read_to_its_end(
    collect: Collect, writer: Writer, tmp_path: Path, name: str
) -> None:
    """Also where its name is not used again; as a renamed file is that is read, it is not left at once."""
    collector = collect("*.log*")
    writer.write()
    writer.path.rename(tmp_path / name)
    collector.start()
    with pytest.raises(SourceDownError, match=GONE):
        collector.read_on(writer.path)
    assert collector.entries() == writer.every()


@pytest.mark.parametrize("name", ROTATED)
def test_a_copy_of_a_log_that_is_cut_then_is_read_once(
    collector: Collector, writer: Writer, tmp_path: Path, name: str, maybe: Maybe
) -> None:
    for number in range(2):
        writer.write()
        copy = tmp_path / name.format(21 + number)
        copy.touch()
        maybe(collector.start)
        collector.look()
        copy.write_bytes(writer.path.read_bytes())
        collector.look()
        writer.truncate()
        writer.write(LINES)
        collector.look()
    assert collector.entries() == writer.every()


def test_a_new_log_with_the_number_of_a_deleted_one_is_read(collect: Collect, tmp_path: Path) -> None:
    """File systems give the number of what was deleted to what comes next."""
    first, second = tmp_path / "a.log", tmp_path / "b.log"
    first.write_text(abandoned(0))
    collector = collect("*.log")
    collector.start()
    first.write_text(abandoned(1))
    first.rename(second)
    collector.look()
    assert collector.tasks == ["0", "1"]


def test_a_log_with_the_number_of_an_empty_one_that_was_deleted_is_read(
    collect: Collect, writer: Writer, tmp_path: Path
) -> None:
    """As logrotate deletes the last of one log, which may be empty, before it makes the next of another."""
    empty = tmp_path / "a.log"
    empty.touch()
    collector = collect("*.log*")
    os.utime(empty, (0, 0))
    last = empty.rename(tmp_path / "a.log.1")
    empty.touch()
    collector.look(2)
    rotate(writer, 1)
    last.rename(writer.path)
    writer.write()
    assert collector.entries(2) == writer.every()


def test_a_log_that_only_is_called_like_a_rotation_is_read(collect: Collect, tmp_path: Path) -> None:
    """``connect-1.log`` beside ``connect.log`` is another worker's, also where both begin alike."""
    collector = collect("*.log", 0)
    banner = "  .   ____          _            __ _ _\n" * START_BYTES
    for number, name in enumerate(("connect.log", "connect-1.log", "connect-2.log")):
        (tmp_path / name).write_text(banner + abandoned(number))
        collector.look()
        (tmp_path / "connect.log").rename(tmp_path / f"connect.log.{number}")
        (tmp_path / "connect.log").write_text(banner)
    collector.look()
    assert sorted(collector.tasks) == ["0", "1", "2"]


@pytest.mark.parametrize("earlier", [False, True])
def test_what_is_left_of_a_log_rotated_twice_while_away_is_read(
    collect: Collect, writer: Writer, earlier: bool
) -> None:
    """Where one rotation is kept, as by Docker with ``max-file=2``, the file that was left is gone."""
    collector = collect("x.log*")
    if earlier:
        rotate(writer, 1)
        writer.write(LINES)
        collector.look()
    collector.start()
    with writer.path.open("rb"):  # its number is not given to another one
        for _ in range(2):
            rotate(writer, 1)
            writer.write(LINES)
        collector.look(3)
    assert collector.entries() == [*writer.every(), "log_file_gone"], "nobody knows whether to its end"


def test_a_pattern_of_rotations_alone_reads_each(collect: Collect, writer: Writer) -> None:
    collector = collect("x.log.*", 0)
    for number in range(1, 4):
        rotate(writer, number)
        assert collector.entries(2) == writer.every()
        writer.write(LINES)


def test_a_rotation_that_gives_its_name_away_is_read_no_further(
    collect: Collect, writer: Writer, tmp_path: Path, maybe: Maybe
) -> None:
    """Because the last number was deleted, or because a copy was written over it."""
    numbered = tmp_path / "x.log.1"
    rotate(writer, 1)
    writer.write(LINES)
    collector = collect("x.log*")
    maybe(collector.start)
    numbered.write_bytes(writer.path.read_bytes())
    writer.truncate()
    writer.write()
    collector.look()
    collector.start()
    with numbered.open("rb"):
        rotate(writer, 1)
        writer.write(LINES)
        collector.look(2)
    assert collector.entries() == writer.every()


def test_an_empty_log_that_is_renamed_is_read_once_whatever_its_writer_does(
    collect: Collect, writer: Writer, tmp_path: Path
) -> None:
    collector = collect("x.log*")
    writer.truncate()
    collector.look()
    renamed = writer.path.rename(tmp_path / "x.log.1")
    writer.path.touch()
    collector.look()
    writer.path = renamed
    writer.write(LINES)
    assert collector.entries(2) == writer.every()


def test_a_rotation_that_is_over_and_gone_ends(collect: Collect, writer: Writer, tmp_path: Path) -> None:
    rotate(writer, 1)
    writer.write()
    collector = collect("x.log*")
    rotate(writer, 2)
    writer.write()
    collector.look()
    source = collector.sources[tmp_path / "x.log.1"]
    assert source.poll() is None
    (tmp_path / "x.log.1").unlink()
    chunk = source.poll()
    assert chunk is not None
    assert chunk.ended


@pytest.mark.parametrize("name", ["a.log", "y.log"])
def test_a_link_beside_the_file_that_it_points_to_is_not_read_too(
    collect: Collect, writer: Writer, tmp_path: Path, name: str
) -> None:
    """As one to the log of the day, which is moved on to the next one."""
    link = tmp_path / name
    link.symlink_to(writer.path)
    collector = collect("*.log")
    assert link not in collector.sources
    link.unlink()
    writer.path = tmp_path / "x2.log"
    writer.write()
    link.symlink_to(writer.path)
    assert collector.entries(2) == writer.every()


def test_a_link_to_a_file_that_the_pattern_does_not_find_is_read(collect: Collect, writer: Writer) -> None:
    """As those of /var/log/containers."""
    (writer.path.with_name("y.link")).symlink_to(writer.path)
    collector = collect("*.link")
    assert collector.entries(1) == writer.every()


def test_files_of_two_volumes_with_one_number_are_told_apart(
    writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where they begin alike."""
    other, found, numbered = tmp_path / "y.log", list[str](), os.stat

    def stat(path: str, *, follow_symlinks: bool = True) -> os.stat_result:
        mode, _, _, *more = numbered(path, follow_symlinks=follow_symlinks)
        return os.stat_result((mode, 7, int(path == str(other)), *more))

    monkeypatch.setattr(os, "stat", stat)
    pattern = glob_of(tmp_path / "*.log", found)
    pattern.poll()
    other.write_bytes(writer.path.read_bytes())
    pattern.poll()
    assert found == ["x.log", "y.log"]


def test_a_file_that_is_called_like_the_compressed_log_itself_is_read(
    collect: Collect, writer: Writer, tmp_path: Path
) -> None:
    """None is being compressed that is still written."""
    (tmp_path / "x.log.gz").write_bytes(gzip.compress(writer.path.read_bytes()))
    writer.path.unlink()
    writer.write()
    assert collect("x.log*", 2).entries() == writer.every()


def test_a_rotation_that_is_being_compressed_is_read_once(collect: Collect, writer: Writer) -> None:
    rotate(writer, 1)
    writer.write()
    compressed = writer.path.with_name("x.log.1.gz")
    whole = gzip.compress((writer.path.with_name("x.log.1")).read_bytes())
    compressed.write_bytes(whole[:-9])
    collector = collect("x.log*")
    compressed.write_bytes(whole)
    (writer.path.with_name("x.log.1")).unlink()
    assert collector.entries(2) == writer.every()


@pytest.mark.parametrize("more", [0, 1])
def test_a_log_that_is_cut_and_is_no_smaller_at_the_next_look_is_read_once(
    collect: Collect, writer: Writer, more: int
) -> None:
    collector = collect("x.log*", 0)
    for _ in range(3):
        collector.look()
        writer.copytruncate()
        writer.write(LINES + more)
    assert collector.entries(2) == writer.every()


def test_a_log_that_was_empty_at_the_last_look_and_is_copied_and_cut_again_is_read_once(
    collect: Collect, writer: Writer, tmp_path: Path
) -> None:
    copy, collector = tmp_path / "x.log.1", collect("x.log*")
    for _ in range(2):
        with suppress(FileNotFoundError):
            copy.rename(tmp_path / "x.log.2")
        shutil.copyfile(writer.path, copy)
        writer.path.write_bytes(b"")
        collector.look(2)
        writer.write(LINES)
        collector.read()
    assert collector.entries(2) == writer.every()


@pytest.mark.parametrize("first", ["look", "read", "restart"])
@pytest.mark.parametrize(
    ("name", "kept"), [("x.{}.log", 2), ("x.{}.log", 4), ("x-{}.log", 4), ("x.log.{}", 2), ("x.log.{}", 4)]
)
def test_rotations_whose_numbers_move_on_are_read_once(
    collect: Collect, writer: Writer, tmp_path: Path, name: str, *, kept: int, first: str
) -> None:
    """Also where the pattern takes them for other logs, as those of Logback's fixed window are called."""
    names = [writer.path, *(tmp_path / name.format(number) for number in range(1, kept + 1))]
    for earlier in names[1:3]:
        writer.path.rename(earlier)
        writer.write(LINES)
    collector = collect("x*log*")
    for _ in range(3):
        for before, after in reversed(list(pairwise(names))):
            if before.exists():
                before.rename(after)
        writer.write(LINES)
        if first == "restart":
            collector.start()
        elif first == "read":
            collector.read()
        collector.look(2)
    collector.start()
    assert collector.entries(2) == writer.every()
