"""A request's body within its limits, and why a body is refused: a sentence and an HTTP status each."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Final, Self

_GZIP: Final = 16 + zlib.MAX_WBITS
_STEP_BYTES: Final = 1 << 16
_FED_BYTES: Final = 1 << 12
_MAX_MEMBERS: Final = 10_000

Take = Callable[[int], None]
"""Takes so many bytes of a budget; raises ``BusyError`` and takes nothing if there are fewer left."""


class Reason(StrEnum):
    """Why a body is refused, and the HTTP status of that; the values are labels of a metric."""

    status: int

    TOO_LARGE = "too_large", 413
    TOO_SLOW = "too_slow", 408
    INCOMPLETE = "incomplete", 400
    HOST = "host", 403
    CONTENT_TYPE = "content_type", 415
    CONTENT_ENCODING = "content_encoding", 415
    NOT_GZIP = "not_gzip", 400
    NOT_PROTOBUF = "not_protobuf", 400
    NOT_JSON = "not_json", 400
    INVALID_EVENT = "invalid_event", 422

    def __new__(cls, label: str, status: int) -> Self:
        """A label that knows its status."""
        reason = str.__new__(cls, label)
        reason._value_, reason.status = label, status
        return reason


class RefusedError(Exception):
    """The body is refused for good; ``excerpt`` is kept of it, ``pointer`` is where its JSON is wrong."""

    def __init__(self, reason: Reason, message: str, *, excerpt: bytes = b"", pointer: str = "") -> None:
        super().__init__(message.encode(errors="replace").decode())
        self.reason = reason
        self.excerpt = excerpt
        self.pointer = pointer


class BusyError(Exception):
    """The request cannot be taken now and may be sent again a little later."""


class Budget:
    """How many bytes all requests together may still hold; used by one event loop."""

    def __init__(self, size: int) -> None:
        self._left = size

    @contextmanager
    def hold(self) -> Iterator[Take]:
        """A context in which a request takes bytes of the budget; they are given back at its end."""
        held = 0

        def take(size: int) -> None:
            nonlocal held
            if size > self._left:
                raise BusyError("too much is being received at once; send it again")
            self._left -= size
            held += size

        try:
            yield take
        finally:
            self._left += held


async def read(
    chunks: AsyncIterator[bytes], headers: Mapping[str, str], take: Take, *, max_bytes: int, timeout_ms: int
) -> bytes:
    """The body as it was sent, counted while it arrives. Raises ``RefusedError`` and ``BusyError``."""
    declared = headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > max_bytes:
        raise too_large(max_bytes)
    body = bytearray()
    try:
        async with asyncio.timeout(timeout_ms / 1_000):
            async for chunk in chunks:
                take(len(chunk))
                body += chunk
                if len(body) > max_bytes:
                    raise too_large(max_bytes, bytes(body))
    except TimeoutError:
        late = f"the body did not arrive within {timeout_ms} ms"
        raise RefusedError(Reason.TOO_SLOW, late, excerpt=bytes(body)) from None
    return bytes(body)


def unpacked(body: bytes, encoding: str, max_bytes: int) -> bytes:
    """The body as it was before compression; never more than ``max_bytes``. Raises ``RefusedError``."""
    coding = encoding.lower()
    if coding in ("", "identity"):
        return body
    if coding != "gzip":
        raise RefusedError(Reason.CONTENT_ENCODING, "Content-Encoding must be gzip or left out")
    result = bytearray()
    try:
        _unpack(memoryview(body), result, max_bytes)
    except zlib.error as error:
        raise RefusedError(Reason.NOT_GZIP, f"the body is not gzip: {error}", excerpt=bytes(result)) from None
    return bytes(result)


def _unpack(body: memoryview, result: bytearray, max_bytes: int) -> None:
    """Unpack every gzip member into ``result``; what is fed at once, and so copied anew, is a small piece."""
    at, members = 0, 0
    stream = zlib.decompressobj(_GZIP)
    while at < len(body):
        if stream.eof:
            members += 1
            if members >= _MAX_MEMBERS:
                raise RefusedError(
                    Reason.NOT_GZIP,
                    f"the body has more than {_MAX_MEMBERS} gzip members",
                    excerpt=bytes(result),
                )
            stream = zlib.decompressobj(_GZIP)
        fed: memoryview | bytes = body[at : at + _FED_BYTES]
        at += len(fed)
        piece = b""
        while not stream.eof and (fed or len(piece) == _STEP_BYTES):
            piece = stream.decompress(fed, _STEP_BYTES)
            fed = stream.unconsumed_tail
            result += piece
            if len(result) > max_bytes:
                raise too_large(max_bytes, bytes(result))
        at -= len(stream.unused_data)
    if not stream.eof:
        raise RefusedError(Reason.NOT_GZIP, "the gzip body is cut off", excerpt=bytes(result))


def too_large(max_bytes: int, excerpt: bytes = b"") -> RefusedError:
    """The refusal of a body of more than ``max_bytes``."""
    problem = f"the body has more than {max_bytes} bytes, uncompressed (max_body_bytes); send smaller batches"
    return RefusedError(Reason.TOO_LARGE, problem, excerpt=excerpt)
