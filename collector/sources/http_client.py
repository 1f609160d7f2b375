"""The client that asks Connect and Jolokia: whatever answers, no more than ``most_bytes`` of it are held.

An answer that is longer is cut off there, and one that is packed stays so: neither is the JSON that was asked
for, and it is said to be none.
"""

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import httpx2

MOST_BYTES: Final = 32 << 20


class _Cut(httpx2.SyncByteStream):
    """The beginning of a stream."""

    def __init__(self, stream: httpx2.SyncByteStream, most_bytes: int) -> None:
        self._stream, self._left = stream, most_bytes

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._stream:
            yield piece[: self._left]
            self._left -= len(piece)
            if self._left <= 0:
                return

    def close(self) -> None:
        """Let go of the connection."""
        self._stream.close()


class _Bounded(httpx2.HTTPTransport):
    def __init__(self, most_bytes: int, ca_location: Path | None) -> None:
        verify = True if ca_location is None else ssl.create_default_context(cafile=ca_location)
        super().__init__(verify=verify, trust_env=False)
        self._most_bytes = most_bytes

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = super().handle_request(request)
        if not isinstance(response.stream, httpx2.SyncByteStream):
            raise TypeError("the answer cannot be read in turn")
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
    """A client of its own connections; the environment's proxies are not used.

    ``ca_location`` is a PEM file of authorities, else the system's are trusted.
    """
    return httpx2.Client(
        timeout=timeout_ms / 1_000,
        trust_env=False,
        transport=_Bounded(most_bytes, ca_location),
        headers={"Accept-Encoding": "identity"},
    )
