"""Streaming as Spark's operator runs it: by spark-submit and the image's launcher."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import psutil
import pyspark
import pytest

from jars.cache import classpath
from lab import Lab
from tests.ports import free_ports
from tests.waiting import until

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
SPARK_HOME = Path(pyspark.__file__).parent
WITHIN_S = 240
REQUEST_S = 30
"""Spark loads what answers its first scrape when it is asked: seconds, on a busy machine."""


@contextmanager
def submitted(directory: Path, variables: dict[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    """The driver, with all that it starts; its lines are in ``directory``/log."""
    environment = os.environ | variables
    environment |= {"SPARK_HOME": str(SPARK_HOME), "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    environment["SPARK_LOCAL_IP"] = "127.0.0.1"
    launcher = str(ROOT / "docker" / "spark_streaming.py")
    submit = [str(SPARK_HOME / "bin" / "spark-submit"), "--driver-class-path", classpath("spark")]
    command = [*submit, "--master", "local[1]", launcher]
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, cwd=directory, stdout=log, stderr=log)
    try:
        yield process
    finally:
        family = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        process.kill()
        process.wait()
        for child in family:
            child.kill()
        psutil.wait_procs(family, 60)


def answers(url: str) -> str:
    try:
        answer = httpx2.get(url, timeout=REQUEST_S, trust_env=False)
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
