"""Who sees payloads: by role, and only with an entry in the audit for every look."""

from typing import Annotated, Final

from fastapi import Depends, Request

from api.service import Service, Serving

PAYLOAD_FIELDS: Final = frozenset({"key", "value", "headers"})
"""Fields of a filter by which payloads could be guessed."""


class Sight:
    """What the caller of one request may see."""

    def __init__(self, service: Service, request: Request) -> None:
        self._service, self._request = service, request

    def unmask(self, subject: str, why: str) -> None:
        """Let payloads be shown as they are, and keep that they were."""

    def filter_by(self, fields: frozenset[str]) -> None:
        """Let a filter ask for these fields."""


def _sight(service: Serving, request: Request) -> Sight:
    return Sight(service, request)


Seeing = Annotated[Sight, Depends(_sight)]
