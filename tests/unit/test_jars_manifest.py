from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from jars.manifest import NAME, Manifest


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka" / "a.jar").write_bytes(b"aaaa")
    (tmp_path / "b.jar").write_bytes(b"bb")
    Manifest.of(tmp_path).write(tmp_path)
    return tmp_path


def stored(directory: Path) -> Manifest:
    manifest = Manifest.read(directory)
    assert manifest is not None
    return manifest


def test_a_manifest_lists_every_jar_with_its_size(directory: Path) -> None:
    assert [(jar.path, jar.size) for jar in stored(directory).jars] == [("b.jar", 2), ("kafka/a.jar", 4)]


def test_writing_leaves_no_draft(directory: Path) -> None:
    assert sorted(file.name for file in directory.iterdir()) == ["b.jar", "kafka", NAME]


@dataclass(frozen=True)
class Case:
    name: str
    harm: Callable[[Path], object]
    missing: list[str]
    damaged: list[str]


CASES = [
    Case("untouched", lambda _: None, [], []),
    Case("removed", lambda jar: jar.unlink(), ["kafka/a.jar"], ["kafka/a.jar"]),
    Case("cut short", lambda jar: jar.write_bytes(b"aaa"), ["kafka/a.jar"], ["kafka/a.jar"]),
    Case("same size, other bytes", lambda jar: jar.write_bytes(b"aaab"), [], ["kafka/a.jar"]),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_jar_is_found_missing_or_damaged(case: Case, directory: Path) -> None:
    case.harm(directory / "kafka" / "a.jar")
    assert stored(directory).missing(directory) == case.missing
    assert stored(directory).damaged(directory) == case.damaged


@pytest.mark.parametrize("text", ["", "{", "[1]", '[{"path": "a.jar"}]', "7"])
def test_a_manifest_that_cannot_be_read_counts_as_none(text: str, tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(text)
    assert Manifest.read(tmp_path) is None


def test_a_directory_without_a_manifest_has_none(tmp_path: Path) -> None:
    assert Manifest.read(tmp_path) is None
