"""How a token looks, and what the store keeps of it; loaded by every command, so it needs no store.

    dw_<id, 12 hexadecimal digits>_<256 random bits, base 62><CRC-32 of all before, base 62>

The prefix and the checksum let scanners of secrets find a token that was left somewhere, with hardly a false
alarm; the id says which token it is and is no secret. The store keeps HMAC-SHA-256 of the token under a key
that is not in the store: 256 random bits cannot be guessed, so a slow password hash would protect nothing
more and cost every request its time (docs/decisions/0028).
"""

import hashlib
import hmac
import re
import secrets
import zlib
from dataclasses import dataclass
from typing import Final

DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
SECRET_BYTES: Final = 32
SECRET_CHARS: Final = 43
CHECKSUM_CHARS: Final = 6
FORM: Final = re.compile(
    rf"(dw_([0-9a-f]{{12}})_[0-9A-Za-z]{{{SECRET_CHARS}}})([0-9A-Za-z]{{{CHECKSUM_CHARS}}})"
)


@dataclass(frozen=True, slots=True)
class Credential:
    """A well-formed token; whether the store knows it is another question."""

    id: str
    text: str

    def __repr__(self) -> str:
        return f"Credential({self.id})"


def issue() -> Credential:
    """A new random token."""
    token = secrets.token_hex(6)
    secret = _base62(int.from_bytes(secrets.token_bytes(SECRET_BYTES)), SECRET_CHARS)
    body = f"dw_{token}_{secret}"
    return Credential(token, body + _checksum(body))


def parse(text: str) -> Credential | None:
    """The credential in ``text``; None: it has another form, or was mistyped."""
    match = FORM.fullmatch(text)
    if match is None or _checksum(match[1]) != match[3]:
        return None
    return Credential(match[2], text)


def digest(credential: Credential, key: str) -> str:
    """The digest that the store keeps of a token."""
    return hmac.new(key.encode(), credential.text.encode(), hashlib.sha256).hexdigest()


def matches(credential: Credential, key: str, stored: str) -> bool:
    """Whether ``stored`` is the credential's digest, compared in constant time."""
    return hmac.compare_digest(digest(credential, key), stored)


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), CHECKSUM_CHARS)


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, len(DIGITS))
        digits.append(DIGITS[digit])
    return "".join(reversed(digits))
