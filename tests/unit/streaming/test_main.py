"""Which end of streaming is for an operator, and after which one it is to be started again."""

import threading

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
NO_LISTENER = (
    "An error occurred\n: org.apache.spark.SparkException: Exception when registering SparkListener\n\tat x\n"
    "Caused by: java.lang.ClassNotFoundException: no.such.Listener\n\tat y"
)
OTHER_CLASS = ": java.lang.ClassCastException: class java.lang.String cannot be cast to class x.Serializer"
NO_PORT = (
    "An error occurred\n: java.lang.IllegalArgumentException: requirement failed: startPort should be between"
    " 1024 and 65535 (inclusive), or 0 for a random free port.\n\tat x"
)
NO_FRACTION = (
    ": java.lang.IllegalArgumentException: spark.memory.fraction should be between 0 and 1 (was '2.0')."
)
NO_SIZE = (
    ": java.lang.IllegalArgumentException: requirement failed: spark.memory.offHeap.size must be > 0 when"
    " spark.memory.offHeap.enabled == true\n\tat x"
)
NO_SECRET = (
    ": java.lang.IllegalArgumentException: requirement failed: A secret key must be specified via the"
    " spark.authenticate.secret config.\n\tat x"
)
NO_CODEC = (
    "[CODEC_NOT_AVAILABLE.WITH_CONF_SUGGESTION] The codec nope is not available. Consider to set the config"
    ' "spark.io.compression.codec" to "snappy". SQLSTATE: 56038'
)
NO_CLASS_THERE = (
    "An error occurred\n: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage"
    " 0.0 failed 4 times, most recent failure: Lost task 0.3 in stage 0.0 (TID 3) (10.0.0.7 executor 1):"
    " java.lang.ClassNotFoundException: x.Partition\n"
    "\tat x\nCaused by: java.lang.ClassNotFoundException: x.Partition\n\tat z"
)
NO_HOST = ": java.lang.IllegalArgumentException: java.net.UnknownHostException: namenode\n\tat x"
NO_THREADS = ": org.apache.spark.SparkException: Asked to run locally with 0 threads\n\tat x"
NO_CORES = (
    ": org.apache.spark.SparkException: The number of cores per executor (=3) has to be >= the number of cpus"
    " per task = 9.\n\tat x"
)
NO_TRY = ": org.apache.spark.SparkException: Failed to start service 'sparkDriver' on port 0\n\tat x"
CASES = {
    "no memory for a JVM": ("local[3]", NO_JVM, process.AGAIN),
    "a cluster's master is away": ("spark://spark:7077", NO_MASTER, process.AGAIN),
    "a master that goes while Spark starts": ("spark://spark:7077", NO_MASTER_SEEN, process.AGAIN),
    "a JVM that ends, its UI's port is taken": ("local[3]", ConnectionRefusedError(), process.AGAIN),
    "the master is in the submission": ("", NO_JVM, process.AGAIN),
    "a setting that Spark refuses": ("local[3]", REFUSED, process.REFUSED),
    "a number that is none": ("local[3]", NUMBER, process.REFUSED),
    "a class that is nowhere": ("local[3]", NO_CLASS, process.REFUSED),
    "a listener that is nowhere": ("local[3]", NO_LISTENER, process.REFUSED),
    "a class of another kind": ("local[3]", OTHER_CLASS, process.REFUSED),
    "a port that is none": ("local[3]", NO_PORT, process.REFUSED),
    "less than no port to try": ("local[3]", NO_TRY, process.REFUSED),
    "a number out of its range": ("local[3]", NO_FRACTION, process.REFUSED),
    "a setting that needs another": ("local[3]", NO_SIZE, process.REFUSED),
    "a secret that nobody has said": ("spark://spark:7077", NO_SECRET, process.REFUSED),
    "a codec that is none": ("local[3]", NO_CODEC, process.REFUSED),
    "no core of this machine": ("local[0]", NO_THREADS, process.REFUSED),
    "a task that needs more cores than there are": ("local[3]", NO_CORES, process.REFUSED),
    "a class that an executor does not have": ("local[3]", NO_CLASS_THERE, process.AGAIN),
    "so does none": ("local[3]", NO_CLASS_THERE.replace("executor 1", "executor driver"), process.REFUSED),
    "a host that has no address yet": ("yarn", NO_HOST, process.AGAIN),
    "a master that is none": ("local[x]", NO_SUCH_MASTER, process.REFUSED),
}


@pytest.mark.parametrize(("master", "said", "code"), CASES.values(), ids=CASES)
def test_only_a_setting_that_spark_refuses_is_for_an_operator(
    master: str, said: str | Exception, code: int, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: object) -> None:
        raise said if isinstance(said, Exception) else PySparkRuntimeError(said)

    settings = StreamingSettings(master=master, store_url=url)
    monkeypatch.setattr(session, "_start", failing)
    monkeypatch.setattr(streaming, "begin", lambda *_: settings)
    monkeypatch.setattr("streaming.__main__.process.stop_on_signals", threading.Event)
    with pytest.raises(SystemExit) as ended:
        streaming.main()
    assert ended.value.code == code
