"""``tests/unit/deadwatch/store/test_behaviour.py`` on PostgreSQL."""

from tests.unit.deadwatch.store.test_behaviour import *  # noqa: F403 -- every test and fixture of the suite
