"""The HTTP client for Connect and Jolokia: of any answer no more than ``most_bytes`` are held in memory.

A longer answer is cut off there, and a compressed one is not unpacked: both then fail to parse as JSON.
"""

import ssl
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import httpx2

MOST_BYTES: Final = 32 << 20


class _Cut(httpx2.SyncByteStream):
    """A stream that ends after its first ``most_bytes``."""

    def __init__(self, stream: httpx2.SyncByteStream, most_bytes: int) -> None:
        self._stream, self._left = stream, most_bytes

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._stream:
            yield piece[: self._left]
            self._left -= len(piece)
            if self._left <= 0:
                return

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()


@cache
def _trust_of_the_system() -> ssl.SSLContext:
    """The system's authorities: to read them takes 45 ms, so a process does it once."""
    return httpx2.create_ssl_context(trust_env=False)


class _Bounded(httpx2.HTTPTransport):
    def __init__(self, most_bytes: int, ca_location: Path | None) -> None:
        own = ssl.create_default_context(cafile=ca_location) if ca_location is not None else None
        super().__init__(verify=own or _trust_of_the_system(), trust_env=False)
        self._most_bytes = most_bytes

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = super().handle_request(request)
        if not isinstance(response.stream, httpx2.SyncByteStream):
            raise TypeError("the answer is no synchronous stream")
        headers = [
            (name, value) for name, value in response.headers.raw if name.lower() != b"content-encoding"
        ]
        cut = _Cut(response.stream, self._most_bytes)
        return httpx2.Response(
            response.status_code, headers=headers, stream=cut, extensions=response.extensions
        )


def client(
    timeout_ms: int, most_bytes: int = MOST_BYTES, *, ca_location: Path | None = None
) -> httpx2.Client:
    """A client with its own connections; proxies of the environment are not used.

    ``ca_location`` is a PEM file of trusted authorities; without it those of the system are trusted.
    """
    return httpx2.Client(
        timeout=timeout_ms / 1_000,
        trust_env=False,
        transport=_Bounded(most_bytes, ca_location),
        headers={"Accept-Encoding": "identity"},
    )
