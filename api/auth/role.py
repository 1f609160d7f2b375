"""The roles of callers; loaded by every command, so it needs no other part of the api."""

from enum import StrEnum


class Role(StrEnum):
    """What a caller may do; each role includes the ones before it."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def covers(self, needed: "Role") -> bool:
        """Whether this role includes ``needed``."""
        ranks = list(Role)
        return ranks.index(self) >= ranks.index(needed)
