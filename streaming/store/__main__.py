"""``python -m streaming.store status|upgrade|check|backup|restore``: streaming's store; exit code 0, 1 or 2.

An upgrade is safe to run again and from two places at once: the second finds nothing to do.
"""

import argparse
import sys
import time
from pathlib import Path

from collector.process import REFUSED, configure_logging
from collector.settings_file import SettingsError, load
from streaming.settings import StreamingSettings
from streaming.store import upgrade
from streaming.store.errors import DamagedError, StoreError

DAMAGED = 1


def main() -> None:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(
        prog="python -m streaming.store",
        description="The store: its version, whether it is whole, copies of it.",
    )
    parser.add_argument("work", type=upgrade.Work, choices=list(upgrade.Work), help="what to do")
    parser.add_argument("file", nargs="?", default="", help="of a backup; restore also takes `newest`")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as YAML (deadwatch.yaml)")
    arguments = parser.parse_args()
    configure_logging("store")
    try:
        settings = load(StreamingSettings, arguments.config)
        now_ms = time.time_ns() // 1_000_000
        print(upgrade.run(arguments.work, settings.store_url, arguments.file, now_ms))
    except DamagedError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(DAMAGED)
    except (SettingsError, StoreError) as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(REFUSED)


if __name__ == "__main__":
    main()
