"""Which causes a list holds, and in which order; a command line offers the same."""

from enum import StrEnum


class Shelf(StrEnum):
    """Which groups a list holds: active ones, those that were archived and have not grown since, or all."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    ALL = "all"


class GroupOrder(StrEnum):
    """What comes first: most that waits, then the newest record; the newest record; the most records; or the
    cause that was seen first most lately.
    """

    WAITING = "waiting"
    LATEST = "latest"
    RECORDS = "records"
    NEWEST = "newest"
