"""Streaming as others run it: two executors, settings that Spark refuses, spark-submit and the launcher."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import psutil
import pyspark
import pytest

from deadwatch.store.write.progress import EVENTS
from jars.cache import classpath
from lab import Lab
from lab.ports import free_ports
from tests import families, http
from tests.integration.streaming_process import WITHIN_S, Streaming, Traffic, eventually, settle
from tests.paths import ROOT
from tests.waiting import until

MASTER = "local-cluster[2,1,1024]"
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


def executors(pid: int) -> list[psutil.Process]:
    """The executors that a driver has."""
    found = []
    for one in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has just ended
            if EXECUTOR in one.cmdline():
                found.append(one)
    return found


@pytest.mark.chaos
def test_two_executors_count_the_truth_and_one_may_die(lab: Lab, traffic: Traffic, tmp_path: Path) -> None:
    streaming = Streaming(
        lab.bootstrap_servers,
        traffic,
        tmp_path,
        checkpoint=tmp_path / "elsewhere" / "checkpoint",
        master=MASTER,
        spark='{"spark.executor.heartbeatInterval": "2s"}',
    )
    traffic.write()
    with streaming.running() as driver:
        assert eventually(lambda: len(executors(driver.pid)) == 2), streaming.log()
        settle(streaming, traffic)
        executors(driver.pid)[0].kill()
        traffic.write()
        settle(streaming, traffic)
        assert eventually(lambda: len(executors(driver.pid)) == 2), streaming.log()
        (directory,) = (tmp_path / "elsewhere" / "checkpoint").iterdir()
        assert (directory / EVENTS / "commits").is_dir()


def test_settings_that_spark_refuses_are_one_line(lab: Lab, traffic: Traffic, tmp_path: Path) -> None:
    wrong = '{"spark.network.timeout": "1s"}'
    streaming = Streaming(lab.bootstrap_servers, traffic, tmp_path, spark=wrong)
    with streaming.running() as driver:
        assert driver.wait(WITHIN_S) == 2
    assert "Spark does not start with master local[3]: " in streaming.log()
    assert "spark.network.timeout" in streaming.log()
    assert "Traceback" not in streaming.log()


def test_a_stop_does_not_wait_for_a_master_that_says_nothing(
    lab: Lab, traffic: Traffic, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as master:
        url = f"spark://127.0.0.1:{master.getsockname()[1]}"
        streaming = Streaming(lab.bootstrap_servers, traffic, tmp_path, master=url)
        with streaming.running() as driver:
            master.settimeout(WITHIN_S)
            asked, _ = master.accept()
            with asked:
                driver.terminate()
                assert driver.wait(WITHIN_S) == 0, streaming.log()
    assert "stopped while Spark was starting" in streaming.log()
    assert "Traceback" not in streaming.log()


SPARK_HOME = Path(pyspark.__file__).parent


@contextmanager
def submitted(directory: Path, variables: dict[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    """The driver, with all that it starts; its lines are in ``directory``/log."""
    environment = os.environ | variables
    environment |= {"SPARK_HOME": str(SPARK_HOME), "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    environment["SPARK_LOCAL_IP"] = "127.0.0.1"
    environment["JDK_JAVA_OPTIONS"] += f" -Djava.io.tmpdir={directory}"
    launcher = str(ROOT / "docker" / "spark_streaming.py")
    submit = [str(SPARK_HOME / "bin" / "spark-submit"), "--driver-class-path", classpath("spark")]
    command = [*submit, "--master", "local[1]", launcher]
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, cwd=directory, stdout=log, stderr=log)
    try:
        yield process
    finally:
        families.kill(process)


def answers(url: str) -> str:
    try:
        answer = http.get(url)
    except httpx2.TransportError:
        return ""
    return answer.text if answer.is_success else ""


def test_the_driver_becomes_ready_and_gives_the_metrics_of_spark(lab: Lab, tmp_path: Path) -> None:
    health, ui = free_ports(2)
    variables = {
        "STREAMING_KAFKA__BOOTSTRAP_SERVERS": lab.bootstrap_servers,
        "STREAMING_EVENTS_TOPIC": "deadwatch.events.submitted",
        "STREAMING_STORE_URL": f"sqlite:///{tmp_path / 'store.db'}",
        "STREAMING_CHECKPOINT": str(tmp_path / "checkpoint"),
        "STREAMING_MASTER": "",
        "STREAMING_HEALTH__PORT": str(health),
        "STREAMING_UI_PORT": str(ui),
    }
    with submitted(tmp_path, variables) as driver:
        log = tmp_path / "log"

        def ready() -> bool:
            assert driver.poll() is None, log.read_text()
            return answers(f"http://127.0.0.1:{health}/readyz") == "ok\n"

        until(ready, log.read_text, WITHIN_S)
        spark = f"http://127.0.0.1:{ui}/metrics"
        assert "metrics_deadwatch_streaming_driver_" in answers(f"{spark}/prometheus/")
        assert 'application_name="deadwatch-streaming"' in answers(f"{spark}/executors/prometheus")


def test_a_refused_setting_ends_the_driver_with_a_failure(tmp_path: Path) -> None:
    """What its operator's restart policy goes by."""
    with submitted(tmp_path, {"STREAMING_MASTRE": "x"}) as driver:
        assert driver.wait(WITHIN_S) != 0
    assert "unknown variable STREAMING_MASTRE" in (tmp_path / "log").read_text()
