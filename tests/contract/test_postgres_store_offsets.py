"""``tests/unit/deadwatch/store/test_offsets.py`` on PostgreSQL."""

from tests.unit.deadwatch.store.test_offsets import *  # noqa: F403 -- every test and fixture of the suite
