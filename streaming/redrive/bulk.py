"""The engine spark: an order's partitions are worked on by executors, each as a lane of its own.

The worker holds the claim and waits; what moves records is ``streaming.redrive.lane``. A task that is lost is
run again by Spark, and goes on where its last transaction ended.
"""

import logging
import os
import sys
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from streaming.redrive import lane
from streaming.redrive.claim import Claim
from streaming.redrive.hold import Hold
from streaming.redrive.order import Status
from streaming.redrive.settings import RedriveSettings
from streaming.redrive.worker import Ending

if TYPE_CHECKING:
    from pyspark import SparkContext

logger = logging.getLogger(__name__)

LOOPBACK: Final = "127.0.0.1"
LOOK_S: Final = 0.1
FAILED: Final = "Spark failed ({}): see the worker's log, then resume"


class Engine:
    """Of one worker; its session begins with the first order that asks for it."""

    def __init__(self, settings: RedriveSettings) -> None:
        self._settings = settings

    def work(self, claim: Claim, hold: Hold, stop: threading.Event) -> Ending:
        """As a worker works on an order of its own, but in executors."""
        try:
            context = self._context()
        except Exception as error:
            logger.exception("no Spark session")
            return Status.PAUSED, FAILED.format(type(error).__name__)
        job = _Job(context, lane.lanes(self._settings, claim, context.defaultParallelism), claim)
        job.start()
        while not job.done.wait(LOOK_S):
            if stop.is_set() or hold.lost:
                context.cancelJobGroup(claim.order.id)
                job.done.wait(self._settings.shutdown_graceful_timeout_ms / 1_000)
                return None
        if job.error is not None:
            return Status.PAUSED, FAILED.format(type(job.error).__name__)
        return together(job.endings)

    def _context(self) -> "SparkContext":
        from pyspark.sql import SparkSession  # noqa: PLC0415 -- only who needs it pays for it

        master = self._settings.spark_master
        builder = SparkSession.builder.master(master).appName("deadwatch-redrive")
        options = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
        if master.startswith("local"):
            os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            options |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
            options["spark.executorEnv.PYTHONPATH"] = os.pathsep.join(sys.path)
        for name, value in options.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        return session.sparkContext


class _Job(threading.Thread):
    """All lanes of one claim; a task for each."""

    def __init__(self, context: "SparkContext", lanes: list[lane.Lane], claim: Claim) -> None:
        super().__init__(name=f"spark-{claim.order.id}", daemon=True)
        self._context, self._lanes, self._group = context, lanes, claim.order.id
        self.done = threading.Event()
        self.endings: list[Ending] = []
        self.error: Exception | None = None

    def run(self) -> None:
        """Raises nothing: ``error`` tells."""
        try:
            self._context.setJobGroup(self._group, "redrive", interruptOnCancel=True)
            tasks = self._context.parallelize(self._lanes, max(len(self._lanes), 1))
            self.endings = tasks.map(lane.work).collect()
        except Exception as error:
            logger.exception("order %s: its Spark job failed", self._group)
            self.error = error
        finally:
            self.done.set()


def together(endings: Iterable[Ending]) -> Ending:
    """How the order ends: what has to be mended in one lane pauses it; a lane that was stopped does not."""
    every = list(endings)
    for wanted in (Status.FAILED, Status.PAUSED):
        for ending in every:
            if ending is not None and ending[0] is wanted:
                return ending
    done = all(ending is not None and ending[0] is Status.COMPLETED for ending in every)
    return (Status.COMPLETED, "") if done else None
