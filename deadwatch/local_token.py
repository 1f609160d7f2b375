"""The token of who may read the data directory: new at every start, found by the commands of this machine."""

import os
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from api.credentials import issue
from collector.loopback import is_loopback
from collector.settings_file import SettingsError

NAME = "token"
OWNER_ONLY = 0o600


def make(file: Path) -> None:
    """Write a new one, readable by its owner only.

    Raises:
        SettingsError: there is no place for it.
    """
    new = file.with_name(f".{file.name}.new")
    try:
        with suppress(FileNotFoundError):
            new.unlink()
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY), "w") as opened:
            opened.write(issue().text + "\n")
        new.replace(file)
    except OSError as error:
        raise SettingsError(f"cannot write {file}: {error.strerror}; give another --data DIR") from None


def find(file: Path, url: str) -> str:
    """The token in the file, where the service at ``url`` is on this machine: no other gets to see it."""
    if not is_loopback((urlsplit(url).hostname or "").strip("[]")):
        return ""
    try:
        return file.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""
