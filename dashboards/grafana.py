"""A Grafana over its HTTP interface: each request repeated where that helps, each refusal in plain words.

* GrafanaError       the text says what to do
  * ConflictError    somebody else has changed it, or its title is taken (412)
"""

import time
from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Any, Final, Self
from urllib.parse import urlsplit

import requests
from grafana_api.grafana_api import GrafanaClientError, GrafanaException
from grafana_api.grafana_face import GrafanaFace

from deadwatch.contract.backoff import Backoff
from deadwatch.runtime.clock import MS_PER_S

ATTEMPTS: Final = 5
BACKOFF: Final = Backoff(initial_ms=200, max_ms=5_000)
TIMEOUT_S: Final = 30.0
TOO_MANY, SERVER_ERRORS = 429, 500

Answer = Mapping[str, Any]
Call = Callable[..., Any]
Credentials = str | tuple[str, str]


class GrafanaError(Exception):
    """Grafana cannot be reached or refuses; the text says what to do."""


class ConflictError(GrafanaError):
    """Something else has the address, or was written since it was read (412)."""


class Grafana:
    """One Grafana; ``credentials`` are a token, or a user and a password. ``face`` is grafana-api.

    A dry run reads and changes nothing.
    """

    def __init__(
        self,
        url: str,
        credentials: Credentials,
        *,
        dry_run: bool = False,
        rng: Random | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise GrafanaError(f"{url!r} is no address of a Grafana: it begins with http:// or https://")
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        prefix = parts.path.strip("/")
        self.dry_run = dry_run
        self._url, self._rng, self._pause = url, rng or Random(), pause
        self.face = GrafanaFace(
            credentials,
            host=host,
            port=parts.port,
            url_path_prefix=f"{prefix}/" if prefix else "",
            protocol=parts.scheme,
            timeout=TIMEOUT_S,
        )
        self.face.api.s.max_redirects = 0  # behind one a POST is a GET, and what it was to make is not made

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections to Grafana."""
        self.face.api.s.close()

    def find(self, what: str, call: Call, *arguments: object) -> Answer:
        """The answer of a call of ``face``; empty where there is no such thing."""
        try:
            found: Answer = self.ask(what, call, *arguments)
        except _MissingError:
            return {}
        return found

    def ask(self, what: str, call: Call, *arguments: object, **more: object) -> Any:  # noqa: ANN401 -- JSON
        """The answer of a call of ``face``; ``what`` says in errors what was tried.

        After a transient failure it is sent again, with growing pauses.
        """
        request = partial(call, *arguments, **more)
        for failures in range(1, ATTEMPTS):
            try:
                return self._once(request, what)
            except _TransientError:
                self._pause(BACKOFF.delay_ms(failures, self._rng) / MS_PER_S)
        return self._once(request, what)

    def change(self, what: str, call: Call, *arguments: object, **more: object) -> Any:  # noqa: ANN401 -- JSON
        """As ``ask``, for what changes something; a dry run leaves it out."""
        return None if self.dry_run else self.ask(what, call, *arguments, **more)

    def _once(self, call: Call, what: str) -> Any:  # noqa: ANN401 -- JSON
        try:
            return call()
        except GrafanaException as error:
            raise self._refused(error, what) from None
        except requests.exceptions.JSONDecodeError:
            raise GrafanaError(f"{self._url} is no Grafana: its answer is no JSON") from None
        except requests.exceptions.TooManyRedirects:
            raise GrafanaError(f"{self._url} leads to another address: give that one, as https://…") from None
        except requests.exceptions.RequestException as error:
            reason = type(error).__name__
            raise _TransientError(
                f"{self._url} does not answer ({reason}); is it the address of Grafana, and does it run?"
            ) from None

    def _refused(self, error: GrafanaException, what: str) -> GrafanaError:
        message = error.response.get("message", "") if isinstance(error.response, dict) else ""
        match error.status_code:
            case 401:
                return GrafanaError(
                    f"{self._url} does not know the credentials (401): make a token of a service account"
                )
            case 403:
                return GrafanaError(
                    f"the credentials may not {what} at {self._url} (403): folders and dashboards take role "
                    "Editor, data sources and service accounts Admin"
                )
            case 404:
                return _MissingError(f"{self._url}: not found (404): {message}")
            case 412:
                return ConflictError(message or "precondition failed")
            case status if status == TOO_MANY or status >= SERVER_ERRORS:
                return _TransientError(f"{self._url} cannot {what} now ({status}): {message}")
            case status:
                kind = "refuses" if isinstance(error, GrafanaClientError) else "fails"
                return GrafanaError(f"{self._url} {kind} to {what} ({status}): {message}")


class _MissingError(GrafanaError):
    """Grafana answers 404 for it."""


class _TransientError(GrafanaError):
    """A failure that may be over in a moment: no answer, 429, or 5xx."""
