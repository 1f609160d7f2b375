"""``deadwatch store status|upgrade``: the store of the settings, for operators and deployments."""

from collector.settings_file import SettingsError, load
from deadwatch.service import Options, store_url
from streaming.settings import StreamingSettings
from streaming.store import upgrade
from streaming.store.errors import StoreError


def run(work: upgrade.Work, options: Options) -> int:
    """Do it and say how it went."""
    settings = load(StreamingSettings, options.config)
    try:
        print(upgrade.run(work, store_url(settings, options.data)))
    except StoreError as error:
        raise SettingsError(str(error)) from error
    return 0
