"""``deadwatch store status|upgrade``: the store of the settings, for operators and deployments."""

from collector.settings_file import SettingsError, load
from deadwatch.service import Options
from streaming.settings import StreamingSettings
from streaming.store import upgrade
from streaming.store.errors import StoreError


def run(work: upgrade.Work, options: Options) -> int:
    """Do it and say how it went."""
    settings = load(StreamingSettings, options.config)
    said = "store_url" in settings.model_fields_set
    url = settings.store_url if said else f"sqlite:///{(options.data / 'deadwatch.db').absolute()}"
    try:
        print(upgrade.run(work, url))
    except StoreError as error:
        raise SettingsError(str(error)) from error
    return 0
