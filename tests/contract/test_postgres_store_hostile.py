"""``tests/unit/deadwatch/store/test_hostile.py`` on PostgreSQL."""

from tests.unit.deadwatch.store.test_hostile import *  # noqa: F403 -- every test and fixture of the suite
