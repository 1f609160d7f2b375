"""``tests/unit/deadwatch/store/test_handled.py`` on PostgreSQL."""

from tests.unit.deadwatch.store.test_handled import *  # noqa: F403 -- every test and fixture of the suite
