"""``tests/unit/deadwatch/store/test_policies.py`` on PostgreSQL."""

from tests.unit.deadwatch.store.test_policies import *  # noqa: F403 -- every test and fixture of the suite
