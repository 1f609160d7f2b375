"""``tests/unit/deadwatch/store/test_audit.py`` on PostgreSQL."""

from tests.unit.deadwatch.store.test_audit import *  # noqa: F403 -- every test and fixture of the suite
