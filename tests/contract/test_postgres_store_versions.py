"""``tests/unit/deadwatch/store/test_versions.py`` on PostgreSQL."""

from tests.unit.deadwatch.store.test_versions import *  # noqa: F403 -- every test and fixture of the suite
