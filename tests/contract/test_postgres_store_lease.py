"""``tests/unit/deadwatch/store/test_lease.py`` on PostgreSQL."""

from tests.unit.deadwatch.store.test_lease import *  # noqa: F403 -- every test and fixture of the suite
