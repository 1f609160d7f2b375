"""Spark on whichever master, where its prepared classes are looked for."""

import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from deadwatch.runtime import process
from streaming import jvm, session
from streaming.settings import StreamingSettings

JARS = ("local:///opt/jars/kafka.jar", "s3a://house/jars/clients.jar")


def test_a_cluster_finds_its_jars_where_the_settings_say_and_the_driver_where_it_is() -> None:
    settings = StreamingSettings(
        master="spark://spark:7077", jars=JARS, spark={"spark.executor.memory": "4g", "spark.cores.max": "16"}
    )
    conf = session.configuration(settings)
    assert conf["spark.jars"] == ",".join(JARS)
    assert (conf["spark.executor.memory"], conf["spark.cores.max"]) == ("4g", "16")


def test_what_only_the_ui_shows_is_kept_only_for_the_ui() -> None:
    without, shown = (
        session.configuration(StreamingSettings(jars=JARS, ui_port=port)) for port in (None, 4040)
    )
    assert {without.get(name) for name in session.HISTORY} == {"10"}
    assert not shown.keys() & set(session.HISTORY)


@pytest.mark.parametrize(
    ("master", "alone", "authenticated", "encrypted"),
    [
        ("local", True, True, False),
        ("local[3]", True, True, False),
        ("local[*,4]", True, True, False),
        ("local[x]", True, False, False),
        ("local-cluster[2,1,1024]", True, False, False),
        ("yarn", False, True, True),
        ("k8s://https://host:6443", False, True, True),
        ("spark://host:7077", False, False, False),
        ("", False, False, False),
    ],
)
def test_on_this_machine_alone_nobody_is_let_in_and_a_secret_is_asked_for_where_spark_makes_one(
    master: str, alone: bool, authenticated: bool, encrypted: bool
) -> None:
    conf = session.configuration(StreamingSettings(master=master, jars=JARS))
    ends = {conf.get(f"spark.driver.{name}") for name in ("host", "bindAddress")}
    assert ends == ({"127.0.0.1"} if alone else {None})
    assert ("spark.authenticate" in conf) is authenticated
    assert ("spark.network.crypto.enabled" in conf) is encrypted
    chosen = StreamingSettings(master=master, jars=JARS, spark={"spark.authenticate": "false"})
    assert session.configuration(chosen)["spark.authenticate"] == "false"


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Java of the test's own."""
    launcher = tmp_path / "jdk" / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    launcher.touch(mode=0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "installed"))
    return launcher


def test_the_jvm_takes_the_classes_that_were_prepared_for_this_java(java: Path) -> None:
    file = jvm.class_archive()
    option = f"-XX:SharedArchiveFile={file}"
    assert option not in jvm.options()
    file.parent.mkdir(parents=True)
    file.touch()
    assert option in jvm.options()
    (java.parents[1] / "release").write_text('JAVA_VERSION="17.0.99"')
    assert jvm.class_archive() != file
    assert not [option for option in jvm.options() if "SharedArchiveFile" in option]


def test_spark_is_not_started_for_a_process_that_was_told_to_stop() -> None:
    stop, started = threading.Event(), False
    stop.set()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        with pytest.raises(process.Interrupted), session.starting(stop):
            started = True
        assert other.poll() is None, "it is none of Spark's"
    assert not started


def test_temporary_files_of_the_jvm_are_where_pythons_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "a place"))
    assert f'"-Djava.io.tmpdir={tmp_path}/a place"' in jvm.options()
