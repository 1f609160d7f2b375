"""Which end of streaming is for an operator, and after which one it is to be started again."""

import threading
from pathlib import Path

import pytest
from pyspark.errors import PySparkRuntimeError

from deadwatch.runtime import process
from streaming import __main__ as streaming
from streaming import session
from streaming.settings import StreamingSettings

NO_JVM = "[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number."
REFUSED = (
    "An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.\n"
    ": org.apache.spark.SparkIllegalArgumentException: "
    "[INVALID_SPARK_CONFIG.INVALID_EXECUTOR_HEARTBEAT_INTERVAL] Invalid Spark config: The value of "
    "spark.network.timeout=1000ms must be greater than the value of spark.executor.heartbeatInterval=10000ms."
    " SQLSTATE: 42616\n\tat org.apache.spark.SparkConf"
)
NO_MASTER = (
    "An error occurred while calling None.org.apache.spark.sql.classic.SparkSession.\n"
    ": java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.\n"
    "This stopped SparkContext was created at:"
)
NO_MASTER_SEEN = (
    "An error occurred\n: java.lang.IllegalArgumentException: requirement failed: Can only call"
    " getServletHandlers on a running MetricsSystem\n\tat x"
)
NO_SUCH_MASTER = ": org.apache.spark.SparkException: Could not parse Master URL: 'local[x]'"
NUMBER = ": java.lang.NumberFormatException: Size must be specified as bytes (b), kibibytes (k).\n\tat x"
NO_CLASS = "An error occurred\n: java.lang.ClassNotFoundException: no.such.Serializer\n\tat x"
CASES = {
    "no memory for a JVM": ("local[3]", NO_JVM, process.AGAIN),
    "a cluster's master is away": ("spark://spark:7077", NO_MASTER, process.AGAIN),
    "a master that goes while Spark starts": ("spark://spark:7077", NO_MASTER_SEEN, process.AGAIN),
    "a JVM that ends, as where the port of its UI is taken": (
        "local[3]",
        ConnectionRefusedError(),
        process.AGAIN,
    ),
    "the master is in the submission": ("", NO_JVM, process.AGAIN),
    "a setting that Spark refuses": ("local[3]", REFUSED, process.REFUSED),
    "a number that is none": ("local[3]", NUMBER, process.REFUSED),
    "a class that is nowhere": ("local[3]", NO_CLASS, process.REFUSED),
    "a master that is none": ("local[x]", NO_SUCH_MASTER, process.REFUSED),
}


@pytest.mark.parametrize(("master", "said", "code"), CASES.values(), ids=CASES)
def test_only_a_setting_that_spark_refuses_is_for_an_operator(
    master: str, said: str | Exception, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: object) -> None:
        raise said if isinstance(said, Exception) else PySparkRuntimeError(said)

    settings = StreamingSettings(
        master=master,
        store_url=f"sqlite:///{tmp_path / 'deadwatch.db'}",
        checkpoint=tmp_path / "checkpoint",
    )
    monkeypatch.setattr(session, "_start", failing)
    monkeypatch.setattr(streaming, "begin", lambda *_: settings)
    monkeypatch.setattr("streaming.__main__.process.stop_on_signals", threading.Event)
    with pytest.raises(SystemExit) as ended:
        streaming.main()
    assert ended.value.code == code
