"""``python -m collector``: read what clients, workers and brokers report, and publish it as events."""

import logging
import sys
from random import Random

from collector.positions import PositionsError
from collector.service import run
from collector.settings import CollectorSettings
from deadwatch.runtime.clock import clock_ms, wait_ms
from deadwatch.runtime.health import Health
from deadwatch.runtime.process import REFUSED, stop_on_signals
from deadwatch.runtime.settings_file import begin


def main() -> int:
    """The exit code: 0 after a signal, 1 when it cannot go on, 2 when it cannot begin."""
    settings = begin(
        CollectorSettings, "Publishes what clients, Connect workers and brokers report as events."
    )
    logging.getLogger("collector").setLevel(settings.log_level)
    try:
        with Health(settings.health, settings.section) as health:
            failure = run(
                settings,
                stop_on_signals(),
                health=health,
                clock=clock_ms,
                pause=wait_ms,
                rng=Random(),
            )
    except PositionsError as error:
        sys.stderr.write(f"collector: {error}\n")
        return REFUSED
    if failure:
        sys.stderr.write(f"collector: {failure}\n")
    return 1 if failure else 0


if __name__ == "__main__":
    sys.exit(main())
