"""A pattern over several volumes, of which one may not be there for a while: each line is read once."""

from pathlib import Path

import pytest

from collector.sources.logs.followed_file import GONE
from collector.sources.logs.gone import EPOCHS, shortened
from collector.sources.logs.patterns import MAX_AWAY
from collector.sources.source import SourceDownError
from tests.unit.collector.sources.logs.scanning import NOW_MS, Maybe, Writer, abandoned, following, glob_of
from tests.unit.collector.sources.logs.test_patterns import LINES, Collect, collect

__all__ = ["collect"]


@pytest.fixture(autouse=True)
def volumes(tmp_path: Path) -> None:
    for volume in ("a", "b", "c"):
        (tmp_path / volume).mkdir()


@pytest.mark.parametrize("rotated", [False, True])
def test_rotations_on_a_volume_that_is_mounted_late_are_read_once(
    tmp_path: Path, collect: Collect, *, rotated: bool, maybe: Maybe
) -> None:
    """It may come when the other one has been read for long, and be rotated on meanwhile."""
    collector = collect("?/x.log*", 0)
    there, late = Writer(tmp_path / "a" / "x.log"), Writer(tmp_path / "b" / "x.log")
    for writer in (there, late):
        writer.write(LINES)
    for _ in range(2):
        collector.look()
        for writer in (there, late):
            writer.rename()
            writer.write(LINES)
    collector.look()
    away = late.path.parent.rename(tmp_path / "away")
    for _ in range(2):
        maybe(collector.start)
        there.write(LINES)
        collector.look(2)
    away.rename(late.path.parent)
    if rotated:
        late.write(LINES)
        late.rename()
    late.write(LINES)
    assert len(collector.entries(2)) == there.written + late.written


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("name", ["x.log.1", "x-2026-11-21.log"])
def test_a_log_that_was_renamed_on_a_volume_that_is_mounted_late_is_read_to_its_end(
    tmp_path: Path, collect: Collect, name: str, *, restart: bool
) -> None:
    """Its source was not started, or has ended while the volume was away."""
    late = Writer(tmp_path / "b" / "x.log")
    (tmp_path / "a" / "x.log").touch()
    late.write(LINES)
    collector = collect("?/x*log*", 2)
    late.write()
    late.path.rename(late.path.with_name(name))
    away = late.path.parent.rename(tmp_path / "away")
    if restart:
        collector.start()
    else:
        collector.end(late.path)
    collector.look(2)
    away.rename(late.path.parent)
    with pytest.raises(SourceDownError, match=GONE):
        collector.read_on(late.path)
    assert collector.entries() == late.every()


def test_a_log_with_the_number_of_one_that_was_deleted_with_its_directory_is_read(
    tmp_path: Path, collect: Collect, maybe: Maybe
) -> None:
    """As those of pods, also where nothing tells the two apart: the first one was empty."""
    (tmp_path / "a" / "0.log").touch()
    (tmp_path / "b" / "0.log").write_text(abandoned(1))
    collector = collect("?/0.log")
    kept = (tmp_path / "a" / "0.log").rename(tmp_path / "kept")
    collector.look()
    maybe(collector.start)
    kept.write_text(abandoned(2))
    kept.rename(tmp_path / "c" / "0.log")
    assert collector.entries(2) == ["1", "2"]


def test_only_so_much_is_remembered_of_directories_that_are_gone(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text(abandoned(0))
    gone = {f"{tmp_path}/{pod}/x.log": pod for pod in range(MAX_AWAY + 1)}
    chunk = glob_of(tmp_path / "**" / "x.log", [], {"paths": list(gone), "inodes": gone}).poll()
    assert chunk is not None
    remembered = {*list(gone)[1:], str(tmp_path / "x.log")}
    assert set(chunk.state["inodes"]) == set(chunk.state["paths"]) == remembered
    places = {following().source(path): {"epoch": 0, "inode": 5, "gone_ms": 1} for path in gone}
    forgotten = shortened(places, [chunk.state], NOW_MS).keys() - {EPOCHS}
    assert {*map(following().source, gone)} - forgotten == {*map(following().source, list(gone)[1:])}
