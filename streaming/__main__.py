"""``python -m streaming``: the query, until a signal asks for the end."""

import contextlib
import logging
import os
import sys
import threading
from contextlib import AbstractContextManager
from random import Random

from sqlalchemy.exc import SQLAlchemyError

from deadwatch.deadletter.dialects import read_as
from deadwatch.runtime import process
from deadwatch.runtime.clock import clock_ms, monotonic_ms
from deadwatch.runtime.health import Health
from deadwatch.runtime.otel import providers_of
from deadwatch.runtime.settings_file import begin
from deadwatch.store.errors import RebuiltError, StoreError
from deadwatch.store.heartbeat import STREAMING, Heartbeat
from deadwatch.store.maintenance import file
from deadwatch.store.trouble import is_passing, line
from deadwatch.store.write.lease import this_process
from jars import JarsError
from streaming import session
from streaming.job import Job
from streaming.settings import StreamingSettings
from streaming.store import RetryingStore, Upkeep
from streaming.telemetry import Telemetry

TELEMETRY_MS = 1_000
"""How long the last export of OpenTelemetry may take."""
LATE_MS = 2_000
"""How much later than two intervals a heartbeat may come."""

log = logging.getLogger("streaming")


def main() -> None:
    """Run until a signal asks for the end; exit code 0 then."""
    settings = begin(StreamingSettings, "Counts events and dead letters into the store.")
    read_as(settings.reading)
    stop = process.stop_on_signals()
    providers = providers_of("streaming", settings.kafka_cluster, settings.otel_endpoint, os.environ)
    telemetry = Telemetry(providers)
    try:
        with Health(settings.health, settings.section) as health:
            run(settings, stop, health, telemetry)
    except RebuiltError as error:
        log.warning("%s", error)
        sys.exit(process.AGAIN)
    except (StoreError, JarsError, session.WrongSettingError) as error:
        log.error("%s", error)  # noqa: TRY400 -- one line: the traceback says nothing to an operator
        sys.exit(process.REFUSED)
    except session.SessionError as error:  # the next JVM may have the memory, or meet the master
        log.error("%s", error)  # noqa: TRY400 -- as above
        sys.exit(process.AGAIN)
    except SQLAlchemyError as error:
        log.error("%s", line(error))  # noqa: TRY400 -- as above
        sys.exit(process.AGAIN if is_passing(error) else process.REFUSED)
    finally:
        telemetry.close(TELEMETRY_MS)


def run(settings: StreamingSettings, stop: threading.Event, health: Health, telemetry: Telemetry) -> None:
    """Open the store, be its only stream, and run the query with its heartbeat."""
    ttl_ms = 2 * settings.heartbeat_interval_ms + LATE_MS
    with RetryingStore(settings, stop, Random(), beat=health.beat) as store:
        if store.hold(this_process(), ttl_ms=ttl_ms, stop=stop, now_ms=monotonic_ms):
            heartbeat = Heartbeat(store, settings.heartbeat_interval_ms, clock_ms, health.work_done)
            job = Job(settings, store, heartbeat, stop, clock_ms, beat=health.beat, telemetry=telemetry)
            with contextlib.closing(heartbeat):
                heartbeat.say(STREAMING, up=True, message="starting")
                with upkeep(settings, heartbeat):
                    work(settings, job, stop)
                heartbeat.say(STREAMING, up=False, message="stopped")
    if store.lost:
        raise store.lost


def work(settings: StreamingSettings, job: Job, stop: threading.Event) -> None:
    """Run the query until the stop; a signal while Spark starts ends it at once."""
    try:
        with session.starting(stop):
            spark = session.start(settings)
            log.info(
                "reading %s and dead letter topics of %s",
                settings.events_topic,
                settings.kafka.bootstrap_servers,
            )
            job.warm_up(spark)
    except process.Interrupted:  # nothing has to be finished yet
        log.info("stopped while Spark was starting")
        return
    job.run(spark, Random())
    session.end(spark)
    log.info("stopped after the last batch")


def upkeep(settings: StreamingSettings, heartbeat: Heartbeat) -> AbstractContextManager[object]:
    """Upkeep of a store that is a file; a database server has its own."""
    store = file.path_of(settings.store_url)
    if store is None:
        return contextlib.nullcontext()
    return Upkeep(store, settings, heartbeat, clock_ms, monotonic_ms)


if __name__ == "__main__":
    main()
