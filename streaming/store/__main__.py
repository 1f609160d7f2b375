"""``python -m streaming.store status|upgrade``: streaming's store; ends with exit code 0 or 2.

Safe to run again and from two places at once: the second finds nothing to do.
"""

import argparse
import sys
from pathlib import Path

from collector.process import REFUSED, configure_logging
from collector.settings_file import SettingsError, load
from streaming.settings import StreamingSettings
from streaming.store import upgrade
from streaming.store.errors import StoreError


def main() -> None:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(prog="python -m streaming.store", description="The store's version.")
    parser.add_argument("work", type=upgrade.Work, choices=list(upgrade.Work), help="what to do")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as YAML (deadwatch.yaml)")
    arguments = parser.parse_args()
    configure_logging("store")
    try:
        print(upgrade.run(arguments.work, load(StreamingSettings, arguments.config).store_url))
    except (SettingsError, StoreError) as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(REFUSED)


if __name__ == "__main__":
    main()
