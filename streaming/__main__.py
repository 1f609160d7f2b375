"""``python -m streaming``: the query, until SIGTERM or SIGINT."""

import contextlib
import logging
import os
import sys
import threading
import time
from contextlib import AbstractContextManager
from random import Random

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # ships no types
from sqlalchemy.exc import SQLAlchemyError

from collector import process
from collector.health import Health
from jars import JarsError
from streaming import checkpoint, session
from streaming.backfill import span
from streaming.dialects import read_as
from streaming.heartbeat import STREAMING, Heartbeat
from streaming.job import Job
from streaming.patience import PatientStore
from streaming.settings import StreamingSettings
from streaming.store import file
from streaming.store.errors import RebuiltError, StoreError
from streaming.store.owner import this_process
from streaming.store.store import Store
from streaming.store.trouble import line
from streaming.telemetry import Telemetry, telemetry_of
from streaming.upkeep import Upkeep

TELEMETRY_MS = 1_000
"""How long the last of what OpenTelemetry is told may take."""
LATE_MS = 2_000
"""How much later than two heartbeats a sign of life may come."""

logger = logging.getLogger("streaming")


def clock_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def monotonic_ms() -> int:
    """Milliseconds of a clock that nobody sets."""
    return time.monotonic_ns() // 1_000_000


def main() -> None:
    """Run until a signal asks for the end; exit code 0 then."""
    settings = process.begin(StreamingSettings, "Counts events and dead letters into the store.")
    read_as(settings.reading)
    stop = process.stop_on_signals()
    telemetry = telemetry_of(settings.otel_endpoint, settings.kafka_cluster, os.environ)
    try:
        with Health(settings.health, settings.section) as health:
            watch_over(settings, stop, health, telemetry)
    except RebuiltError as error:
        logger.warning("%s", error)
        sys.exit(process.AGAIN)
    except (StoreError, JarsError, checkpoint.CheckpointError, session.SessionError) as error:
        logger.error("%s", error)  # noqa: TRY400 -- one line: the traceback says nothing to an operator
        sys.exit(process.REFUSED)
    except SQLAlchemyError as error:
        logger.error("%s", line(error))  # noqa: TRY400 -- asked to stop while the store was away
        sys.exit(process.REFUSED)
    finally:
        telemetry.close(TELEMETRY_MS)


def watch_over(
    settings: StreamingSettings, stop: threading.Event, health: Health, telemetry: Telemetry
) -> None:
    """Open the store, be its one stream, and run the query."""
    store = PatientStore(settings, stop, Random(), beat=health.beat, telemetry=telemetry)
    with store:
        if hold(settings, store, stop):
            run(settings, store, stop, health, telemetry)
    if store.lost:
        raise store.lost


def hold(settings: StreamingSettings, store: Store, stop: threading.Event) -> bool:
    """Be the one stream of this store; false when a signal came first."""
    ttl_ms = 2 * settings.heartbeat_interval_ms + LATE_MS
    return store.hold(this_process(), ttl_ms=ttl_ms, stop=stop, now_ms=monotonic_ms)


def run(
    settings: StreamingSettings, store: Store, stop: threading.Event, health: Health, telemetry: Telemetry
) -> None:
    """Run the query with its heartbeat on an open store."""
    heartbeat = Heartbeat(store, settings.heartbeat_interval_ms, clock_ms, health.work_done)
    heartbeat.say(STREAMING, up=True, message="starting")
    try:
        settle(settings, store, heartbeat)
        with looked_after(settings, heartbeat):
            spark = session.start(settings)
            process.stop_on_signals(stop)  # Spark has taken SIGINT
            logger.info(
                "reading %s and dead letter topics of %s",
                settings.events_topic,
                settings.kafka.bootstrap_servers,
            )
            job = Job(settings, store, heartbeat, stop, clock_ms, beat=health.beat, telemetry=telemetry)
            job.warm_up(spark)
            job.run(spark, Random())
            with contextlib.suppress(
                Py4JError, OSError
            ):  # a signal to the whole group has ended the JVM first
                spark.stop()
        heartbeat.say(STREAMING, up=False, message="stopped")
    finally:
        heartbeat.close()
    logger.info("stopped after the last batch")


def looked_after(settings: StreamingSettings, heartbeat: Heartbeat) -> AbstractContextManager[object]:
    """Somebody who looks after the store meanwhile; a server has its own."""
    store = file.path_of(settings.store_url)
    if store is None:
        return contextlib.nullcontext()
    return Upkeep(store, settings, heartbeat, clock_ms, monotonic_ms)


def settle(settings: StreamingSettings, store: Store, heartbeat: Heartbeat) -> None:
    """Come to terms with the checkpoint.

    Raises:
        CheckpointError: it cannot be used; the text says what to do.
    """
    try:
        checkpoint.settle(settings.checkpoint, store.last_batches())
    except checkpoint.CheckpointError as error:
        since = span.written(store.last_commit_ms())
        refusal = (
            f"the checkpoint {settings.checkpoint} cannot be used: {error}; the counts in the store are"
            f" whole, `deadwatch backfill --from {since}` goes on from them (an earlier time counts anew)"
        )
        heartbeat.say(STREAMING, up=False, message=refusal)
        raise checkpoint.CheckpointError(refusal) from error


if __name__ == "__main__":
    main()
