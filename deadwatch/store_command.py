"""``deadwatch store``: the store of the settings, for operators and deployments."""

import sys
import time

from collector.settings_file import SettingsError, load
from deadwatch.service import Options, store_url
from streaming.settings import StreamingSettings
from streaming.store import upgrade
from streaming.store.errors import DamagedError, StoreError

DAMAGED = 1


def run(work: upgrade.Work, options: Options, name: str = "") -> int:
    """Do it and say how it went; the exit code, 1 when the store is damaged.

    Raises:
        SettingsError: it cannot be done; the text says why.
    """
    settings = load(StreamingSettings, options.config)
    now_ms = time.time_ns() // 1_000_000
    try:
        print(upgrade.run(work, store_url(settings, options.data), name, now_ms))
    except DamagedError as error:
        sys.stderr.write(f"deadwatch: {error}\n")
        return DAMAGED
    except StoreError as error:
        raise SettingsError(str(error)) from error
    return 0
