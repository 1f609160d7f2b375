"""``python -m streaming``: the query, until SIGTERM or SIGINT."""

import contextlib
import logging
import sys
import time
from random import Random

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # ships no types

from collector import process
from jars import JarsError
from streaming import session
from streaming.heartbeat import STREAMING, Heartbeat
from streaming.job import Job
from streaming.settings import StreamingSettings
from streaming.store.store import Store, StoreError

logger = logging.getLogger("streaming")


def clock_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def main() -> None:
    """Run until a signal asks for the end; exit code 0 then."""
    settings = process.begin(StreamingSettings, "Counts events and dead letters into the store.")
    store = Store(
        settings.store_url,
        max_series=settings.max_series,
        max_groups=settings.max_groups,
        samples_per_group=settings.samples_per_group,
    )
    try:
        with store:
            run(settings, store)
    except (StoreError, JarsError) as error:
        logger.error("%s", error)  # noqa: TRY400 -- one line: the traceback says nothing to an operator
        sys.exit(process.REFUSED)


def run(settings: StreamingSettings, store: Store) -> None:
    """Run the query with its heartbeat on an open store."""
    heartbeat = Heartbeat(store, settings.heartbeat_interval_ms, clock_ms)
    heartbeat.say(STREAMING, up=True, message="starting")
    try:
        spark = session.start(settings)
        stop = process.stop_on_signals()
        logger.info(
            "reading %s and dead letter topics of %s", settings.events_topic, settings.kafka.bootstrap_servers
        )
        Job(settings, store, heartbeat, stop, clock_ms).run(spark, Random())
        with contextlib.suppress(Py4JError, OSError):  # a signal to the whole group has ended the JVM first
            spark.stop()
        heartbeat.say(STREAMING, up=False, message="stopped")
    finally:
        heartbeat.close()
    logger.info("stopped after the last batch")


if __name__ == "__main__":
    main()
