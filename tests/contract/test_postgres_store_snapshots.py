"""``tests/unit/deadwatch/store/test_snapshots.py`` on PostgreSQL."""

from tests.unit.deadwatch.store.test_snapshots import *  # noqa: F403 -- every test and fixture of the suite
