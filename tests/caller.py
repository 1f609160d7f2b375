"""A client of an app in this process that needs no other thread.

Starlette's ``TestClient`` hands each step of a request to the thread of an event loop and waits: 2 ms in all.
Here the loop runs in the thread that asks, while it asks. Hence nothing goes on between two requests, one
thread asks at a time, and an answer is given as a whole: what streams without an end, or is asked for by
several threads at once, is for the ``TestClient``.
"""

import asyncio
from collections.abc import Mapping
from contextvars import copy_context
from types import TracebackType
from typing import Self

import httpx2
from fastapi import FastAPI


class Caller(httpx2.Client):
    """Asks ``app`` as somebody at the address ``peer``; as a context it starts the app and ends it.

    An error that the app does not handle is raised, or with ``raising=False`` answered as a server would.
    """

    def __init__(
        self,
        app: FastAPI,
        base_url: str,
        *,
        peer: str = "127.0.0.1",
        headers: Mapping[str, str] | None = None,
        raising: bool = True,
    ) -> None:
        self.app = app
        self._lifespan = app.router.lifespan_context(app)
        self._asgi = _Transport(
            httpx2.ASGITransport(app, raise_app_exceptions=raising, client=(peer, 50_000))
        )
        super().__init__(base_url=base_url, headers=headers, transport=self._asgi)

    def __enter__(self) -> Self:
        """Start the app."""
        self._asgi.runner = asyncio.Runner()
        self._asgi.runner.run(self._lifespan.__aenter__())
        return super().__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        """End the app, and the loop on which it ran."""
        assert self._asgi.runner
        with self._asgi.runner as runner:
            runner.run(self._lifespan.__aexit__(None, None, None))
        super().__exit__(kind, error, trace)


class _Transport(httpx2.BaseTransport):
    """Runs a loop for as long as a request takes: that of the started app, or one for this request."""

    def __init__(self, asgi: httpx2.ASGITransport) -> None:
        self._asgi = asgi
        self.runner: asyncio.Runner | None = None

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """The app's answer, whole; no request finds the context variables of another one."""
        request.read()
        if self.runner:
            return self.runner.run(self._answer(request), context=copy_context())
        return asyncio.run(self._answer(request))

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        answer = await self._asgi.handle_async_request(request)
        body = b"".join([part async for part in answer.aiter_raw()])
        return httpx2.Response(answer.status_code, headers=answer.headers, stream=httpx2.ByteStream(body))
