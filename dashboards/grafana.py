"""A Grafana over its HTTP interface: what publishing needs of it, repeated where that helps.

* GrafanaError       the text says what to do
  * ConflictError    somebody else has changed it, or its title is taken (412)
"""

import time
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final, Self
from urllib.parse import quote, urlsplit

import requests
from grafana_api.grafana_api import GrafanaClientError, GrafanaException
from grafana_api.grafana_face import GrafanaFace

from collector.contract.backoff import Backoff

ATTEMPTS: Final = 5
BACKOFF: Final = Backoff(initial_ms=200, max_ms=5_000)
TIMEOUT_S: Final = 30.0
MS_PER_S: Final = 1_000
UNAUTHORIZED, FORBIDDEN, NOT_FOUND, CONFLICT, TOO_MANY = 401, 403, 404, 412, 429
SERVER_ERRORS: Final = 500

Answer = Mapping[str, Any]
Credentials = str | tuple[str, str]


class GrafanaError(Exception):
    """Grafana cannot be reached or refuses; the text says what to do."""


class ConflictError(GrafanaError):
    """Something else is in the place of what was to be written."""


class Grafana:
    """One Grafana; ``credentials`` are a token, or a user and a password."""

    def __init__(
        self,
        url: str,
        credentials: Credentials,
        *,
        rng: Random | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise GrafanaError(f"{url!r} is no address of a Grafana: it begins with http:// or https://")
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        prefix = parts.path.strip("/")
        self._url, self._rng, self._pause = url, rng or Random(), pause
        self._face = GrafanaFace(
            credentials,
            host=host,
            port=parts.port,
            url_path_prefix=f"{prefix}/" if prefix else "",
            protocol=parts.scheme,
            timeout=TIMEOUT_S,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self._face.api.s.close()

    def folder(self, uid: str) -> Answer | None:
        """A folder, if it is there."""
        return self._find(lambda: self._face.folder.get_folder(uid), "read folders")

    def create_folder(self, uid: str, title: str) -> None:
        """Make a folder."""
        self._call(lambda: self._face.folder.create_folder(title, uid), "create folders")

    def rename_folder(self, uid: str, title: str, version: int) -> None:
        """Give a folder another title."""
        self._call(lambda: self._face.folder.update_folder(uid, title, version), "change folders")

    def dashboard(self, uid: str) -> Answer | None:
        """``{"dashboard": …, "meta": …}``, if it is there."""
        return self._find(lambda: self._face.dashboard.get_dashboard(uid), "read dashboards")

    def save_dashboard(self, payload: Answer) -> None:
        """Create or replace a dashboard. Raises ``ConflictError`` when something else is there."""
        self._call(lambda: self._face.dashboard.update_dashboard(payload), "write dashboards")

    def titled(self, title: str) -> list[Answer]:
        """Dashboards of exactly this title."""
        query = quote(title)
        found = self._call(
            lambda: self._face.search.search_dashboards(query=query, type_="dash-db"), "search"
        )
        dashboards: list[Answer] = found
        return [each for each in dashboards if each["title"] == title]

    def datasource(self, uid: str) -> Answer | None:
        """A data source, if it is there."""
        return self._find(lambda: self._face.api.GET(f"/datasources/uid/{uid}"), "read data sources")

    def create_datasource(self, payload: Answer) -> None:
        """Make a data source."""
        self._call(lambda: self._face.datasource.create_datasource(payload), "create data sources")

    def update_datasource(self, uid: str, payload: Answer) -> None:
        """Replace a data source."""
        self._call(lambda: self._face.api.PUT(f"/datasources/uid/{uid}", json=payload), "change data sources")

    def service_account(self, name: str) -> Answer | None:
        """The service account of exactly this name, with ``tokens``, how many it has."""
        path = f"/serviceaccounts/search?query={quote(name)}"
        found = self._call(lambda: self._face.api.GET(path), "read service accounts")
        accounts: list[Answer] = found["serviceAccounts"]
        return next((each for each in accounts if each["name"] == name), None)

    def create_service_account(self, name: str, role: str) -> Answer:
        """Make a service account."""
        body = {"name": name, "role": role}
        made: Answer = self._call(
            lambda: self._face.api.POST("/serviceaccounts", json=body), "create service accounts"
        )
        return made

    def create_token(self, account: int, name: str) -> str:
        """A new token; Grafana shows it once."""
        path = f"/serviceaccounts/{account}/tokens"
        made = self._call(lambda: self._face.api.POST(path, json={"name": name}), "create tokens")
        return str(made["key"])

    def _find(self, call: Callable[[], Any], what: str) -> Answer | None:
        try:
            found: Answer = self._call(call, what)
        except _MissingError:
            return None
        return found

    def _call(self, call: Callable[[], Any], what: str) -> Any:  # noqa: ANN401 -- JSON
        """Ask; what may be over in a moment is asked again, with growing pauses."""
        for failures in range(1, ATTEMPTS):
            try:
                return self._once(call, what)
            except _TransientError:
                self._pause(BACKOFF.delay_ms(failures, self._rng) / MS_PER_S)
        return self._once(call, what)

    def _once(self, call: Callable[[], Any], what: str) -> Any:  # noqa: ANN401 -- JSON
        try:
            return call()
        except GrafanaException as error:
            raise self._refused(error, what) from None
        except requests.exceptions.JSONDecodeError:
            raise GrafanaError(f"{self._url} is no Grafana: its answer is no JSON") from None
        except requests.exceptions.RequestException as error:
            reason = type(error).__name__
            raise _TransientError(
                f"{self._url} does not answer ({reason}); is it the address of Grafana, and does it run?"
            ) from None

    def _refused(self, error: GrafanaException, what: str) -> GrafanaError:
        told = error.response.get("message", "") if isinstance(error.response, dict) else ""
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
                return _MissingError(f"{self._url}: not found (404): {told}")
            case 412:
                return ConflictError(told or "precondition failed")
            case status if status == TOO_MANY or status >= SERVER_ERRORS:
                return _TransientError(f"{self._url} cannot {what} now ({status}): {told}")
            case status:
                kind = "refuses" if isinstance(error, GrafanaClientError) else "fails"
                return GrafanaError(f"{self._url} {kind} to {what} ({status}): {told}")


class _MissingError(GrafanaError):
    """It is not there."""


class _TransientError(GrafanaError):
    """It may be over in a moment."""
