"""Who has signed in at the identity provider, as a session of the console keeps it.

It is what the provider said then, and lasts as long as the settings say, or until they name another provider.
"""

import json
from dataclasses import asdict, dataclass
from typing import Final, Self

from api.auth import Caller, Role
from api.errors import UnauthenticatedError

MARK: Final = "person:"
"""Begins the text of one; no token begins so."""


@dataclass(frozen=True, slots=True)
class Person:
    """``token`` is the id that the audit knows them by, ``until_ms`` a time of the machine's clock."""

    name: str
    role: str
    token: str
    issuer: str
    until_ms: int

    @classmethod
    def of(cls, who: Caller, role: Role, issuer: str, until_ms: int) -> Self:
        """Of somebody who has a role here."""
        return cls(who.name, role.value, who.token, issuer, until_ms)

    @property
    def text(self) -> str:
        """What is sealed."""
        return MARK + json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Self | None:
        """What was sealed; None where it is a token, or a person as another version has sealed it."""
        if not text.startswith(MARK):
            return None
        try:
            return cls(**json.loads(text.removeprefix(MARK)))
        except TypeError:
            return None

    def caller(self, issuer: str, now_ms: int) -> Caller:
        """Who it is, while it lasts. Raises ``UnauthenticatedError``."""
        if now_ms >= self.until_ms or self.issuer != issuer:
            raise UnauthenticatedError(invalid="the session has ended")
        return Caller(self.name, Role(self.role), self.token)
