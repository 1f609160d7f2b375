"""The Spark session of the query: quiet, on any master, and writing nothing where it is started."""

import logging
import os
import re
import sys
from pathlib import Path

import pyspark
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # ships no types
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

import jars
from streaming.settings import StreamingSettings

LOOPBACK = "127.0.0.1"
SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
SERVLET = "spark.metrics.conf.*.sink.prometheusServlet"
JAVA = re.compile(r"^: (?P<text>.+)$", re.MULTILINE)
"""Where py4j shows what Java has thrown."""
LOGGING = Path(__file__).with_name("log4j2.properties")
SECRETS = "(?i)secret|password|token|access[.]?key|jaas|keystore|truststore|ssl[.]key"

SQL = {
    "spark.sql.adaptive.enabled": "false",  # one plan for every batch: planning costs more than it gains
    "spark.sql.ansi.enabled": "false",  # a hostile value is null or bounded, it never fails a batch
    "spark.sql.catalogImplementation": "in-memory",
    "spark.executorEnv.POLARS_MAX_THREADS": "1",  # a worker a core
    "spark.kafka.consumer.cache.capacity": "512",  # a partition each: to connect by TLS costs 50 ms
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",  # of several headers of one name the last counts
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "20000",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.pollingDelay": "50ms",
}
"""What results and latency depend on; tests run with the same."""


class SessionError(Exception):
    """Spark does not start; the text says why, in its words."""


def start(settings: StreamingSettings) -> SparkSession:
    """The session of this process.

    Raises:
        JarsError: the jars of Spark's Kafka source are not there.
        SessionError: a setting is wrong, or the master does not answer.
    """
    try:
        return _start(settings)
    except (Py4JError, PySparkException) as error:
        said = JAVA.search(str(error))
        why = said["text"] if said else str(error).partition("\n")[0]
        raise SessionError(f"Spark does not start with master {settings.master}: {why}") from error


def _start(settings: StreamingSettings) -> SparkSession:
    if settings.master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # of the workers of ``plain_pass``
    if settings.master.startswith("local-cluster"):  # its workers start executors from there
        os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    _quieten()
    builder = SparkSession.builder.appName("deadwatch-streaming")
    if settings.master:
        builder = builder.master(settings.master)
    for name, value in configuration(settings).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    if SHUFFLE_PARTITIONS not in settings.spark:
        spark.range(1).count()  # waits for the executors: their cores count
        spark.conf.set(SHUFFLE_PARTITIONS, str(spark.sparkContext.defaultParallelism))
    return spark


def _quieten() -> None:
    """Let failures be told once, by who catches them: not with a stack by every layer they pass."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def configuration(settings: StreamingSettings) -> dict[str, str]:
    """Every setting of the session; what the user adds may be a secret, nothing else is."""
    local = {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    return {
        **SQL,
        **(local if settings.master.startswith("local") else {}),
        "spark.jars": ",".join(settings.jars or (str(jar) for jar in jars.files("spark"))),
        "spark.driver.memory": settings.driver_memory,
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOGGING.as_uri()} -XX:+UseSerialGC",
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
    if port is None:
        return {"spark.ui.enabled": "false"}
    return {
        "spark.ui.enabled": "true",
        "spark.ui.port": str(port),
        "spark.ui.killEnabled": "false",
        "spark.ui.prometheus.enabled": "true",
        "spark.port.maxRetries": "0",  # another port would be nobody's
        "spark.sql.streaming.metricsEnabled": "true",
        f"{SERVLET}.class": "org.apache.spark.metrics.sink.PrometheusServlet",
        f"{SERVLET}.path": "/metrics/prometheus",
        "spark.metrics.namespace": "deadwatch_streaming",
    }
