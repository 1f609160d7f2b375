"""The base of errors that are the answer to a request of a user."""

from collections.abc import Mapping
from typing import Any, ClassVar


class RequestError(Exception):
    """One sentence for people, and ``facts`` for programs; ``kind`` and ``title`` never change."""

    kind: ClassVar[str]
    title: ClassVar[str]
    facts: Mapping[str, Any] = {}
