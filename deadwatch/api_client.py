"""The service's api from the command line; what it refuses becomes one line and an exit code."""

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final, Self

import httpx2

from collector.printed import one_line
from collector.process import REFUSED

PREFIX: Final = "/api/v1"
MAX_PAGE: Final = 500
TIMEOUT_S: Final = 60
"""Longer than a redrive's selection is ever read through."""

DONE, UNDONE, NOT_ALLOWED, NO_ANSWER, INTERRUPTED = 0, 1, 3, 4, 130
"""Exit codes beside ``REFUSED``."""

Body = Mapping[str, Any]
Parameter = str | int


class RefusedError(Exception):
    """The text is the line that people see."""

    code = UNDONE


class SaidError(RefusedError):
    """The command line itself is wrong."""

    code = REFUSED


class NotAllowedError(RefusedError):
    """The token is missing, not valid, or its role is not enough."""

    code = NOT_ALLOWED


class NoAnswerError(RefusedError):
    """Nobody answers, or the service cannot answer now."""

    code = NO_ANSWER


HINT: Final = "; here: --token-file, DEADWATCH_TOKEN_FILE or DEADWATCH_TOKEN"
ERRORS: Final[Mapping[int, type[RefusedError]]] = {
    HTTPStatus.UNAUTHORIZED: NotAllowedError,
    HTTPStatus.FORBIDDEN: NotAllowedError,
    HTTPStatus.TOO_MANY_REQUESTS: NotAllowedError,
    HTTPStatus.SERVICE_UNAVAILABLE: NoAnswerError,
}


class Api:
    """Questions and wishes; the answers are JSON as ``docs`` of the api shows it."""

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def get(self, path: str, **parameters: Parameter) -> Any:  # noqa: ANN401 -- JSON
        """What a route tells. Raises ``RefusedError``."""
        return self._answer("GET", path, params=parameters)

    def pages(self, path: str, limit: int, **parameters: Parameter) -> dict[str, Any]:
        """The first ``limit`` rows of a list, page by page, as one. Raises ``RefusedError``."""
        items: list[Any] = []
        after: dict[str, str] = {}
        while True:
            told = self.get(path, limit=min(MAX_PAGE, limit - len(items)), **parameters, **after)
            items += told["items"]
            if told["next"] is None or len(items) >= limit:
                return {"items": items, "next": told["next"]}
            after = {"after": told["next"]}

    def lines(self, path: str, **parameters: Parameter) -> Iterator[str]:
        """The lines of an answer as they come. Raises ``RefusedError``."""
        try:
            with self._client.stream("GET", PREFIX + path, params=parameters) as answer:
                if not answer.is_success:
                    answer.read()
                    raise self._refused(answer)
                yield from answer.iter_lines()
        except httpx2.TransportError as error:
            raise self._nobody(error) from None

    def post(self, path: str, body: Body | None = None, key: str = "") -> Any:  # noqa: ANN401 -- JSON
        """Change something; a wish that is repeated with the same key is granted once."""
        return self._answer("POST", path, json=body, headers={"Idempotency-Key": key} if key else {})

    def put(self, path: str, body: Body, etag: str) -> Any:  # noqa: ANN401 -- JSON
        """Put it in the place of what has this ETag."""
        return self._answer("PUT", path, json=body, headers={"If-Match": etag})

    def delete(self, path: str) -> None:
        """Let it be no more."""
        self._answer("DELETE", path)

    def _answer(self, method: str, path: str, **request: Any) -> Any:  # noqa: ANN401 -- JSON
        try:
            answer = self._client.request(method, PREFIX + path, **request)
        except httpx2.TransportError as error:
            raise self._nobody(error) from None
        if not answer.is_success:
            raise self._refused(answer)
        return self._json(answer) if answer.content else {}

    def _refused(self, answer: httpx2.Response) -> RefusedError:
        told = self._json(answer) if answer.content else {}
        detail = told.get("detail") if isinstance(told, dict) else None
        error = ERRORS.get(answer.status_code, RefusedError)
        hint = HINT if answer.status_code == HTTPStatus.UNAUTHORIZED else ""
        return error(one_line(str(detail or f"{answer.status_code} {answer.reason_phrase}")) + hint)

    def _json(self, answer: httpx2.Response) -> Any:  # noqa: ANN401 -- JSON
        try:
            return answer.json()
        except ValueError:
            raise NoAnswerError(f"{self._client.base_url} is not Deadwatch: its answer is no JSON") from None

    def _nobody(self, error: httpx2.TransportError) -> RefusedError:
        return NoAnswerError(
            f"no answer from {self._client.base_url} ({error}); is `deadwatch up` running? say where by --url"
        )


def connect(url: str, token: str = "", timeout_s: float = TIMEOUT_S) -> Api:
    """The api at ``url``; nothing is sent yet.

    Raises:
        SaidError: the address or the token cannot be one.
    """
    if token and not (token.isascii() and token.isprintable()):
        raise SaidError("the token has characters that no token has: was it copied whole?")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        return Api(httpx2.Client(base_url=url, headers=headers, timeout=timeout_s, trust_env=False))
    except httpx2.InvalidURL as error:
        raise SaidError(f"--url {url!r} is no address: {error}") from None
