"""What the image lists of a jar: its name and its version, wherever the numbers stand."""

import json
import runpy
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT

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


def test_every_jar_is_listed_by_name_and_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "python.json").write_text('{"bomFormat": "CycloneDX", "components": [{"name": "pyspark"}]}')
    for file, *_ in JARS:
        (tmp_path / file).write_bytes(b"jar")
    monkeypatch.setattr(sys, "argv", ["sbom.py", str(tmp_path / "python.json"), str(tmp_path)])
    runpy.run_path(str(ROOT / "docker" / "sbom.py"), run_name="__main__")
    package, *listed = json.loads(capsys.readouterr().out)["components"]
    assert package == {"name": "pyspark"}
    assert [(each["bom-ref"], each["name"], each["version"]) for each in listed] == sorted(JARS)
    assert {len(each["hashes"][0]["content"]) for each in listed} == {64}
