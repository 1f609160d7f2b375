"""A request's body within its bounds, and what is refused; a refusal is one sentence and one status."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Mapping
from enum import StrEnum
from typing import Final, Self

_GZIP: Final = 16 + zlib.MAX_WBITS
_STEP_BYTES: Final = 1 << 16


class Reason(StrEnum):
    """Why a body is refused; the values are labels of a metric."""

    TOO_LARGE = "too_large"
    TOO_SLOW = "too_slow"
    INCOMPLETE = "incomplete"
    CONTENT_TYPE = "content_type"
    CONTENT_ENCODING = "content_encoding"
    NOT_GZIP = "not_gzip"
    NOT_PROTOBUF = "not_protobuf"
    NOT_JSON = "not_json"
    INVALID_EVENT = "invalid_event"


STATUS: Final[Mapping[Reason, int]] = {
    Reason.TOO_LARGE: 413,
    Reason.TOO_SLOW: 408,
    Reason.INCOMPLETE: 400,
    Reason.CONTENT_TYPE: 415,
    Reason.CONTENT_ENCODING: 415,
    Reason.NOT_GZIP: 400,
    Reason.NOT_PROTOBUF: 400,
    Reason.NOT_JSON: 400,
    Reason.INVALID_EVENT: 422,
}


class RefusedError(Exception):
    """The body will never be taken; ``excerpt`` is what is kept of it, ``pointer`` where JSON is wrong."""

    def __init__(self, reason: Reason, message: str, *, excerpt: bytes = b"", pointer: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.excerpt = excerpt
        self.pointer = pointer


class BusyError(Exception):
    """The request may be sent again a little later."""


class Budget:
    """How many bytes all requests together may hold; used by one event loop."""

    def __init__(self, size: int) -> None:
        self.left = size


class Hold:
    """What one request holds of the budget, given back at its end."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._size = 0

    def take(self, size: int) -> None:
        """Raises ``BusyError`` when there is not so much left; nothing is taken then."""
        if size > self._budget.left:
            raise BusyError("too much is being received at once; send it again")
        self._budget.left -= size
        self._size += size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._budget.left += self._size


async def read(
    chunks: AsyncIterator[bytes], headers: Mapping[str, str], hold: Hold, *, max_bytes: int, timeout_ms: int
) -> bytes:
    """The body as it was sent, counted while it arrives. Raises ``RefusedError`` and ``BusyError``."""
    declared = headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > max_bytes:
        raise too_large(max_bytes)
    body = bytearray()
    try:
        async with asyncio.timeout(timeout_ms / 1_000):
            async for chunk in chunks:
                hold.take(len(chunk))
                body += chunk
                if len(body) > max_bytes:
                    raise too_large(max_bytes, bytes(body))
    except TimeoutError:
        raise RefusedError(
            Reason.TOO_SLOW, f"the body did not arrive within {timeout_ms} ms", excerpt=bytes(body)
        ) from None
    return bytes(body)


def unpacked(body: bytes, encoding: str, max_bytes: int) -> bytes:
    """The body as it was before compression; never more than ``max_bytes``. Raises ``RefusedError``."""
    if encoding in ("", "identity"):
        return body
    if encoding != "gzip":
        raise RefusedError(Reason.CONTENT_ENCODING, "Content-Encoding must be gzip or left out")
    result = bytearray()
    try:
        while body:
            body = _member(body, result, max_bytes)
    except zlib.error as error:
        raise RefusedError(Reason.NOT_GZIP, f"the body is not gzip: {error}", excerpt=bytes(result)) from None
    return bytes(result)


def _member(body: bytes, result: bytearray, max_bytes: int) -> bytes:
    """Add one member to ``result``; what follows it."""
    stream = zlib.decompressobj(_GZIP)
    while not stream.eof:
        piece = stream.decompress(body, _STEP_BYTES)
        body = stream.unconsumed_tail
        result += piece
        if len(result) > max_bytes:
            raise too_large(max_bytes, bytes(result))
        if not piece and not body and not stream.eof:
            raise RefusedError(Reason.NOT_GZIP, "the gzip body is cut off", excerpt=bytes(result))
    return stream.unused_data


def too_large(max_bytes: int, excerpt: bytes = b"") -> RefusedError:
    """More than is taken at once."""
    return RefusedError(
        Reason.TOO_LARGE,
        f"the body has more than {max_bytes} bytes, uncompressed (max_body_bytes); send smaller batches",
        excerpt=excerpt,
    )
