"""``tests/unit/deadwatch/store/test_restarts.py`` on PostgreSQL."""

from tests.unit.deadwatch.store.test_restarts import *  # noqa: F403 -- every test and fixture of the suite
