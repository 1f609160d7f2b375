"""The cache of a store is up to date on PostgreSQL."""

from tests.unit.api.test_cache import *  # noqa: F403 -- every test and fixture of the suite
