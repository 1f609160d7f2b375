"""The Spark session of the query: quiet, on any master, and writing nothing to the working directory."""

import logging
import os
import re
import socket
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pyspark
from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]  # ships no types
from pyspark import SparkConf, SparkContext
from pyspark.errors import IllegalArgumentException, PySparkException, PySparkRuntimeError
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

import jars
from deadwatch.runtime import process
from streaming import jvm
from streaming.failure import CAUSE
from streaming.settings import StreamingSettings, check_ui

LOOPBACK = "127.0.0.1"
SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
SERVLET = "spark.metrics.conf.*.sink.prometheusServlet"
SECRETS = "(?i)secret|password|token|access[.]?key|jaas|keystore|truststore|ssl[.]key"
MAKES_SECRET = re.compile(r"local(\[(\d+|\*)(\s*,\s*\d+)?\])?$|yarn$|k8s://")
"""Masters with which Spark makes a secret of its own for every application."""
ON_CLUSTER = re.compile(r"yarn$|k8s://")
JAVA = re.compile(r"^: (?P<text>.+)$", re.MULTILINE)
"""Where py4j shows the exception that Java has thrown."""
WRONG = re.compile(
    r"SparkIllegalArgumentException: \[INVALID_|\[CODEC_NOT_AVAILABLE|Could not parse Master URL"
    r"|IllegalArgumentException: (?:requirement failed: )?(?:A secret key|startPort|spark\.[\w.]+) "
    r"(?:should|must) |NumberFormatException|ClassNotFoundException|ClassCastException|Failed to start "
    r"service |Asked to run locally with 0 threads|The number of cores per executor .* has to be >= "
)
"""What Spark says of a setting that it does not take: classes and conditions, words where it has neither."""
EXECUTOR = re.compile(r"Lost task .* executor (?!driver\b)")  # whatever it has met, another one may not
ENDED = "Spark has ended; the lines before this one may say why"

LOCAL = {
    "spark.driver.host": LOOPBACK,
    "spark.driver.bindAddress": LOOPBACK,
    # Python's workers keep the memory of one batch for the next; to have it anew took a fifth of their time.
    # On a cluster these would be of the executors' JVMs, too.
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
    "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": str(256 << 20),
}
"""Settings of a driver that is its own executor."""

SQL = {
    # files without checksums: for each one more Spark starts a process, chmod; 15 ms of a batch
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.sql.adaptive.enabled": "false",  # one plan for every batch: planning costs more than it gains
    "spark.sql.ansi.enabled": "false",  # a hostile value is null or bounded, it never fails a batch
    "spark.sql.catalogImplementation": "in-memory",
    "spark.executorEnv.POLARS_MAX_THREADS": "1",  # a worker a core
    "spark.kafka.consumer.cache.capacity": "4096",  # a partition each: to connect by TLS costs 50 ms
    "spark.sql.execution.arrow.maxBytesPerBatch": "67108864",  # a dead letter may have a megabyte
    "spark.sql.execution.arrow.maxRecordsPerBatch": "5000",  # 50 000 cost the JVM a fifth more of each
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",  # of several headers of one name the last counts
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "20000",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",  # a second file each; nobody reads it
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.pollingDelay": "250ms",  # at rest: each look costs 3 ms of a core
}
"""Settings that results and latency depend on; tests run with the same."""

HISTORY = (
    "spark.sql.streaming.numRecentProgressUpdates",
    "spark.sql.ui.retainedExecutions",
    "spark.ui.retainedJobs",
    "spark.ui.retainedStages",
    "spark.ui.retainedTasks",
)
"""How many of each Spark keeps to show them later."""


class SessionError(Exception):
    """Spark does not start; the text says why, in the words of Java."""


class WrongSettingError(SessionError):
    """Spark does not take a setting: it will not start the next time either."""


def start(settings: StreamingSettings) -> SparkSession:
    """The session of this process.

    Raises:
        JarsError: the jars of Spark's Kafka source are not there.
        WrongSettingError: Spark does not take a setting, or there is no Java that it runs on.
        SessionError: the JVM cannot be started, it has ended, or the master does not answer.
    """
    try:
        return _start(settings)
    except (ConnectionError, Py4JNetworkError) as error:  # the UI's port is taken, for one
        raise SessionError(ENDED) from error
    except (Py4JError, PySparkException) as error:
        raise explained(error, settings.master) from error


def explained(error: Exception, master: str) -> SessionError:
    """What Spark has thrown while it starts, the outermost and the innermost exception without stacks."""
    text = str(error)
    thrown = JAVA.search(text)
    outermost = thrown["text"] if thrown else text.partition("\n")[0]
    why = ": ".join([outermost.rstrip(":"), *CAUSE.findall(text)[-1:]])
    kind = WrongSettingError if WRONG.search(why) and not EXECUTOR.search(why) else SessionError
    return kind(f"Spark does not start with master {master}: {why}")


def refuse_ended(spark: SparkSession) -> None:
    """Raise ``SessionError`` where Spark has ended: its JVM was killed, or its master has ended it."""
    context: Any = spark.sparkContext._jsc  # noqa: SLF001 -- PySpark names no other way to it
    try:
        ended = context.sc().isStopped()
    except (Py4JError, OSError):
        ended = True
    if ended:
        raise SessionError(ENDED)


def end(spark: SparkSession) -> None:
    """Stop Spark; a signal to the whole group, as of a closed terminal, may have ended its JVM before."""
    with suppress(Py4JError, OSError):
        spark.stop()


@contextmanager
def starting(stop: threading.Event) -> Iterator[None]:
    """Inside, what asks for the end kills Spark and raises ``Interrupted``: nothing has to be finished.

    So does ``stop`` that is set before. Processes that were there before run on.
    """
    others = set(psutil.Process().children(recursive=True))
    try:
        with process.interruptible():
            process.interrupt_if(stop)
            yield
    except (process.Interrupted, KeyboardInterrupt):  # the latter is what Spark makes of SIGINT
        children = [one for one in psutil.Process().children(recursive=True) if one not in others]
        for child in children:  # a JVM that starts and finds no driver never ends by itself
            with suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(children)
        raise process.Interrupted from None


def _start(settings: StreamingSettings) -> SparkSession:
    if settings.master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # of the workers
    if settings.master.startswith("local-cluster"):  # its workers start executors from there
        os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    logging.getLogger().disabled = True  # only py4j logs to the root itself
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # a failure is logged once, where it is caught:
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):  # not by every layer with its stack
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)
    conf = {"spark.app.name": "deadwatch-streaming", **configuration(settings)}
    if settings.master:
        conf["spark.master"] = settings.master
    _launch(conf)
    spark = SparkSession.builder.config(map={**conf}).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    guard_callbacks(spark)
    refuse_pythons_own(settings.dlq_topics, spark)
    if SHUFFLE_PARTITIONS not in settings.spark:
        spark.range(1).count()  # waits for the executors: their cores count
        spark.conf.set(SHUFFLE_PARTITIONS, str(spark.sparkContext.defaultParallelism))
    return spark


def refuse_pythons_own(patterns: Iterable[str], spark: SparkSession) -> None:
    """Raise ``WrongSettingError`` where one is an expression of Python alone: each query would fail."""
    java: Any = spark.sparkContext._jvm  # noqa: SLF001 -- PySpark names no other way to it
    for pattern in patterns:
        try:
            java.java.util.regex.Pattern.compile(pattern)
        except IllegalArgumentException as error:
            why = str(error).partition("\n")[0]
            raise WrongSettingError(
                f"dlq_topics: Spark, which is Java, cannot use {pattern!r}: {why}"
            ) from error


def _launch(conf: Mapping[str, str]) -> None:
    """Start the JVM of this process; its command line shows no secret, the session hands those over later."""
    visible = [(name, value) for name, value in conf.items() if not re.search(SECRETS, name)]
    shown = SparkConf(loadDefaults=False).setAll(visible)
    try:
        SparkContext._ensure_initialized(conf=shown)  # noqa: SLF001 -- PySpark starts it so itself
        check_ui(dict(SparkConf().setAll(visible).getAll()))  # with those of spark-defaults.conf
    except PySparkRuntimeError as error:
        if why := jvm.refusal(shown):
            raise WrongSettingError(f"Spark does not start: {why}") from error
        raise
    except ValueError as error:
        raise WrongSettingError(f"Spark does not start: {error}") from error


class _JvmOnly:
    """Stands where py4j takes a context of TLS: a connection that is not the JVM's is shut at once.

    The JVM calls back into Python for every batch, and cannot show a token when it does.
    """

    def __init__(self, jvm: psutil.Process) -> None:
        self._jvm = jvm

    def wrap_socket(self, connection: socket.socket, *, server_side: bool) -> socket.socket:
        """The same connection, shut where another process has opened it."""
        del server_side
        ends = connection.getpeername()[1], connection.getsockname()[1]
        known = self._jvm.net_connections("tcp")
        established = (one for one in known if one.status == psutil.CONN_ESTABLISHED)
        if ends not in {(one.laddr.port, one.raddr.port) for one in established}:
            connection.shutdown(socket.SHUT_RDWR)
        return connection


def guard_callbacks(spark: SparkSession) -> None:
    """Let nobody but the session's JVM call back into this process; to be called before the first query."""
    java: Any = spark.sparkContext._jvm  # noqa: SLF001 -- PySpark names no other way to it
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 -- as above
    jvm = psutil.Process(java.java.lang.ProcessHandle.current().pid())
    gateway.callback_server_parameters.ssl_context = _JvmOnly(jvm)


def configuration(settings: StreamingSettings) -> dict[str, str]:
    """Every setting of the session. Only those that the user adds may be secret."""
    return {
        **SQL,
        **(LOCAL if settings.master.startswith("local") else {}),
        **({"spark.authenticate": "true"} if MAKES_SECRET.match(settings.master) else {}),
        **({"spark.network.crypto.enabled": "true"} if ON_CLUSTER.match(settings.master) else {}),
        "spark.jars": ",".join(settings.jars or (str(jar) for jar in jars.files("spark"))),
        "spark.driver.memory": settings.driver_memory,
        "spark.driver.extraJavaOptions": " ".join(jvm.options()),
        "spark.redaction.regex": SECRETS,
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.sql.redaction.options.regex": SECRETS,
        "spark.sql.warehouse.dir": (settings.checkpoint.resolve().parent / "spark-warehouse").as_uri(),
        **_ui(settings.ui_port),
        "spark.ui.showConsoleProgress": "false",
        **settings.spark,
    }


def _ui(port: int | None) -> dict[str, str]:
    """Spark's UI, with the metrics of driver and executors as Prometheus reads them."""
    if port is None:  # what the UI would show is kept in the heap nevertheless, a thousand plans of it
        return {"spark.ui.enabled": "false"} | dict.fromkeys(HISTORY, "10")
    return {
        "spark.ui.enabled": "true",
        "spark.ui.port": str(port),
        "spark.ui.killEnabled": "false",
        "spark.ui.prometheus.enabled": "true",
        "spark.port.maxRetries": "0",  # no other port is known to anyone
        "spark.sql.streaming.metricsEnabled": "true",
        f"{SERVLET}.class": "org.apache.spark.metrics.sink.PrometheusServlet",
        f"{SERVLET}.path": "/metrics/prometheus",
        "spark.metrics.namespace": "deadwatch_streaming",
    }
