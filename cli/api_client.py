"""The client of the api; every refusal becomes an error of one line with its exit code.

* RefusedError         refused by the service
  * UsageError         the command line itself is wrong
  * NotAllowedError    the token is missing, not valid, or its role is not enough
  * NoAnswerError      nobody answers, or the service cannot answer now
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from deadwatch.runtime.logs import one_line
from deadwatch.runtime.process import REFUSED

if TYPE_CHECKING:
    import httpx2

PREFIX: Final = "/api/v1"
SCHEMES: Final = ("http", "https")
MAX_PAGE: Final = 500
TIMEOUT_S: Final = 60
"""Longer than the dry run of a redrive takes to read its selection."""

DONE, UNDONE, NOT_ALLOWED, NO_ANSWER = 0, 1, 3, 4
"""Exit codes; that of a wrong command line is ``REFUSED``, of an interrupted one 130."""

Body = Mapping[str, Any]
Parameter = str | int


class RefusedError(Exception):
    """The service refuses; the text is the line that people see."""

    code = UNDONE


class UsageError(RefusedError):
    """The command line itself is wrong."""

    code = REFUSED


class NotAllowedError(RefusedError):
    """The token is missing, not valid, or its role is not enough."""

    code = NOT_ALLOWED


class NoAnswerError(RefusedError):
    """Nobody answers, or the service cannot answer now."""

    code = NO_ANSWER


class Credential(NamedTuple):
    """A token of the api, "" for none; ``found_in`` is its file where it was found and not asked for."""

    text: str = ""
    found_in: Path | None = None

    @property
    def headers(self) -> dict[str, str]:
        """The header of a request. Raises ``UsageError`` for what cannot be a token."""
        if not (self.text.isascii() and self.text.isprintable()):
            raise UsageError("the token has characters that no token has: was it copied whole?")
        return {"Authorization": f"Bearer {self.text}"} if self.text else {}

    @property
    def advice(self) -> str:
        """What to do about a token that is refused, or missing."""
        if self.found_in is None:
            return "here: --token-file, DEADWATCH_TOKEN_FILE or DEADWATCH_TOKEN"
        return (
            f"it was found in {self.found_in}, which may be of another service: say --token-file "
            f"DIR/{self.found_in.name} with the --data DIR of this one, or --token-file /dev/null for none"
        )


ANONYMOUS: Final = Credential()
INVALID: Final = "urn:deadwatch:problem:invalid-request"
"""The type of a problem: values that no request may have, as an id that is none."""
ERRORS: Final[Mapping[int, type[RefusedError]]] = {
    HTTPStatus.UNAUTHORIZED: NotAllowedError,
    HTTPStatus.FORBIDDEN: NotAllowedError,
    HTTPStatus.TOO_MANY_REQUESTS: NotAllowedError,
    HTTPStatus.BAD_GATEWAY: NoAnswerError,
    HTTPStatus.SERVICE_UNAVAILABLE: NoAnswerError,
    HTTPStatus.GATEWAY_TIMEOUT: NoAnswerError,
}


class Api:
    """Requests to the api; the answers are JSON as its page /docs describes it."""

    def __init__(self, client: "httpx2.Client", token: Credential = ANONYMOUS) -> None:
        """``token`` is the one that the client sends."""
        self._client = client
        self._token = token

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def get(self, path: str, **parameters: Parameter) -> Any:  # noqa: ANN401 -- JSON
        """The answer of a route to GET. Raises ``RefusedError``."""
        return self._answer("GET", path, params=parameters)

    def pages(
        self, path: str, limit: int, lists: Sequence[str] = ("items",), **parameters: Parameter
    ) -> dict[str, Any]:
        """The first ``limit`` rows of each list, page by page, as one, and all problems of a filter.

        Raises:
            RefusedError: the service refuses a page.
        """
        found: dict[str, Any] = {name: [] for name in lists}
        problems: Counter[str] = Counter()
        after: dict[str, str] = {}
        longest = 0
        while True:
            page = self.get(path, limit=min(MAX_PAGE, limit - longest), **parameters, **after)
            for name in lists:
                found[name] += page[name]
            problems.update(page.get("filter_problems", {}))
            longest = max(len(found[name]) for name in lists)
            if page["next"] is None or longest >= limit:
                told = {"filter_problems": dict(problems)} if problems else {}
                return {**found, "next": page["next"], **told}
            after = {"after": page["next"]}

    def lines(self, path: str, **parameters: Parameter) -> Iterator[str]:
        """The lines of an answer as they come. Raises ``RefusedError``.

        They end with a line feed alone: a string of JSON may hold any other separator of lines, as U+2028.
        """
        begun = ""
        with self._reached(), self._client.stream("GET", PREFIX + path, params=parameters) as answer:
            if not answer.is_success:
                answer.read()
                raise self._refused(answer)
            for text in answer.iter_text():
                *whole, begun = (begun + text).split("\n")
                yield from whole
        if begun:
            yield begun

    def post(self, path: str, body: Body | None = None, key: str = "") -> Any:  # noqa: ANN401 -- JSON
        """POST; a request that is repeated with the same ``key`` is done once. Raises ``RefusedError``."""
        return self._answer("POST", path, json=body, headers={"Idempotency-Key": key} if key else {})

    def put(self, path: str, body: Body, etag: str) -> Any:  # noqa: ANN401 -- JSON
        """PUT over what still has this ETag. Raises ``RefusedError``."""
        return self._answer("PUT", path, json=body, headers={"If-Match": etag})

    def delete(self, path: str) -> None:
        """DELETE the resource. Raises ``RefusedError``."""
        self._answer("DELETE", path)

    def _answer(self, method: str, path: str, **request: Any) -> Any:  # noqa: ANN401 -- JSON
        with self._reached():
            answer = self._client.request(method, PREFIX + path, **request)
        if not answer.is_success:
            raise self._refused(answer)
        return self._json(answer) if answer.content else {}

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """A context in which no answer is a ``NoAnswerError``, and what cannot be sent a ``UsageError``."""
        import httpx2

        try:
            yield
        except httpx2.RequestError as error:
            at = address(self._client)
            raise NoAnswerError(
                f"no answer from {at} ({error}); is `deadwatch up` running? say where by --url"
            ) from None
        except (ValueError, httpx2.InvalidURL) as error:  # bytes that are no text, or NaN
            raise UsageError(f"what was given cannot be sent: {error}") from None

    def _refused(self, answer: "httpx2.Response") -> RefusedError:
        problem: dict[str, Any] = {}
        with suppress(NoAnswerError):  # a proxy answers with a page
            problem = self._json(answer)
        said = f"{address(self._client)} answers {answer.status_code} {answer.reason_phrase}"
        error = ERRORS.get(answer.status_code, RefusedError)
        if problem.get("type") == INVALID:
            error = UsageError
        hint = f"; {self._token.advice}" if answer.status_code == HTTPStatus.UNAUTHORIZED else ""
        return error(one_line(str(problem.get("detail") or said)) + hint)

    def _json(self, answer: "httpx2.Response") -> dict[str, Any]:
        with suppress(ValueError):
            found = answer.json()
            if isinstance(found, dict):
                return found
        raise NoAnswerError(f"{address(self._client)} is not Deadwatch: its answer is no JSON object")


def connect(url: str, token: Credential = ANONYMOUS, timeout_s: float = TIMEOUT_S) -> Api:
    """The api at ``url``; nothing is sent yet.

    Raises:
        UsageError: the address or the token cannot be one.
    """
    return Api(http_client(url, timeout_s, token.headers), token)


def address(client: "httpx2.Client") -> str:
    """Where a client asks, for people: without the name and the password that may be in it."""
    return str(client.base_url.copy_with(userinfo=b""))


def http_client(url: str, timeout_s: float, headers: Mapping[str, str] | None = None) -> "httpx2.Client":
    """A client for what is below ``url``, without the proxies of the environment.

    The authorities, which takes 50 ms to read, are read for https:// alone; else none is trusted.

    Raises:
        UsageError: the address cannot be one.
    """
    import ssl

    import httpx2

    try:
        address = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise UsageError(f"--url {url!r} is no address: {error}") from None
    if address.scheme not in SCHEMES or not address.host:
        form = "http://HOST:PORT" if not url or "//" in url else f"http://{url}"
        raise UsageError(f"--url {url!r} is no address: say {form}")
    verify = address.scheme == "https" or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx2.Client(base_url=address, headers=headers, timeout=timeout_s, trust_env=False, verify=verify)
