from pathlib import Path

import pytest

from jars.java import BrokenJavaError, JavaError, find_java, install_command, parse_version

VERSIONS = [
    ('openjdk version "17.0.15" 2025-04-15', 17),
    ('openjdk version "21" 2023-09-19 LTS', 21),
    ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\njava version "21.0.3" 2024-04-16', 21),
    ('java version "1.8.0_402"', 8),
    ("no such thing", None),
]


@pytest.mark.parametrize(("answer", "version"), VERSIONS)
def test_the_feature_release_is_read_from_what_java_prints(answer: str, version: int | None) -> None:
    assert parse_version(answer) == version


def put_java(home: Path, script: str) -> None:
    (home / "bin").mkdir()
    java = home / "bin" / "java"
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)


def test_java_home_is_taken_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_java(tmp_path, "echo 'openjdk version \"21.0.1\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    java = find_java()
    assert (java.path, java.version) == (tmp_path / "bin" / "java", 21)


SCRIPTS = [
    ("echo 'openjdk version \"11.0.2\"' >&2", JavaError, "is Java 11: .*install"),
    ("echo hello", JavaError, "is Java of an unknown version: .*install"),
    ("echo 'no libjvm' >&2; exit 1", BrokenJavaError, r"does not start \(no libjvm\): .*install"),
    ("", JavaError, r"Java 17 or 21 is needed and none was found: .*install"),
]


@pytest.mark.parametrize(("script", "kind", "message"), SCRIPTS)
def test_a_java_that_does_not_fit_is_one_line_that_says_what_to_install(
    script: str, kind: type[JavaError], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if script:
        put_java(tmp_path, script)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaError, match=message) as raised:
        find_java()
    assert type(raised.value) is kind
    assert "\n" not in str(raised.value)


def test_the_command_fits_the_platform() -> None:
    assert install_command("linux").startswith("apt-get install openjdk-17-jre-headless")
    assert install_command("darwin").startswith("brew install openjdk@17")
