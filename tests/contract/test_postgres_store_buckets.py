"""``tests/unit/deadwatch/store/test_buckets.py`` on PostgreSQL."""

from tests.unit.deadwatch.store.test_buckets import *  # noqa: F403 -- every test and fixture of the suite
