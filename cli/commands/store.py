"""``deadwatch store``: the store of the settings, for operators and deployments."""

from cli.api_client import DONE, RefusedError, UsageError
from cli.options import Options
from cli.service import store_url
from deadwatch.runtime.clock import clock_ms
from deadwatch.runtime.settings_file import load
from deadwatch.store.errors import DamagedError, StoreError
from deadwatch.store.maintenance import Work, commands
from streaming.settings import StreamingSettings


def run(work: Work, options: Options, name: str = "") -> int:
    """Work on the store and print the result.

    Raises:
        SettingsError: the settings cannot be used.
        UsageError: it cannot be done; the text says why.
        RefusedError: the store is damaged.
    """
    settings = load(StreamingSettings, options.config)
    try:
        print(commands.run(work, store_url(settings, options.data), name, clock_ms()))
    except DamagedError as error:
        raise RefusedError(str(error)) from error
    except StoreError as error:
        raise UsageError(str(error)) from error
    return DONE
