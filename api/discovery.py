"""What an identity provider tells of itself: its discovery document (OpenID Connect Discovery 1.0).

Nothing is followed elsewhere, nothing is read without end, and addresses on which somebody could answer in
its place are refused.
"""

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

import httpx2

from api.errors import IdentityProviderError
from api.oidc_settings import OidcSettings, safe

PATH: Final = "/.well-known/openid-configuration"
FRESH_MS: Final = 300_000
ASKED_AGAIN_MS: Final = 10_000
MAX_BYTES: Final = 1_048_576

UNREADABLE: Final = (
    httpx2.HTTPError,
    httpx2.InvalidURL,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
)
"""What an answer raises that is away or is not what it should be."""


class Discovery:
    """The document, kept for five minutes; used by many threads, one of which at a time asks."""

    def __init__(self, settings: OidcSettings, now_ms: Callable[[], int]) -> None:
        self._settings, self._now_ms = settings, now_ms
        self._told: Mapping[str, Any] = {}
        self._got_ms, self._asked_ms = -FRESH_MS, -ASKED_AGAIN_MS
        self._away = ""
        self._lock = threading.Lock()

    def address(self, name: str) -> str:
        """The address of an endpoint, as ``token_endpoint``. Raises ``IdentityProviderError``."""
        found = str(self.document().get(name))
        if not safe(found):
            raise IdentityProviderError(f"its discovery document names no https:// address as {name}")
        return found

    def document(self) -> Mapping[str, Any]:
        """All of it. Raises ``IdentityProviderError``."""
        with self._lock:
            now_ms = self._now_ms()
            stale = now_ms - self._got_ms >= FRESH_MS
            if stale and now_ms - self._asked_ms >= ASKED_AGAIN_MS:
                self._asked_ms = now_ms
                self._ask(now_ms)
            if now_ms - self._got_ms >= FRESH_MS:
                raise IdentityProviderError(f"the identity provider does not answer: {self._away}")
            return self._told

    def _ask(self, now_ms: int) -> None:
        try:
            self._told, self._got_ms = discovered(self._settings), now_ms
        except UNREADABLE as error:
            self._away = type(error).__name__


def discovered(settings: OidcSettings) -> dict[str, Any]:
    """What the provider tells now. Raises one of ``UNREADABLE``."""
    answer = asked("GET", settings.issuer.rstrip("/") + PATH, settings.timeout_ms)
    told = dict(json.loads(answer.raise_for_status().content))
    if told.get("issuer") != settings.issuer:
        raise ValueError("the discovery document is of another issuer")
    return told


def asked(
    method: str, url: str, timeout_ms: int, *, headers: Mapping[str, str] | None = None, body: str = ""
) -> httpx2.Response:
    """The answer, read with a bound. Raises ``httpx2.HTTPError`` and ``ValueError``."""
    timeout_s = timeout_ms / 1_000
    with httpx2.stream(
        method, url, headers=headers, content=body or None, timeout=timeout_s, trust_env=False
    ) as answer:
        read = b""
        for part in answer.iter_bytes():
            read += part
            if len(read) > MAX_BYTES:
                raise ValueError("the answer is too long")
    return httpx2.Response(answer.status_code, content=read, request=answer.request)
