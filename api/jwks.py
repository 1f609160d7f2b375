"""The public keys of an identity provider: asked for when needed, kept for a while, also when it is away.

A key that is not known is asked for at once, as after a rotation, but not more often than every ten seconds:
anybody can make up the id of a key.
"""

import json
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from jwt import PyJWK
from jwt.exceptions import PyJWTError

from api.discovery import UNREADABLE, asked, discovered
from api.errors import IdentityProviderError
from api.oidc_settings import OidcSettings, safe

FRESH_MS: Final = 300_000
USABLE_MS: Final = 24 * 3_600_000
"""While the provider is away, keys that were seen last are used for so long."""
ASKED_AGAIN_MS: Final = 10_000

Jwk = dict[str, Any]
"""A key as RFC 7517 has it."""

log = logging.getLogger(__name__)


class Keys:
    """Used by many threads; one of them at a time asks. ``now_ms`` never jumps."""

    def __init__(self, settings: OidcSettings, now_ms: Callable[[], int]) -> None:
        self._settings, self._now_ms = settings, now_ms
        self._keys: Mapping[object, Jwk] = {}
        self._got_ms, self._asked_ms = -USABLE_MS, -ASKED_AGAIN_MS
        self._away = ""
        self._lock = threading.Lock()

    def get(self, key: str | None, algorithm: str) -> PyJWK | None:
        """The key of this id; without id the only one there is. None: there is none for this algorithm.

        Raises:
            IdentityProviderError: the provider is away, and no keys of it are known.
        """
        with self._lock:
            now_ms = self._now_ms()
            known = self._find(key) if now_ms - self._got_ms < FRESH_MS else None
            if known is None and now_ms - self._asked_ms >= ASKED_AGAIN_MS:
                self._asked_ms = now_ms
                self._ask(now_ms)
            if now_ms - self._got_ms >= USABLE_MS:
                raise IdentityProviderError(f"the identity provider does not tell its keys: {self._away}")
            found = self._find(key)
        return None if found is None else _usable(found, algorithm)

    def _find(self, key: str | None) -> Jwk | None:
        if key is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(key)

    def _ask(self, now_ms: int) -> None:
        try:
            url = self._settings.jwks_url or self._discovered()
            answer = asked("GET", url, self._settings.timeout_ms).raise_for_status()
            told = json.loads(answer.content)["keys"]
            self._keys = {one.get("kid"): one for one in told if one.get("use") in {None, "sig"}}
        except UNREADABLE as error:
            self._say(type(error).__name__)
            return
        self._got_ms = now_ms
        self._say("")

    def _discovered(self) -> str:
        """Where the discovery document says that the keys are. Raises ``ValueError``."""
        found = str(discovered(self._settings).get("jwks_uri"))
        if not safe(found):
            raise ValueError("the discovery document names no https:// address")
        return found

    def _say(self, away: str) -> None:
        """One line at each change."""
        if away and not self._away:
            log.warning("the keys of the identity provider cannot be had (%s); those known are used on", away)
        if self._away and not away:
            log.info("the keys of the identity provider can be had again")
        self._away = away


def _usable(key: Jwk, algorithm: str) -> PyJWK | None:
    """The key, if it is a public one for this algorithm."""
    if key.get("kty") == "oct" or key.get("alg", algorithm) != algorithm:
        return None
    try:
        return PyJWK(key, algorithm)
    except (PyJWTError, ValueError, TypeError):
        return None
