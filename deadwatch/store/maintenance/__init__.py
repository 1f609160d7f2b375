"""Maintenance of a store by its operator: the commands of ``deadwatch store``.

This module has only their names; ``maintenance.commands`` runs them and loads the migrations.
"""

from enum import StrEnum


class Work(StrEnum):
    """The commands of ``deadwatch store``."""

    STATUS = "status"
    UPGRADE = "upgrade"
    CHECK = "check"
    BACKUP = "backup"
    RESTORE = "restore"
