"""The suite ``tests/unit/test_store_findings.py`` on PostgreSQL: the store promises the same there."""

from tests.unit.test_store_findings import *  # noqa: F403 -- every test and fixture of the suite
