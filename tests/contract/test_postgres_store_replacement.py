"""``tests/unit/deadwatch/store/test_replacement.py`` on PostgreSQL."""

from tests.unit.deadwatch.store.test_replacement import *  # noqa: F403 -- every test and fixture of the suite
