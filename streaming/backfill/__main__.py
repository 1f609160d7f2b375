"""``python -m streaming.backfill --from TIME``: streaming's store counted anew; exit code 0, 1 or 2."""

import argparse
import logging
import sys
from pathlib import Path

from collector.process import REFUSED, configure_logging
from collector.settings_file import SettingsError, load
from streaming.backfill import command, span
from streaming.backfill.rebuild import BackfillError
from streaming.settings import StreamingSettings

logger = logging.getLogger("streaming.backfill")


def main() -> None:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(
        prog="python -m streaming.backfill", description="Counts the store anew from Kafka."
    )
    parser.add_argument("--from", dest="since", required=True, metavar="TIME", help="RFC 3339, or beginning")
    parser.add_argument("--yes", action="store_true", help="forget what Kafka has no more")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as YAML (deadwatch.yaml)")
    arguments = parser.parse_args()
    configure_logging("backfill")
    try:
        settings = load(StreamingSettings, arguments.config)
        since_ms = span.since_ms(arguments.since)
        sys.exit(command.run(settings, since_ms, ask=lambda text: _asked(text, arguments.yes), told=_told))
    except (SettingsError, BackfillError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(REFUSED)


def _asked(text: str, yes: bool) -> bool:
    logger.warning("%s %s", text, "--yes" if yes else "Say --yes.")
    return yes


def _told(done: int, to_do: int) -> None:
    logger.info("%d of %d offsets", done, to_do)


if __name__ == "__main__":
    main()
