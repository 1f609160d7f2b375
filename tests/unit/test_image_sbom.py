"""What the image lists of a jar: its name and its version, wherever the numbers stand."""

import json
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

JARS = [
    ("spark-sql-kafka-0-10_2.13-4.2.0.jar", "spark-sql-kafka-0-10_2.13", "4.2.0"),
    ("netty-all-4.2.1.Final.jar", "netty-all", "4.2.1.Final"),
    ("guava-33.4.0-jre.jar", "guava", "33.4.0-jre"),
    ("native-epoll-4.2.1.Final-linux-x86_64.jar", "native-epoll", "4.2.1.Final-linux-x86_64"),
    ("zstd-jni-1.5.7-4.jar", "zstd-jni", "1.5.7-4"),
    ("log4j-1.2-api-2.25.3.jar", "log4j-1.2-api", "2.25.3"),
    ("javax.inject-1.jar", "javax.inject", "1"),
    ("plain.jar", "plain", ""),
]


@pytest.mark.parametrize("jar", JARS, ids=lambda jar: jar[0])
def test_a_jar_is_listed(
    jar: tuple[str, str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file, name, version = jar
    (tmp_path / "python.json").write_text('{"bomFormat": "CycloneDX", "components": [{"name": "pyspark"}]}')
    target = tmp_path / "target"
    target.mkdir()
    (target / file).write_bytes(b"jar")
    monkeypatch.setattr(sys, "argv", ["sbom.py", str(tmp_path / "python.json"), str(target)])
    runpy.run_path(str(ROOT / "docker" / "sbom.py"), run_name="__main__")
    package, listed = json.loads(capsys.readouterr().out)["components"]
    assert package == {"name": "pyspark"}
    assert (listed["name"], listed["version"], len(listed["hashes"][0]["content"])) == (name, version, 64)
