"""What the shell offers behind a command: ids that the service knows, or nothing where it does not answer."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from deadwatch import local_token
from deadwatch.api_client import RefusedError, connect
from deadwatch.service import DATA

TIMEOUT_S: Final = 1.0
LIMIT: Final = 100


def orders(incomplete: str) -> list[tuple[str, str]]:
    """Redrives, with what each is."""
    found = _items("/redrives")
    return _beginning(incomplete, ((one["id"], f"{one['status']} {one['dlq_topic']}") for one in found))


def topics(incomplete: str) -> list[tuple[str, str]]:
    """Dead letter topics, with how many records each has had."""
    found = _items("/dead-letters/topics")
    return _beginning(incomplete, ((one["dlq_topic"], f"{one['records']} records") for one in found))


def groups(incomplete: str) -> list[tuple[str, str]]:
    """Causes, with what each is."""
    found = _items("/dead-letters/groups")
    return _beginning(incomplete, ((one["fingerprint"], one["error_class"]) for one in found))


def _items(path: str) -> list[dict[str, Any]]:
    url = os.environ.get("DEADWATCH_URL", "http://127.0.0.1:8000")
    file = Path(os.environ.get("DEADWATCH_TOKEN_FILE", DATA / local_token.NAME))
    token = os.environ.get("DEADWATCH_TOKEN") or local_token.find(file, url)
    try:
        with connect(url, token, TIMEOUT_S) as api:
            items: list[dict[str, Any]] = api.get(path, limit=LIMIT)["items"]
    except RefusedError:
        return []
    return items


def _beginning(incomplete: str, offered: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, told) for name, told in offered if name.startswith(incomplete)]
