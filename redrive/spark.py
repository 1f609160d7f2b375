"""The engine spark: an order's partitions are worked on in Spark executors, each by a task of its own.

The worker holds the claim and waits for the job (``work_in_executors``). A task (``work``) is the worker's
own work on an order that has one partition, with a transactional id of its own: whoever takes the order over
opens these ids anew and so fences the tasks before. What users want, and whether the claim is still the
latest, a task looks up in the store. A task that is lost is run again by Spark, and goes on where its last
transaction ended.
"""

import logging
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from deadwatch.orders.order import Claim, ClaimLostError, Order, Status
from deadwatch.orders.selection import intervals
from deadwatch.runtime.otel import providers_of
from deadwatch.runtime.process import leave_records_alone
from deadwatch.store.engine import connect
from deadwatch.store.write.order_claims import OrderClaims
from redrive.move.task import WorkerContext
from redrive.settings import RedriveSettings
from redrive.telemetry import Telemetry
from redrive.worker import Ending, LeaseKeeper, run

if TYPE_CHECKING:
    from pyspark import SparkContext

log = logging.getLogger(__name__)

LOOPBACK: Final = "127.0.0.1"
LOOK_S: Final = 0.1
FAILED: Final = "Spark failed ({}): see the worker's log, then resume"


Ended = tuple[Ending, bool]
"""How a partition task has ended, and whether it may have left a transaction open."""


@dataclass(frozen=True, slots=True)
class PartitionTask:
    """What an executor is given; it goes there in Spark's own task, never into a log."""

    settings: RedriveSettings
    claim: Claim
    partition: int
    parallel_tasks: int
    """How many run at the same time: they share the order's rates."""


def work_in_executors(
    settings: RedriveSettings,
    claim: Claim,
    lease: LeaseKeeper,
    stop: threading.Event,
    *,
    beat: Callable[[], None],
) -> Ending:
    """As a worker works on an order of its own, but in executors; ``beat`` is called while it waits."""
    order = claim.order.id
    try:
        context = _context(settings.spark_master)
        tasks = partition_tasks(settings, claim, context.defaultParallelism)
        lease.left_open = True  # unless every task has told
        job = _begun(context, tasks, order)
        while not wait([job], LOOK_S).done:
            beat()
            if stop.is_set() or lease.lost:
                context.cancelJobGroup(order)
                wait([job], settings.shutdown_graceful_timeout_ms / 1_000)
                return None
        ended = job.result()
    except Exception as error:
        log.exception("order %s: Spark failed", order)
        if stop.is_set():  # by a signal that has ended the JVM as well
            return None
        return Status.PAUSED, FAILED.format(type(error).__name__)
    lease.left_open = any(left_open for _, left_open in ended)
    return combined(ending for ending, _ in ended)


def _context(master: str) -> "SparkContext":
    """Of the session of this process, which begins with the first order that asks for it."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 -- only who needs it pays for it

    builder = SparkSession.builder.master(master).appName("deadwatch-redrive")
    options = {
        "spark.driver.extraJavaOptions": f'"-Djava.io.tmpdir={tempfile.gettempdir()}"',
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        options |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
        options["spark.executorEnv.PYTHONPATH"] = os.pathsep.join(sys.path)
    session = builder.config(map={**options}).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session.sparkContext


def _begun(context: "SparkContext", tasks: list[PartitionTask], group: str) -> Future[list[Ended]]:
    """All partition tasks of one claim, in one Spark job."""
    job = Future[list[Ended]]()

    def run() -> None:
        try:
            context.setJobGroup(group, "redrive", interruptOnCancel=True)
            job.set_result(context.parallelize(tasks, max(len(tasks), 1)).map(work).collect())
        except Exception as error:  # noqa: BLE001 -- it is raised where the result is asked for
            job.set_exception(error)

    threading.Thread(target=run, name=f"spark-{group}", daemon=True).start()
    return job


def combined(endings: Iterable[Ending]) -> Ending:
    """How the order ends: what has to be fixed in one partition pauses it, a stopped task does not."""
    every = list(endings)
    known = {ending[0]: ending for ending in reversed(every) if ending is not None}
    worst = known.get(Status.FAILED) or known.get(Status.PAUSED)
    done = None not in every and known.keys() <= {Status.COMPLETED}
    return worst or ((Status.COMPLETED, "") if done else None)


def partition_tasks(settings: RedriveSettings, claim: Claim, slots: int) -> list[PartitionTask]:
    """A task for every partition that has something to move; ``slots`` of them run at the same time."""
    partitions = sorted(intervals(claim.order))
    parallel = max(min(slots, len(partitions)), 1)
    orders = {partition: _partition_order(claim.order, partition, parallel) for partition in partitions}
    return [PartitionTask(settings, replace(claim, order=orders[one]), one, parallel) for one in partitions]


def _partition_order(order: Order, partition: int, parallel: int) -> Order:
    """The order as far as one partition goes, at its share of the rates."""
    limits = order.request.limits
    shares: dict[str, float | int | None] = {
        name: None if (rate := getattr(limits, name)) is None else rate / parallel
        for name in ("records_per_second", "per_target_records_per_second")
    }
    if limits.bytes_per_second is not None:
        shares["bytes_per_second"] = max(limits.bytes_per_second // parallel, 1)
    request = order.request.model_copy(update={"limits": limits.model_copy(update=shares)})
    begin, cut_off = {partition: order.begin.get(partition, 0)}, {partition: order.cut_off[partition]}
    return order.model_copy(update={"request": request, "begin": begin, "cut_off": cut_off})


class _WatchedClaim:
    """The claim as a partition task sees it (an ``Orders``): looked at, never renewed or let go of.

    ``ending`` is how its work has ended, ``left_open`` whether it may have left a transaction open.
    """

    def __init__(self, claims: OrderClaims, claim: Claim, stop: threading.Event) -> None:
        self._claims, self._claim, self._stop = claims, claim, stop
        self.ending: Ending = None
        self.left_open = False

    def claim(self, worker: str, now_ms: int, lease_ms: int) -> Claim | None:
        del worker
        with suppress(ClaimLostError):
            if self._claims.wanted(self._claim) is Status.RUNNING:
                self.left_open = True  # until it is let go of without
                return replace(self._claim, expires_at_ms=now_ms + lease_ms)
        self._stop.set()
        return None

    def renew(self, claim: Claim, now_ms: int, lease_ms: int) -> tuple[Claim, Status]:
        wanted = self._claims.wanted(claim)
        return replace(claim, expires_at_ms=now_ms + lease_ms), wanted

    def settle(self, claim: Claim, status: Status, status_reason: str, now_ms: int) -> None:
        del now_ms
        self.ending, self.left_open = (status, status_reason), claim.left_open
        self._stop.set()

    def release(self, claim: Claim) -> None:
        """What may pass is tried again: the next claim of it is this task's as well."""
        self.left_open = claim.left_open


def work(task: PartitionTask) -> Ended:
    """In an executor: until it is done, has to pause (the reason), or has to be let go of (None)."""
    leave_records_alone()
    engine = connect(task.settings.store_url)
    stop = threading.Event()
    orders = _WatchedClaim(OrderClaims(engine), task.claim, stop)
    name = f"lane {task.partition} of {task.claim.order.id}"
    telemetry = Telemetry(providers_of("redrive", name, task.settings.otel_endpoint, os.environ))
    context = replace(
        WorkerContext.of_store(task.settings, engine, telemetry),
        id_suffix=f"-{task.partition}",
        parallel_tasks=task.parallel_tasks,
    )
    try:
        run(orders, context, stop, name)
    finally:
        telemetry.close(task.settings.shutdown_graceful_timeout_ms)
        engine.dispose()
    return orders.ending, orders.left_open
