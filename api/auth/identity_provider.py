"""The OpenID Connect provider: its discovery document and its public keys.

When the provider is asked (OpenID Connect Discovery 1.0), no redirect is followed, no answer is read without
a bound, and addresses on which somebody else could answer in its place are refused.

Keys are fetched when they are needed and cached, and used for a day while the provider is away. An unknown
key is asked for at once, as after a rotation, but not more often than every ten seconds: anybody can make up
a key id.
"""

import json
import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from threading import BoundedSemaphore, Lock
from typing import Any, Final, Generic, TypeVar, get_args
from urllib.parse import urlencode

import httpx2
from joserfc.errors import JoseError
from joserfc.jwa import EdDSAAlgorithm
from joserfc.jwk import Key, import_key
from joserfc.jws import JWSRegistry
from joserfc.registry import HeaderParameter

from api.auth.settings import Algorithm, OidcSettings, is_tamper_proof
from api.errors import IdentityProviderError
from deadwatch.runtime.http_client import client

T = TypeVar("T")
PATH: Final = "/.well-known/openid-configuration"
FRESH_MS: Final = 300_000
"""A document, and keys, are used for so long before the provider is asked again."""
USABLE_MS: Final = 24 * 3_600_000
"""While the provider is away, the keys that were fetched last are used for so long."""
ASKED_AGAIN_MS: Final = 10_000
"""The least time between two questions to the provider."""
MAX_WAITING: Final = 8
"""At one time, for keys, for the document and for a code each: anybody may ask, and it holds a thread."""
MAX_BYTES: Final = 1_048_576
UNREADABLE: Final = (
    *(httpx2.HTTPError, httpx2.InvalidURL, ValueError, KeyError, TypeError, AttributeError),
    *(OverflowError, RecursionError),
)
"""Errors of a provider that does not answer, or answers something else than it should."""
NO_COOKIES: Final = DefaultCookiePolicy(allowed_domains=())
"""Nothing that the provider says at one sign-in is sent with another."""
Jwk = dict[str, Any]
"""A key as RFC 7517 has it."""
log = logging.getLogger(__name__)


@contextmanager
def _place(places: BoundedSemaphore) -> Iterator[None]:
    """A place among those who wait for the provider. Raises ``IdentityProviderError``: there is none left."""
    if not places.acquire(blocking=False):
        raise IdentityProviderError("too many wait for the identity provider: try again")
    try:
        yield
    finally:
        places.release()


class _Cached(Generic[T]):
    """What the provider was asked for last; used by many threads, one of which at a time asks.

    It is asked again when the answer is five minutes old, or not enough for the caller, and not more often
    than every ten seconds. ``complaint`` says what is wrong, in the log and to who has no usable answer.
    """

    def __init__(
        self, ask: Callable[[], T], now_ms: Callable[[], int], usable_ms: int, complaint: str
    ) -> None:
        self._ask, self._now_ms, self._usable_ms, self._complaint = ask, now_ms, usable_ms, complaint
        self._answer: T | None = None
        self._fetched_ms, self._asked_ms = 0, -ASKED_AGAIN_MS
        self._away = ""
        self._asking, self._places = Lock(), BoundedSemaphore(MAX_WAITING)

    def get(self, is_enough: Callable[[T], bool] = lambda _: True) -> T:
        """The answer; who has enough of the last one does not wait for who asks meanwhile.

        Raises ``IdentityProviderError``.
        """
        known, age_ms = self._answer, self._now_ms() - self._fetched_ms
        if known is None or age_ms >= self._usable_ms or not is_enough(known):
            with _place(self._places), self._asking:
                return self._newest(is_enough)
        if not self._asking.acquire(blocking=False):
            return known
        try:
            return self._newest(is_enough)
        finally:
            self._asking.release()

    def _newest(self, is_enough: Callable[[T], bool]) -> T:
        now_ms, answer = self._now_ms(), self._answer
        fresh = answer is not None and now_ms - self._fetched_ms < FRESH_MS and is_enough(answer)
        if not fresh and now_ms - self._asked_ms >= ASKED_AGAIN_MS:
            self._asked_ms = now_ms
            try:
                self._answer, self._fetched_ms = self._ask(), now_ms
                if self._away:
                    log.info("the identity provider answers again")
                self._away = ""
            except UNREADABLE as error:
                if not self._away:
                    log.warning("the identity provider %s: %s", self._complaint, type(error).__name__)
                self._away = type(error).__name__
        if self._answer is None or now_ms - self._fetched_ms >= self._usable_ms:
            raise IdentityProviderError(f"the identity provider {self._complaint}: {self._away}")
        return self._answer


class IdentityProvider:
    """The provider of the settings, asked over connections of its own; used by many threads.

    ``now_ms`` is a monotonic clock.
    """

    def __init__(self, settings: OidcSettings, now_ms: Callable[[], int]) -> None:
        self._settings = settings
        self._client = client(settings.timeout_ms, MAX_BYTES)
        self._client.cookies = CookieJar(NO_COOKIES)
        self._places = BoundedSemaphore(MAX_WAITING)
        self._document = _Cached(self.discover, now_ms, FRESH_MS, "does not answer")
        self._keys = _Cached(self._ask_keys, now_ms, USABLE_MS, "does not tell its keys")

    def address(self, name: str) -> str:
        """The address of an endpoint, as ``token_endpoint``. Raises ``IdentityProviderError``."""
        try:
            return _address(self.document(), name)
        except ValueError as error:
            raise IdentityProviderError(str(error)) from None

    def document(self) -> Mapping[str, Any]:
        """The discovery document, cached for five minutes. Raises ``IdentityProviderError``."""
        return self._document.get()

    def discover(self) -> dict[str, Any]:
        """Fetch the discovery document now. Raises one of ``UNREADABLE``."""
        document = self._fetch(self._settings.issuer.rstrip("/") + PATH)
        if document.get("issuer") != self._settings.issuer:
            raise ValueError("the discovery document is of another issuer")
        return document

    def key(self, key: str | None, algorithm: str) -> Key | None:
        """The key of this id, or the only key where no id is given; None: there is none for this algorithm.

        Raises ``IdentityProviderError``: the provider does not answer, and no keys of it are cached.
        """
        found = _find(self._keys.get(lambda keys: _find(keys, key) is not None), key)
        return None if found is None else _usable(found, algorithm)

    def post(
        self,
        url: str,
        data: Mapping[str, str],
        headers: Mapping[str, str],
        auth: Any,  # noqa: ANN401 -- Authlib's
    ) -> httpx2.Response:
        """Send a form, as the session of an Authlib client.

        Raises ``httpx2.HTTPError``; ``IdentityProviderError``: too many wait for an answer.
        """
        target, prepared, body = auth.prepare("POST", url, dict(headers), urlencode(data))
        with _place(self._places):
            return self._client.post(target, headers=prepared, content=body)

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def _fetch(self, url: str) -> dict[str, Any]:
        return dict(json.loads(self._client.get(url).raise_for_status().content))

    def _ask_keys(self) -> Mapping[object, Jwk]:
        """The keys by their ids. Raises one of ``UNREADABLE``."""
        found = self._fetch(self._settings.jwks_url or _address(self.discover(), "jwks_uri"))
        return {key.get("kid"): key for key in found["keys"] if key.get("use") in {None, "sig"}}


def _address(document: Mapping[str, Any], name: str) -> str:
    """An address of a discovery document. Raises ``ValueError``: it has none that can be trusted."""
    found = str(document.get(name))
    if not is_tamper_proof(found):
        raise ValueError(f"its discovery document names no https:// address as {name}")
    return found


def _find(keys: Mapping[object, Jwk], key: str | None) -> Jwk | None:
    return next(iter(keys.values())) if key is None and len(keys) == 1 else keys.get(key)


class _EdDSA(EdDSAAlgorithm):
    security_warning = ""  # RFC 9864 deprecates the name, which leaves the curve to the key


_ALGORITHMS: Final = {name: JWSRegistry.algorithms[name] for name in get_args(Algorithm)} | {
    "EdDSA": _EdDSA()
}


class PublicKeySignatures(JWSRegistry):
    """Algorithms with a public key; ``none`` and those with a shared secret are not known here.

    Unknown parameters of a header are ignored, unless it says that they are critical (RFC 7515, 4.1.11).
    """

    algorithms = _ALGORITHMS
    max_header_length = max_signature_length = 16_384  # certificates may be in it
    max_payload_length = MAX_BYTES

    def __init__(self, allowed: Collection[str]) -> None:
        critical = {"crit": HeaderParameter("extensions", "none")}
        super().__init__(critical, allowed, strict_check_header=False)


def _usable(key: Jwk, algorithm: str) -> Key | None:
    """The key if it is a public one and meant for this algorithm."""
    if key.get("kty") == "oct" or key.get("alg", algorithm) != algorithm:
        return None
    try:
        found = import_key(key)
        _ALGORITHMS[algorithm].check_key(found)
    except (JoseError, ValueError, TypeError):
        return None
    return found
