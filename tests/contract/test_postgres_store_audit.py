"""The suite ``tests/unit/test_store_audit.py`` on PostgreSQL: the store promises the same there."""

from tests.unit.test_store_audit import *  # noqa: F403 -- every test and fixture of the suite
