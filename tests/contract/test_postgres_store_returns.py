"""``tests/unit/deadwatch/store/test_returns.py`` on PostgreSQL."""

from tests.unit.deadwatch.store.test_returns import *  # noqa: F403 -- every test and fixture of the suite
