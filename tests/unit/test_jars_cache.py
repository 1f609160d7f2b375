from pathlib import Path

import pytest

import jars
from jars import cache
from jars.manifest import Manifest


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEADWATCH_CACHE", str(tmp_path))


def put_jars() -> None:
    for name in ("b", "a"):
        jar = cache.home() / "kafka" / f"{name}.jar"
        jar.parent.mkdir(parents=True, exist_ok=True)
        jar.write_bytes(name.encode())


def test_the_cache_follows_the_users_cache_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DEADWATCH_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.cache_root() == tmp_path / "xdg" / "deadwatch"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.cache_root() == Path.home() / ".cache" / "deadwatch"


def test_missing_jars_are_said_with_the_command_that_makes_them() -> None:
    with pytest.raises(jars.JarsError, match="run `make setup`"):
        jars.directory("kafka")


def test_jars_without_a_manifest_are_not_used() -> None:
    put_jars()
    with pytest.raises(jars.JarsError, match="run `make setup`"):
        jars.classpath("kafka")


def test_jars_with_a_manifest_are_used_and_not_made_again() -> None:
    put_jars()
    Manifest.of(cache.home()).write(cache.home())
    assert jars.resolve(confs=("kafka",)) == cache.home()
    assert [file.name for file in jars.files("kafka")] == ["a.jar", "b.jar"]
    assert jars.classpath("kafka") == str(cache.home() / "kafka" / "*")


def test_some_jars_are_not_all_of_them() -> None:
    put_jars()
    Manifest.of(cache.home()).write(cache.home())
    assert cache.is_complete(("kafka",))
    assert not cache.is_complete()
    with pytest.raises(jars.JarsError, match="run `make setup`"):
        jars.files("spark")
