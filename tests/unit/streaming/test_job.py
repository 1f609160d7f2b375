"""Spark's files are of one run of the query: the next one finds none, nor what others keep there."""

from pathlib import Path

import pytest

from streaming.job import EARLIER_CHECKPOINT, checkpoint_directory


def names(place: Path) -> list[str]:
    return sorted(file.name for file in place.iterdir())


def test_a_directory_is_there_while_the_query_runs(tmp_path: Path) -> None:
    place = tmp_path / "not" / "there yet"
    with checkpoint_directory(place) as directory:
        (directory / "offsets").mkdir()
        assert names(place) == [directory.name]
    assert names(place) == []


@pytest.mark.parametrize(("metadata", "is_sparks"), [("metadata", True), ("metadata.txt", False)])
def test_what_killed_queries_and_earlier_versions_have_left_is_removed_and_nothing_of_others(
    tmp_path: Path, metadata: str, is_sparks: bool
) -> None:
    (tmp_path / metadata).write_text('{"id":"q"}')
    (tmp_path / "deadwatch.db").write_bytes(b"")
    for name in ("offsets", "commits", "sources"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "7").write_text("v1")
    before = names(tmp_path)
    (tmp_path / "query-killed" / "commits" / "7").mkdir(parents=True)
    kept = [name for name in before if name not in EARLIER_CHECKPOINT] if is_sparks else before
    with checkpoint_directory(tmp_path) as directory:
        assert names(tmp_path) == sorted([*kept, directory.name])
    assert names(tmp_path) == kept
