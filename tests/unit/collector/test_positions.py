"""Positions survive; what cannot be used is refused with the file's name and the way out."""

from pathlib import Path

import pytest

from collector.positions import Positions, PositionsError


def test_what_is_saved_is_there_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "data" / "positions" / "collector.sqlite"
    with Positions(path) as positions:
        positions.save({"log:a": {"offset": 1}, "log:b": {"offset": 2}})
        positions.save({"log:a": {"offset": 3}})
    with Positions(path) as positions:
        assert positions.load() == {"log:a": {"offset": 3}, "log:b": {"offset": 2}}


def test_what_is_deleted_goes_together_with_what_is_saved_instead(positions: Positions) -> None:
    positions.save({"log:a": {"offset": 1}})
    positions.save({"log:a": None, "log:c": None, "log:b": {"offset": 2}})
    assert positions.load() == {"log:b": {"offset": 2}}


def test_a_corrupt_state_is_refused(positions: Positions) -> None:
    positions._connection.execute("INSERT INTO positions VALUES ('log:a', '{')")
    with pytest.raises(PositionsError, match=r"positions\.sqlite cannot be used"):
        positions.load()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("x", r"x cannot be used .* restore the file"),
        ("x/positions/y.sqlite", "y.sqlite: .*; make it writable"),
    ],
    ids=["it is none of ours", "its directory cannot be made"],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, path: str, text: str) -> None:
    (tmp_path / "x").write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(PositionsError, match=text):
        Positions(tmp_path / path)


def test_states_that_cannot_all_be_saved_are_not_saved_at_all(positions: Positions) -> None:
    positions._connection.execute(
        "CREATE TRIGGER t BEFORE INSERT ON positions WHEN NEW.source='b' BEGIN SELECT RAISE(ABORT, 'no'); END"
    )
    with pytest.raises(PositionsError):
        positions.save({"a": {}, "b": {}})
    assert positions.load() == {}
