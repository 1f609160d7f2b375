"""Logs by the settings: files, patterns of files, and topics, each a source of its own."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

from collector.contract.topics import LOG_TOPIC
from collector.log_context import Scope
from collector.runtime import Runtime
from collector.settings import CollectorSettings, LogReading, LogSettings, LogTopicSettings
from collector.sources.kafka_log import KafkaLogReader
from collector.sources.log_glob import LogGlob, is_pattern
from collector.sources.log_scan import Scanner
from collector.sources.log_topic import LogTopicSource
from collector.sources.logs import LogSource


def start(runtime: Runtime, settings: CollectorSettings, clock: Callable[[], int]) -> None:
    """Begin every log of the settings."""
    for logs in settings.logs:
        _start_files(runtime, settings, logs, clock)
    _start_log_topics(runtime, settings, clock)


def _start_files(
    runtime: Runtime, settings: CollectorSettings, logs: LogSettings, clock: Callable[[], int]
) -> None:
    def follow(path: Path) -> None:
        runtime.start(
            lambda: LogSource(
                path,
                saved=runtime.saved(f"log:{path}"),
                scanner=_scanner(logs),
                worker=logs.worker,
                kafka_cluster=settings.kafka_cluster,
                poll_interval_ms=settings.poll_interval_ms,
                clock=clock,
            )
        )

    if not is_pattern(logs.path):
        follow(Path(logs.path))
        return

    def glob() -> LogGlob:
        saved = runtime.saved(f"log:{logs.path}")
        interval_ms = settings.poll_interval_ms
        return LogGlob(logs.path, saved=saved, follow=follow, poll_interval_ms=interval_ms)

    runtime.start(glob, Scope.CONNECTOR)


def _start_log_topics(runtime: Runtime, settings: CollectorSettings, clock: Callable[[], int]) -> None:
    def topic_source(logs: LogTopicSettings) -> LogTopicSource:
        return LogTopicSource(
            logs.topic,
            KafkaLogReader(logs.topic, settings.kafka),
            saved=runtime.saved(f"{LOG_TOPIC}{logs.topic}"),
            scanner=_scanner(logs),
            worker=logs.worker,
            kafka_cluster=settings.kafka_cluster,
            poll_interval_ms=settings.poll_interval_ms,
            clock=clock,
        )

    for logs in settings.log_topics:
        runtime.start(partial(topic_source, logs))


def _scanner(logs: LogReading) -> Scanner:
    form = "" if logs.format == "auto" else logs.format
    return Scanner(ZoneInfo(logs.timezone), format=form, layout=logs.layout())
