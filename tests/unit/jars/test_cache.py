import re
from pathlib import Path

import pytest

import jars
from jars import cache
from jars.__main__ import main
from jars.cache import IVY_XML, Manifest
from jars.resolve import compare


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEADWATCH_CACHE", str(tmp_path))


@pytest.fixture
def locked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The manifest, of two jars that are there and of Spark's, which are not."""
    for name in ("b", "a"):
        jar = cache.home() / "kafka" / f"{name}.jar"
        jar.parent.mkdir(parents=True, exist_ok=True)
        jar.write_bytes(name.encode())
    spark = Manifest.read().of_confs(("spark",)).jars
    manifest = Manifest((*Manifest.of(cache.home()).jars, *spark))
    monkeypatch.setattr(Manifest, "read", lambda: manifest)


def test_the_cache_follows_the_users_cache_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DEADWATCH_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.cache_root() == tmp_path / "xdg" / "deadwatch"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.cache_root() == Path.home() / ".cache" / "deadwatch"


@pytest.mark.usefixtures("locked")
def test_jars_that_the_manifest_names_are_used_and_not_made_again() -> None:
    assert jars.resolve(confs=("kafka",)) == cache.home()
    assert [file.name for file in jars.files("kafka")] == ["a.jar", "b.jar"]
    assert jars.classpath("kafka") == str(cache.home() / "kafka" / "*")
    assert cache.is_complete(("kafka",))
    assert not cache.is_complete(), "some jars are not all of them"
    for used in (jars.files, jars.classpath):
        with pytest.raises(jars.JarsError, match="run `make setup`"):
            used("spark")


@pytest.mark.usefixtures("locked")
def test_where_there_are_the_jars_of_one_kind_alone_these_are_verified_and_stay(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["jars", "--verify"])
    assert main() == 0
    assert "2 verified" in capsys.readouterr().out
    (cache.home() / "kafka" / "a.jar").write_bytes(b"x")
    assert main() == 1
    assert "kafka/a.jar" in capsys.readouterr().err


def test_the_manifest_of_the_repository_has_every_jar_that_ivy_is_asked_for_by_name() -> None:
    paths = {jar.path for jar in Manifest.read().jars}
    dependencies = re.findall(r'<dependency .*?name="([^"]+)".*?conf="([^"]+)->', IVY_XML.read_text())
    asked = [f"{conf}/{name}-" for name, confs in dependencies for conf in confs.split(",")]
    assert len(asked) > 15
    assert [one for one in asked if not any(path.startswith(one) for path in paths)] == []
    assert {path.partition("/")[0] for path in paths} == set(cache.CONFS)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    place = tmp_path / "jars"
    (place / "kafka").mkdir(parents=True)
    (place / "kafka" / "a.jar").write_bytes(b"aaaa")
    (place / "b.jar").write_bytes(b"bb")
    return place


def test_a_manifest_lists_every_jar_with_its_size_and_is_read_as_it_was_written(directory: Path) -> None:
    written = Manifest.of(directory)
    assert [(jar.path, jar.size) for jar in written.jars] == [("b.jar", 2), ("kafka/a.jar", 4)]
    written.write(directory / "manifest.txt")
    assert Manifest.read(directory / "manifest.txt") == written


@pytest.mark.parametrize(
    ("left", "missing", "damaged"),
    [
        (b"aaaa", [], []),
        (None, ["kafka/a.jar"], ["kafka/a.jar"]),
        (b"aaa", ["kafka/a.jar"], ["kafka/a.jar"]),
        (b"aaab", [], ["kafka/a.jar"]),
    ],
    ids=["untouched", "removed", "cut short", "same size, other bytes"],
)
def test_a_jar_is_found_missing_or_damaged(
    left: bytes | None, missing: list[str], damaged: list[str], directory: Path
) -> None:
    manifest, jar = Manifest.of(directory), directory / "kafka" / "a.jar"
    jar.unlink()
    if left is not None:
        jar.write_bytes(left)
    assert (manifest.missing(directory), manifest.damaged(directory)) == (missing, damaged)


@pytest.mark.parametrize(("path", "content"), [("kafka/a.jar", b"evil"), ("kafka/c.jar", b"evil")])
def test_what_was_downloaded_is_thrown_away_where_it_is_not_what_the_manifest_names(
    path: str, content: bytes, directory: Path
) -> None:
    manifest = Manifest.of(directory)
    (directory / path).write_bytes(content)
    with pytest.raises(jars.JarsError, match=path):
        compare(manifest, directory)
    assert not directory.exists()


@pytest.mark.parametrize("text", [None, "{", "0f0f 12", "0f0f twelve kafka/a.jar"])
def test_a_manifest_that_cannot_be_read_says_what_to_do(text: str | None, tmp_path: Path) -> None:
    file = tmp_path / "manifest.txt"
    if text is not None:
        file.write_text(text)
    with pytest.raises(jars.JarsError, match="install the program again"):
        Manifest.read(file)
