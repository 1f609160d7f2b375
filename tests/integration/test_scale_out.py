"""The query on two executors, each a process of its own: the same settings, the same truth."""

import contextlib
import uuid
from pathlib import Path

import psutil
import pytest

from lab import Lab
from tests.integration.test_streaming import WITHIN_S, Streaming, Traffic, eventually, settled

pytestmark = pytest.mark.integration

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


def test_two_executors_count_the_truth_and_one_may_die(lab: Lab, tmp_path: Path) -> None:
    traffic = Traffic(lab.bootstrap_servers, f"scale-{uuid.uuid4().hex[:8]}")
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
        assert settled(streaming, traffic), (streaming.totals(), dict(traffic.truth), streaming.log())
        executors(driver.pid)[0].kill()
        traffic.write()
        assert settled(streaming, traffic), (streaming.totals(), dict(traffic.truth), streaming.log())
        assert eventually(lambda: len(executors(driver.pid)) == 2), streaming.log()
    assert (tmp_path / "elsewhere" / "checkpoint" / "commits").is_dir()


def test_settings_that_spark_refuses_are_one_line(lab: Lab, tmp_path: Path) -> None:
    traffic = Traffic(lab.bootstrap_servers, f"scale-{uuid.uuid4().hex[:8]}")
    wrong = '{"spark.network.timeout": "1s"}'
    streaming = Streaming(lab.bootstrap_servers, traffic, tmp_path, spark=wrong)
    with streaming.running() as driver:
        assert driver.wait(WITHIN_S) == 2
    assert "Spark does not start with master local[2]: " in streaming.log()
    assert "spark.network.timeout" in streaming.log()
    assert "Traceback" not in streaming.log()
