"""How every process of the house begins: settings, logging, and a stop that a signal asks for."""

import argparse
import logging
import signal
import sys
import threading
import time
from pathlib import Path

from collector.settings_file import S, SettingsError, load

REFUSED = 2
"""Exit code when the settings or arguments are refused."""


def begin(settings: type[S], description: str) -> S:
    """The settings of this process, logging set up; ends it with one line where they are refused."""
    parser = argparse.ArgumentParser(prog=f"python -m {settings.section}", description=description)
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as YAML (deadwatch.yaml)")
    arguments = parser.parse_args()
    configure_logging(settings.section)
    try:
        return load(settings, arguments.config)
    except SettingsError as error:
        sys.stderr.write(f"{settings.section}: {error}\n")
        sys.exit(REFUSED)


def configure_logging(process: str, level: int = logging.INFO) -> None:
    """One line a record on stderr: UTC time, level, process, message (logger)."""
    formatter = logging.Formatter(
        f"%(asctime)s.%(msecs)03dZ %(levelname)s [{process}] %(message)s (%(name)s)", "%Y-%m-%dT%H:%M:%S"
    )
    formatter.converter = time.gmtime
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for chatty in ("kafka", "py4j", "httpx", "httpcore"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)


def stop_on_signals() -> threading.Event:
    """An event that SIGTERM or SIGINT sets; call it from the main thread."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop
