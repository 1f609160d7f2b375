"""Who sees payloads: by role, and only with an entry in the audit for every look."""

from typing import Annotated, Final

from fastapi import Depends
from pydantic import BaseModel, ConfigDict, Field

from api.audit import UNMASKED, Audit, Auditing
from api.auth import Caller, Calling, Role, checked
from api.service import Serving

PAYLOAD_FIELDS: Final = frozenset({"key", "value", "headers"})
"""Fields of a filter by which payloads could be guessed."""


class Unmasking(BaseModel):
    """Whether payloads are shown as they are; anything else in the query is refused."""

    model_config = ConfigDict(extra="forbid")

    unmasked: bool = Field(False, description="Payloads as they are: needs the role of `api.unmask_role`.")
    why: str = Field("", max_length=500, description="For the audit, when unmasked.")


class Sight:
    """What the caller of one request may see."""

    def __init__(self, needed: Role, who: Caller, audit: Audit) -> None:
        self._needed, self._who, self._audit = needed, who, audit

    def unmask(self, subject: str, why: str) -> None:
        """Let payloads be shown as they are, once it stands in the audit.

        Raises:
            ApiError: the caller may not, or it cannot be kept.
        """
        checked(self._who, self._needed)
        self._audit.record(UNMASKED, subject, why)

    def look(self, asked: Unmasking, subject: str) -> None:
        """As ``unmask``, where it is asked for."""
        if asked.unmasked:
            self.unmask(subject, asked.why)

    def filter_by(self, fields: frozenset[str]) -> None:
        """Let a filter ask for these fields. Raises ``ApiError`` where it could guess what is masked."""
        if not PAYLOAD_FIELDS.isdisjoint(fields):
            checked(self._who, self._needed)


async def _sight(service: Serving, who: Calling, audit: Auditing) -> Sight:
    return Sight(Role(service.settings.unmask_role), who, audit)


Seeing = Annotated[Sight, Depends(_sight)]
