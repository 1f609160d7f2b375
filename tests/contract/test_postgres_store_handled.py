"""The suite ``tests/unit/test_store_handled.py`` on PostgreSQL: the store promises the same there."""

from tests.unit.test_store_handled import *  # noqa: F403 -- every test and fixture of the suite
