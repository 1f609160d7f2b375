"""The service's api from the command line; what it refuses becomes one line."""

import getpass
from collections.abc import Mapping
from typing import Any, Final

import httpx2

PREFIX: Final = "/api/v1"
TIMEOUT_S: Final = 60
"""Longer than a redrive's selection is ever read through."""

Body = Mapping[str, Any]


class RefusedError(Exception):
    """The text is the line that people see."""


class SaidError(RefusedError):
    """The command line itself is wrong."""


class Api:
    """Questions and wishes; the answers are JSON as ``docs`` of the api shows it."""

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client

    def get(self, path: str, **parameters: str | int) -> Any:  # noqa: ANN401 -- JSON
        """What a route tells. Raises ``RefusedError``."""
        return self._answer("GET", path, params=parameters)

    def post(self, path: str, body: Body | None = None, key: str = "") -> Any:  # noqa: ANN401 -- JSON
        """Change something; a wish that is repeated with the same key is granted once."""
        headers = {"X-Requested-By": _user(), **({"Idempotency-Key": key} if key else {})}
        return self._answer("POST", path, json=body, headers=headers)

    def put(self, path: str, body: Body, etag: str) -> Any:  # noqa: ANN401 -- JSON
        """Put it in the place of what has this ETag."""
        headers = {"X-Requested-By": _user(), "If-Match": etag}
        return self._answer("PUT", path, json=body, headers=headers)

    def delete(self, path: str) -> None:
        """Let it be no more."""
        self._answer("DELETE", path, headers={"X-Requested-By": _user()})

    def _answer(self, method: str, path: str, **request: Any) -> Any:  # noqa: ANN401 -- JSON
        try:
            answer = self._client.request(method, PREFIX + path, **request)
            told = answer.json() if answer.content else {}
        except httpx2.TransportError as error:
            raise RefusedError(
                f"no answer from {self._client.base_url} ({error}); is `deadwatch up` "
                "running? say where by --url"
            ) from None
        except ValueError:
            raise RefusedError(f"{self._client.base_url} is not Deadwatch: its answer is no JSON") from None
        if not answer.is_success:
            raise RefusedError(str(told.get("detail", answer.reason_phrase)))
        return told


def connect(url: str) -> Api:
    """The api at ``url``; nothing is sent yet."""
    return Api(httpx2.Client(base_url=url, timeout=TIMEOUT_S, trust_env=False))


def _user() -> str:
    """Who types, as a header can carry it; it is not verified by anybody."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
    return name.encode("ascii", "replace").decode()[:100]
