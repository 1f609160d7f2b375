"""How every process of the house begins: settings, logging, and a stop that a signal asks for."""

import argparse
import logging
import signal
import sys
import threading
from pathlib import Path

from collector.log_context import add_context
from collector.log_format import LogFormat, formatter
from collector.settings_file import S, SettingsError, load

REFUSED = 2
"""Exit code when the settings or arguments are refused."""

QUIET = {
    "kafka": logging.CRITICAL,  # tells each attempt; whoever calls it tells each change
    "httpx2": logging.WARNING,  # tells each request
    "httpcore2": logging.WARNING,
    "py4j": logging.WARNING,
    "opentelemetry": logging.CRITICAL,  # as kafka
}


def begin(settings: type[S], description: str) -> S:
    """The settings of this process, logging set up; ends it with one line where they are refused."""
    parser = argparse.ArgumentParser(prog=f"python -m {settings.runs()}", description=description)
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as YAML (deadwatch.yaml)")
    arguments = parser.parse_args()
    configure_logging(settings.section)
    try:
        loaded = load(settings, arguments.config)
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(REFUSED)
    configure_logging(settings.section, form=loaded.log_format)
    return loaded


def configure_logging(process: str, level: int = logging.INFO, form: LogFormat = "text") -> None:
    """One line a record on stderr: UTC time, level, process, message (logger), or the same as JSON."""
    handler = logging.StreamHandler()
    handler.addFilter(add_context)
    handler.setFormatter(formatter(process, form))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name, least in QUIET.items():
        logging.getLogger(name).setLevel(least)
    logging.captureWarnings(capture=True)


def stop_on_signals(stop: threading.Event | None = None) -> threading.Event:
    """An event that SIGTERM or SIGINT sets; call it from the main thread, again after a library took them."""
    stop = stop or threading.Event()

    def ask(_number: int, _frame: object) -> None:
        threading.Thread(target=stop.set).start()  # the main thread may hold the event's lock right now

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, ask)
    return stop
