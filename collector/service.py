"""The collector put together: sources by the settings, positions, publisher, runtime."""

import logging
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from zoneinfo import ZoneInfo

from collector.outbox import Parcels
from collector.positions import Positions
from collector.producer import KafkaEvents
from collector.publisher import Publisher
from collector.runtime import Runtime, backoff
from collector.settings import CollectorSettings, LogSettings
from collector.sources.connect import ConnectSource, source_name
from collector.sources.log_glob import LogGlob, is_pattern
from collector.sources.logs import LogSource
from collector.task import Surroundings

log = logging.getLogger(__name__)


def run(
    settings: CollectorSettings,
    stop: threading.Event,
    *,
    clock: Callable[[], int],
    pause: Callable[[int], None],
    rng: Random,
) -> str:
    """Collect until ``stop``; the reason if it ended before, else "".

    Raises:
        PositionsError: the positions cannot be read or kept.
    """
    with Positions(settings.data / "positions" / f"{settings.name}.sqlite") as positions:
        around = Surroundings(
            threading.Event(), clock, rng, backoff(settings), settings.heartbeat_interval_ms
        )
        runtime = _runtime(settings, positions, around)
        for logs in settings.logs:
            _start_logs(runtime, settings, logs, clock)
        _start_connect(runtime, settings, clock, pause)
        if not settings.logs and not settings.connect:
            log.warning("Nothing to read: set logs or connect")
        return runtime.run(stop)


def _runtime(settings: CollectorSettings, positions: Positions, around: Surroundings) -> Runtime:
    parcels = Parcels()
    publisher = Publisher(
        parcels,
        positions,
        partial(KafkaEvents, settings),
        kafka=settings.kafka.bootstrap_servers,
        backoff=around.backoff,
        rng=around.rng,
    )
    return Runtime(settings, parcels, publisher, around, positions.load())


def _start_logs(
    runtime: Runtime, settings: CollectorSettings, logs: LogSettings, clock: Callable[[], int]
) -> None:
    def follow(path: Path) -> None:
        runtime.start(
            LogSource(
                path,
                saved=runtime.saved(f"log:{path}"),
                zone=ZoneInfo(logs.timezone),
                worker=logs.worker,
                kafka_cluster=settings.kafka_cluster,
                poll_interval_ms=settings.poll_interval_ms,
                clock=clock,
            )
        )

    if not is_pattern(logs.path):
        follow(Path(logs.path))
        return
    saved = runtime.saved(f"log:{logs.path}")
    interval_ms = settings.poll_interval_ms
    runtime.start(LogGlob(logs.path, saved=saved, follow=follow, poll_interval_ms=interval_ms))


def _start_connect(
    runtime: Runtime, settings: CollectorSettings, clock: Callable[[], int], pause: Callable[[int], None]
) -> None:
    for connect in settings.connect:
        runtime.start(
            ConnectSource(
                connect,
                saved=runtime.saved(source_name(connect)),
                kafka_cluster=settings.kafka_cluster,
                heartbeat_interval_ms=settings.heartbeat_interval_ms,
                clock=clock,
                pause=pause,
            )
        )
