"""Requests to a service whose processes are killed: what each was answered, and whether it had to be."""

import math
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import httpx2

from api.auth.roles import READING
from api.telemetry import HEADER
from cli.api_client import PREFIX

UNANSWERED = 0
WITHIN_S = 60
SHOWN_CHARS = 500
UNREAD = "redrive-history-unread"
"""The problem of an order that is made while streaming is away or behind: it says to try again."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request, named by its id, and the status of its answer; ``allowed``: nobody wonders about it."""

    id: str
    method: str
    path: str
    began_s: float
    ended_s: float
    status: int
    allowed: bool
    text: str

    @property
    def changes(self) -> bool:
        """Whether it would change something."""
        return self.method not in READING

    @property
    def done(self) -> bool:
        """Whether it was promised."""
        return HTTPStatus.OK <= self.status < HTTPStatus.BAD_REQUEST

    @property
    def unsure(self) -> bool:
        """Whether it may have been done or not."""
        return self.status == UNANSWERED or self.status >= HTTPStatus.INTERNAL_SERVER_ERROR


@dataclass
class Book:
    """Every exchange, and the times in which the service could not answer. Used by many threads."""

    exchanges: list[Exchange] = field(default_factory=list)
    remarks: list[tuple[float, float, str]] = field(default_factory=list)
    _outages: list[tuple[float, float]] = field(default_factory=list)

    @contextmanager
    def outage(self) -> Iterator[None]:
        """Meanwhile requests may fail."""
        began_s = time.monotonic()
        self._outages.append((began_s, math.inf))
        yield
        self._outages[-1] = (began_s, time.monotonic())

    def remark(self, text: str, since_s: float | None = None) -> None:
        """What somebody wonders about, unless the service was away now or since then."""
        now_s = time.monotonic()
        self.remarks.append((now_s if since_s is None else since_s, now_s, text))

    @property
    def kinds(self) -> Counter[str]:
        """How often each method met each list of the api, and each page of the console."""
        paths = ((one.method, httpx2.URL(one.path).path.removeprefix(PREFIX)) for one in self.exchanges)
        return Counter(
            f"{method} {'/'.join(path.split('/')[: 3 if path.startswith('/console') else 2])}"
            for method, path in paths
        )

    def surprises(self) -> list[str]:
        """What nobody should have met."""
        remarks = [text for since_s, now_s, text in self.remarks if not self._away(since_s, now_s)]
        return remarks + [
            f"{one.method} {one.path} {one.status or 'unanswered'}: {one.text}"
            for one in self.exchanges
            if not one.allowed and not (one.unsure and self._away(one.began_s, one.ended_s))
        ]

    def _away(self, began_s: float, ended_s: float) -> bool:
        return any(began_s <= end_s and ended_s >= first_s for first_s, end_s in self._outages)


class Client(httpx2.Client):
    """Names every request and keeps it in the book; ``refusals`` are what its user may be refused with."""

    def __init__(self, book: Book, url: str, token: str = "", refusals: Iterable[int] = ()) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        super().__init__(base_url=url, headers=headers, timeout=WITHIN_S, trust_env=False)
        self._book, self._refusals = book, frozenset(refusals)

    def send(
        self,
        request: httpx2.Request,
        *,
        stream: bool = False,
        **more: Any,  # noqa: ANN401 -- as the client has it
    ) -> httpx2.Response:
        """As it is sent, with a name of its own."""
        request.headers[HEADER] = uuid.uuid4().hex
        began_s = time.monotonic()
        try:
            answer = super().send(request, stream=stream, **more)
        except httpx2.TransportError as error:
            self._note(request, began_s, UNANSWERED, repr(error))
            raise
        self._note(request, began_s, answer.status_code, "" if stream else answer.text[:SHOWN_CHARS])
        return answer

    def _note(self, request: httpx2.Request, began_s: float, status: int, text: str) -> None:
        answered = HTTPStatus.OK <= status < HTTPStatus.BAD_REQUEST or UNREAD in text
        allowed = answered or status in self._refusals
        name, path = request.headers[HEADER], request.url.raw_path.decode()
        self._book.exchanges.append(
            Exchange(name, request.method, path, began_s, time.monotonic(), status, allowed, text)
        )
