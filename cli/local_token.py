"""The local token, for users who may read the data directory: new at every start, used by commands here."""

import os
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from api.auth.credentials import issue
from deadwatch.runtime.hosts import is_loopback
from deadwatch.runtime.process import SettingsError

NAME = "token"
OWNER_ONLY = 0o600


def make(file: Path) -> None:
    """Write a new token into ``file``, readable by its owner only.

    Raises:
        SettingsError: the file cannot be written.
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
    """The token in the file; "" where there is none, or ``url`` is not this machine: no other must see it."""
    try:
        host = urlsplit(url).hostname or ""
        return file.read_text().strip() if is_loopback(host.strip("[]")) else ""
    except (OSError, ValueError):
        return ""
