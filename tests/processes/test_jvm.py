"""Which JVM that does not start is for an operator, and which one is tried again."""

import os
from pathlib import Path

import pytest

from streaming import session
from streaming.settings import StreamingSettings

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""PySpark closes nothing of a JVM that does not start."""

FITS = 'openjdk version "17.0.15" 2025-04-15'
SPARK = 'WARNING: Using incubator modules: jdk.incubator.vector\nException in thread "main" {}\n\tat x'
SAID = {
    "an option that takes another value": (
        "Improperly specified VM option 'MaxHeapFreeRatio=x'\n"
        "Error: Could not create the Java Virtual Machine.",
        "Improperly specified VM option 'MaxHeapFreeRatio=x'",
    ),
    "an option that is none": (
        "Unrecognized VM option 'UseFoo'\nError: Could not create the Java Virtual Machine.",
        "Unrecognized VM option 'UseFoo'",
    ),
    "an option without its sign": (
        "Missing +/- setting for VM option 'UseSerialGC'\nError: Could not create the Java Virtual Machine.",
        "Missing +/- setting for VM option 'UseSerialGC'",
    ),
    "a sign at an option that takes a value": (
        "Unexpected +/- setting in VM option 'MaxHeapFreeRatio=3'",
        "Unexpected +/- setting in VM option 'MaxHeapFreeRatio=3'",
    ),
    "a value that another one forbids": (
        "MinHeapFreeRatio (90) must be less than or equal to MaxHeapFreeRatio (40)\n"
        "MaxHeapFreeRatio (40) must be greater than or equal to MinHeapFreeRatio (90)",
        "MinHeapFreeRatio (90) must be less than or equal to MaxHeapFreeRatio (40)",
    ),
    "a heap that is too small": (
        "Error occurred during initialization of VM\nToo small maximum heap",
        "Too small maximum heap",
    ),
    "a stack that is too small": (
        "\nThe Java thread stack size specified is too small. Specify at least 136k",
        "The Java thread stack size specified is too small. Specify at least 136k",
    ),
    "what is no option": (
        "Error: Could not find or load main class foo\nCaused by: java.lang.ClassNotFoundException: foo",
        "Error: Could not find or load main class foo",
    ),
    "a heap that begins larger than it may be": (
        "Error occurred during initialization of VM\n"
        "Initial heap size set to a larger value than the maximum heap size",
        "Initial heap size set to a larger value than the maximum heap size",
    ),
    "a size that is none": (
        SPARK.format("org.apache.spark.SparkException: Executor memory must be a positive number"),
        "SparkException: Executor memory must be a positive number",
    ),
    "a class that is nowhere": (
        SPARK.format("java.lang.RuntimeException: java.lang.ClassNotFoundException: Class no.Fs not found"),
        "ClassNotFoundException: Class no.Fs not found",
    ),
    "a master that is none": (
        SPARK.format(
            "org.apache.spark.SparkException: Master must either be yarn or start with spark, k8s, or local"
        ),
        "Master must either be yarn or start with spark, k8s, or local",
    ),
}
"""What a JVM says, and the line of it that is shown."""
SHORT = {
    "too much memory is asked for": "Could not reserve enough space for 2097152KB object heap",
    "the machine has no more memory": "# There is insufficient memory for the Java Runtime Environment",
    "a kill": "",
}


@pytest.fixture(autouse=True)
def _environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Spark and a Java of the test's own; what a start adds is taken back."""
    for name in ("SPARK_LOCAL_IP", "PYSPARK_PYTHON"):
        monkeypatch.setenv(name, os.environ.get(name, ""))
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    script(tmp_path / "bin" / "java", FITS, 0)


def script(file: Path, said: str, code: int) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\ncat >&2 <<'SAID'\n{said}\nSAID\nexit {code}\n")
    file.chmod(0o755)


def start(tmp_path: Path) -> None:
    session.start(StreamingSettings(jars=("local:///kafka.jar",), checkpoint=tmp_path / "checkpoint"))


@pytest.mark.parametrize(("said", "shown"), SAID.values(), ids=SAID)
def test_what_the_jvm_refuses_is_a_wrong_setting_and_shown(said: str, shown: str, tmp_path: Path) -> None:
    script(tmp_path / "bin" / "spark-submit", said, 1)
    with pytest.raises(session.WrongSettingError) as raised:
        start(tmp_path)
    assert str(raised.value).endswith(shown)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("said", SHORT.values(), ids=SHORT)
def test_a_jvm_that_finds_no_memory_may_find_it_the_next_time(said: str, tmp_path: Path) -> None:
    script(tmp_path / "bin" / "spark-submit", said, 1)
    with pytest.raises(session.SessionError) as raised:
        start(tmp_path)
    assert not isinstance(raised.value, session.WrongSettingError)


@pytest.mark.parametrize(
    ("version", "shown"), [('openjdk version "11.0.2"', "is Java 11: "), ("", "none was found: ")]
)
def test_a_java_that_spark_does_not_run_on_is_named(version: str, shown: str, tmp_path: Path) -> None:
    script(tmp_path / "bin" / "spark-submit", "java: class file version 61.0", 1)
    if version:
        script(tmp_path / "bin" / "java", version, 0)
    else:
        (tmp_path / "bin" / "java").unlink()
    with pytest.raises(session.WrongSettingError, match=f"Java 17 or 21 is needed.*{shown}"):
        start(tmp_path)


def test_a_java_that_has_no_memory_for_its_version_is_tried_again(tmp_path: Path) -> None:
    for program in ("java", "spark-submit"):
        script(tmp_path / "bin" / program, "Could not reserve enough space for object heap", 1)
    with pytest.raises(session.SessionError) as raised:
        start(tmp_path)
    assert not isinstance(raised.value, session.WrongSettingError)
