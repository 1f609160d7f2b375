"""``tests/unit/deadwatch/store/test_versions.py``, and what processes do about versions, on PostgreSQL."""

from tests.processes.test_loaded import test_services_load_no_alembic_for_a_store_of_today
from tests.processes.test_store import test_a_migration_that_is_written_can_be_made_on_a_store_with_rows
from tests.unit.deadwatch.store.test_versions import *  # noqa: F403 -- every test and fixture of the suite

__all__ = [
    "test_a_migration_that_is_written_can_be_made_on_a_store_with_rows",
    "test_services_load_no_alembic_for_a_store_of_today",
]
