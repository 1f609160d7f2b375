"""What is kept of a store is as new on PostgreSQL."""

from tests.unit.test_api_kept import *  # noqa: F403 -- every test and fixture of the suite
