"""Nobody else is let into the driver, no secret stands in a command line, and Java reads the patterns."""

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from pyspark.sql import SparkSession

from streaming import session
from streaming.settings import StreamingSettings
from tests.spark.conftest import SETTINGS
from tests.waiting import WITHIN_S, until

JARS = ("file:///none.jar",)


def test_driver_and_executors_ask_each_other_for_a_secret(spark: SparkSession) -> None:
    java: Any = spark.sparkContext._jvm
    manager = java.org.apache.spark.SparkEnv.get().securityManager()
    assert manager.isAuthenticationEnabled()
    assert spark.range(10).count() == 10


@contextmanager
def batches_of_a_query(spark: SparkSession, checkpoint: Path) -> Iterator[Callable[[], None]]:
    """A query of its own; what is given waits for its next batch."""
    seen: list[int] = []
    stream = spark.readStream.format("rate").option("rowsPerSecond", 10).load().writeStream
    query = stream.option("checkpointLocation", str(checkpoint)).foreachBatch(
        lambda _, batch: seen.append(batch)
    )
    running = query.start()

    def another() -> None:
        before = len(seen)
        until(lambda: len(seen) > before or running.exception(), "a batch")
        assert running.exception() is None

    try:
        another()
        yield another
    finally:
        running.stop()


def test_only_the_jvm_calls_back(spark: SparkSession, tmp_path: Path) -> None:
    with batches_of_a_query(spark, tmp_path) as another:
        gateway: Any = spark.sparkContext._gateway
        with socket.create_connection(("127.0.0.1", gateway._callback_server.port), WITHIN_S) as other:
            try:
                other.sendall(b"c\nt\nhashCode\ne\n")
                answer = other.recv(100)
            except ConnectionError:
                answer = b""
        assert answer == b""
        another()


def test_a_batch_writes_no_file_that_nobody_reads(spark: SparkSession, tmp_path: Path) -> None:
    with batches_of_a_query(spark, tmp_path) as another:
        another()
    assert {file.name for file in (tmp_path / "offsets").iterdir()} >= {"0", "1"}
    assert [*tmp_path.rglob("*.crc")] == []


def test_a_pattern_that_only_python_reads_is_a_wrong_setting(spark: SparkSession) -> None:
    session.refuse_pythons_own((r"dlq\..*", "a{1,3}"), spark)
    for pattern in ("a{,3}", "(?P<a>b)"):
        assert StreamingSettings(dlq_topics=(pattern,)).dlq_topics == (pattern,)
        with pytest.raises(
            session.WrongSettingError, match=rf"dlq_topics: .*{re.escape(pattern)}': .* near index"
        ):
            session.refuse_pythons_own((r"dlq\..*", pattern), spark)
    settings = StreamingSettings(master="local[1]", jars=JARS, spark=SETTINGS)
    with pytest.raises(session.WrongSettingError, match="dlq_topics"):
        session.start(settings.model_copy(update={"dlq_topics": ("a{,3}",)}))


def test_a_port_that_the_ui_cannot_have_is_a_wrong_setting_where_spark_finds_it_too(
    spark: SparkSession,
) -> None:
    java: Any = spark.sparkContext._jvm
    shown = StreamingSettings(master="local[1]", jars=JARS, spark={**SETTINGS, "spark.ui.enabled": "true"})
    java.System.setProperty("spark.ui.port", "80")  # as spark-submit does with those of spark-defaults.conf
    try:
        with pytest.raises(session.WrongSettingError, match=r"spark\.ui\.port is none"):
            session.start(shown)
    finally:
        java.System.clearProperty("spark.ui.port")


def test_no_secret_stands_in_the_command_line_of_the_jvm(spark: SparkSession) -> None:
    assert spark.sparkContext.getConf().get("spark.hadoop.fs.s3a.secret.key") == "hunter2"
    java: Any = spark.sparkContext._jvm
    command = " ".join(psutil.Process(java.java.lang.ProcessHandle.current().pid()).cmdline())
    assert "spark.app.id=shown" in command
    assert "hunter2" not in command
