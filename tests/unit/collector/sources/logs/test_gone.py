"""Of a log whose file has long been gone a number is kept: that of the next file of its name."""

from contextlib import closing
from pathlib import Path

import pytest

from collector.sources.logs.files import GONE_MS, LogSource
from collector.sources.logs.followed_file import NOT_THERE
from collector.sources.logs.gone import EPOCHS, KEPT_MS, next_place, shortened
from collector.sources.source import SourceDownError, State
from tests.unit.collector.sources.logs.scanning import (
    NOW_MS,
    abandoned,
    following,
    read_out,
    tasks_and_reasons,
)

GONE = {"epoch": 2, "inode": 5, "gone_ms": NOW_MS - KEPT_MS}


@pytest.mark.parametrize(
    ("name", "state", "expected"),
    [
        ("gone for a week", GONE, 3),
        ("gone for less", {**GONE, "gone_ms": NOW_MS - KEPT_MS + 1}, None),
        ("there", {**GONE, "gone_ms": 0}, None),
        ("gone before it was opened", {**GONE, "inode": None}, 2),
        ("there, by an earlier version", {"epoch": 2, "inode": 5, "whole": False}, None),
        ("no log file", {"position_ms": 5}, None),
    ],
)
def test_what_has_been_gone_for_a_week_is_a_number(name: str, state: State, expected: int | None) -> None:
    left = shortened({name: state}, (), NOW_MS)
    place = None if expected is None else {"epoch": expected}
    assert next_place(left.get(EPOCHS), name) == place
    assert left == ({} if place is None else {name: None, f"{name}#status": None, EPOCHS: left[EPOCHS]})


@pytest.mark.parametrize("others", [{}, {"log:b": GONE}])
def test_what_an_earlier_version_has_found_gone_is_kept_for_a_week_from_now(others: dict[str, State]) -> None:
    left = shortened({"log:a": {"epoch": 2, "inode": 5, "whole": True}, **others}, (), NOW_MS)
    place = left["log:a"]
    assert place is not None
    assert shortened({"log:a": place}, (), NOW_MS + KEPT_MS - 1) == {}
    assert next_place(shortened({"log:a": place}, (), NOW_MS + KEPT_MS)[EPOCHS], "log:a") == {"epoch": 3}


@pytest.mark.parametrize("name", ["a.log", "a.log@b", "there@b/a.log"])
def test_what_was_deleted_while_no_collector_ran_is_kept_for_a_week_from_now(
    tmp_path: Path, name: str
) -> None:
    path, source = tmp_path / name, f"log:{tmp_path / name}"
    saved: dict[str, State] = {source: {"epoch": 2, "inode": 5, "gone_ms": 0}}
    place = shortened(saved, (), NOW_MS)[source]
    assert place is not None
    assert shortened({source: place}, (), NOW_MS + KEPT_MS - 1) == {}
    assert next_place(shortened({source: place}, (), NOW_MS + KEPT_MS)[EPOCHS], source) == {"epoch": 3}
    path.parent.mkdir(exist_ok=True)
    path.with_name("a.log").touch()
    assert shortened(saved, (), NOW_MS) == {}, "its file is there, though no source of it is set"


@pytest.mark.parametrize("name", ["/v/x.log", "/v/x.log.1@b", "/v/\\xe9.log"])
def test_what_a_pattern_remembers_of_a_volume_that_is_away_is_read_on_whenever_it_is_back(name: str) -> None:
    """Also a rotation that the source of its log reads, and what is no UTF-8."""
    state = {"inodes": {"/v/x.log.1": 5, "/v/\udce9.log": 6}, "sources": {"/v/x.log.1": "/v/x.log"}}
    assert shortened({f"log:{name}": GONE}, [state], NOW_MS) == {}


@pytest.mark.parametrize("name", ["\\xff.log", "loop"])
def test_of_what_may_be_there_the_place_is_kept(tmp_path: Path, name: str) -> None:
    """As of a file out of reach, or one whose name is no UTF-8."""
    (tmp_path / "loop").symlink_to("loop")
    assert shortened({f"log:{tmp_path / name}": {"epoch": 2, "inode": 5, "gone_ms": 0}}, (), NOW_MS) == {}


@pytest.mark.parametrize("how", ["deleted", "ended", "read to its end by an earlier version"])
def test_that_nobody_read_a_deleted_log_to_its_end_is_told_when_its_name_comes_again(
    tmp_path: Path, how: str
) -> None:
    path, source = tmp_path / "a" / "a.log", following().source(tmp_path / "a" / "a.log")
    path.parent.mkdir()
    path.write_text(abandoned(0))
    _, state = read_out(path, following(states={}))
    assert state is not None
    path.rename(tmp_path / "kept")
    left = {**state, "whole": True} if how.startswith("read") else state
    gone = at_its_end(path, state) if how == "ended" else shortened({source: left}, (), NOW_MS)[source]
    assert gone is not None
    assert gone["gone_ms"]
    path.write_text(abandoned(1))
    gap = [] if how.startswith("read") else ["log_file_gone"]
    assert tasks_and_reasons(read_out(path, following(states={source: gone}))[0]) == [*gap, "1"]
    (tmp_path / "kept").rename(path)
    assert read_out(path, following(states={source: gone}))[0] == [], "it was only not there"


def at_its_end(path: Path, saved: State) -> State | None:
    """What the source of a pattern saves at its end that has never found its file."""
    times = iter((NOW_MS, NOW_MS + GONE_MS, NOW_MS + GONE_MS))
    with closing(LogSource(path, following(saved, clock=lambda: next(times)), of_pattern=True)) as source:
        with pytest.raises(SourceDownError, match=NOT_THERE):
            source.poll()
        chunk = source.poll()
    assert chunk is not None
    assert chunk.ended
    return chunk.state


def test_the_number_comes_before_what_was_saved_without_the_name_of_the_collector(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    source = following(collector="b").source(path)
    saved = {**shortened({source: GONE}, (), NOW_MS), following().source(path): {"epoch": 0}}
    assert following(collector="b", states=saved).saved(path) == {"epoch": 3}


def test_a_number_never_falls_and_others_stay() -> None:
    left = shortened({"log:a": GONE, "log:b": GONE}, (), NOW_MS)
    left = shortened({"log:a": {**GONE, "epoch": 1}, EPOCHS: left[EPOCHS] or {}}, (), NOW_MS)
    assert next_place(left[EPOCHS], "log:a") == next_place(left[EPOCHS], "log:b") == {"epoch": 3}
    assert next_place(left[EPOCHS], "log:c") is None


def test_a_new_file_has_the_positions_that_it_would_have_had_behind_the_place(tmp_path: Path) -> None:
    path, source = tmp_path / "a.log", following().source(tmp_path / "a.log")
    path.write_text(abandoned(0))
    (first,), state = read_out(path, following(states={}))
    assert state is not None
    path.rename(tmp_path / "kept")
    path.write_text(abandoned(1))
    gone = {**state, "gone_ms": 1}
    (behind_place,), _ = read_out(path, following(states={source: gone}))
    (behind_number,), _ = read_out(path, following(states={**shortened({source: gone}, (), NOW_MS)}))
    assert behind_number.position == behind_place.position > first.position
